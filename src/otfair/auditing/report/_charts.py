"""The charts of the report, one function for each, drawn from the parts in `_svg`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from markupsafe import Markup

from otfair.auditing._results import Curve, Flow, Group
from otfair.auditing.report._svg import (
    BOTTOM,
    COLOURS,
    HEIGHT,
    LEFT,
    SIDE,
    TOP,
    WIDTH,
    circle,
    curve,
    in_square,
    line,
    score_grid,
    square,
    svg,
    text,
    text_width,
    vertical_label,
)
from otfair.auditing.report._words import percent
from otfair.metrics import Estimate

MAX_FLOWS = 14  # drawn
SIDES = ("giver", "receiver")


def group_dots(groups: Sequence[Group], names: Sequence[str]) -> Markup:
    """Mean score and rate of each group with intervals, one line for each group."""
    widest = max(
        (text_width(t) for g, n in zip(groups, names) for t in (n, g.stratum)), default=0.0
    )
    left, right, row = min(max(widest + 16, 80), 190), WIDTH - 14, 30
    height = row * len(groups) + 34
    parts = [score_grid(left, right, 6, height - 24)]
    for k, (group, name) in enumerate(zip(groups, names)):
        y = 6 + row * k + row / 2
        parts.append(text(left - 8, y + (-2 if group.stratum else 4), name, "end", room=left - 12))
        if group.stratum:
            parts.append(text(left - 8, y + 11, group.stratum, "end", "quiet", room=left - 12))
        for kind, e, at in (("mean", group.mean_score, y - 5), ("rate", group.rate, y + 6)):
            parts.append(_whisker(kind, e, lambda v: left + (right - left) * v, at))
    label = "Mean score (dot) and rate at the threshold (square) of each group, with 95 % intervals"
    return svg(height, label, parts)


def _whisker(kind: str, e: Estimate, x: Callable[[float], float], y: float) -> Markup:
    interval = line(kind, x(e.low), x(e.high), y, y) if e.low == e.low else Markup("")
    at = x(e.value)
    if kind == "mean":
        return interval + circle(kind, at, y, 4)
    return interval + Markup(
        '<rect class="{}" x="{:.1f}" y="{:.1f}" width="7" height="7"/>'
    ).format(kind, at - 3.5, y - 3.5)  # fmt: skip


def sankey(flows: Sequence[Flow], names: dict[str, str]) -> Markup:
    """Score that moves between types of people, as wide as it is much."""
    shown = [flow for flow in flows[:MAX_FLOWS] if flow.mass > 0]
    kinds = {side: [*dict.fromkeys(getattr(flow, side) for flow in shown)] for side in SIDES}
    span, gap, top = max(120, 34 * max(map(len, kinds.values()))), 18, 24
    left, right, bar = 132, WIDTH - 132, 9
    unit = span / sum(flow.mass for flow in shown)
    boxes = {side: _stack(shown, kinds[side], side, unit, gap) for side in SIDES}
    parts = [
        text(left + bar, 14, "gives", "end", "quiet"),
        text(right - bar, 14, "receives", "start", "quiet"),
    ]
    used: dict[tuple[str, str], float] = defaultdict(float)
    for flow in shown:
        thick, y = flow.mass * unit, []
        for side in SIDES:
            kind = getattr(flow, side)
            y.append(top + boxes[side][kind][0] + used[side, kind] + thick / 2)
            used[side, kind] += thick
        middle = (left + right) / 2
        words = (
            f"{names[flow.giver]} to {names[flow.receiver]}: {percent(flow.mass)} of all score, "
            f"over {flow.distance:.2g} of the typical distance"
        )
        d = (
            f"M{left + bar} {y[0]:.1f}C{middle} {y[0]:.1f} {middle} {y[1]:.1f} "
            f"{right - bar} {y[1]:.1f}"
        )
        path = Markup(
            '<path class="flow c{}" d="{}" stroke-width="{:.2f}"><title>{}</title></path>'
        )
        colour = kinds["giver"].index(flow.giver) % COLOURS
        parts.append(path.format(colour, d, max(thick, 0.6), words))
    for side, x, at, anchor in (
        ("giver", left, left - 6, "end"),
        ("receiver", right - bar, right + 6, "start"),
    ):
        for k, (kind, (start, length, mass)) in enumerate(boxes[side].items()):
            box = Markup('<rect class="{}" x="{}" y="{:.1f}" width="{}" height="{:.1f}"/>')
            colour_class = f"c{k % COLOURS}" if side == "giver" else "node"
            parts.append(box.format(colour_class, x, top + start, bar, max(length, 1.0)))
            y_label = top + start + length / 2
            parts.append(text(at, y_label, names[kind], anchor, room=left - 10))
            parts.append(text(at, y_label + 13, percent(mass), anchor, "quiet"))
    tall = max(sum(box[1] for box in one.values()) + gap * len(one) for one in boxes.values())
    label = "Score that the cheapest plan moves between groups, in shares of all score"
    return svg(top + tall + 14, label, parts)


def _stack(
    flows: Sequence[Flow], kinds: Sequence[str], side: str, unit: float, gap: float
) -> dict[str, tuple[float, float, float]]:
    """Return (start, length, mass) of each kind, stacked with room for its two lines of text."""
    out, y = {}, 0.0
    for kind in kinds:
        mass = sum(flow.mass for flow in flows if getattr(flow, side) == kind)
        out[kind] = (y, mass * unit, mass)
        y += max(mass * unit, 16.0) + gap
    return out


def densities(curves: Sequence[Curve], names: Sequence[str], threshold: float) -> Markup:
    """Distribution of the scores of each group."""
    peak = max(max(one.density) for one in curves) or 1.0
    right = LEFT + SIDE
    parts = [score_grid(LEFT, right, TOP, BOTTOM), vertical_label("share of people")]
    at = LEFT + SIDE * threshold
    parts.append(line("mark", at, at, TOP, BOTTOM))
    for k, (one, name) in enumerate(zip(curves, names)):
        step = SIDE / len(one.density)
        points = []
        for j, share in enumerate(one.density):
            y = BOTTOM - (SIDE - 4) * share / peak
            points += [(LEFT + j * step, y), (LEFT + (j + 1) * step, y)]
        parts.append(curve(points, k, name))
    below = "score; the dashed line is the threshold"
    parts.append(text((LEFT + right) / 2, BOTTOM + 32, below, "middle", "quiet"))
    return svg(HEIGHT, "Distribution of scores by group", parts)


def rocs(curves: Sequence[Curve], names: Sequence[str]) -> Markup:
    """Draw true against false positive rates of each group."""
    parts = [square("false positive rate", "true positive rate")]
    for k, (one, name) in enumerate(zip(curves, names)):
        if one.roc:
            parts.append(curve([in_square(a, b) for a, b in one.roc], k, name))
    return svg(HEIGHT, "ROC curve of each group", parts)


def calibrations(curves: Sequence[Curve], names: Sequence[str]) -> Markup:
    """Share of positive labels against mean score, in tenths of each group or less."""
    parts = [square("mean score", "share of positive labels")]
    for k, (one, name) in enumerate(zip(curves, names)):
        for score, share, _ in one.calibration:
            (x, low), (_, high) = in_square(score, share.low), in_square(score, share.high)
            parts.append(line(f"curve thin c{k % COLOURS}", x, x, low, high))
        points = [in_square(score, share.value) for score, share, _ in one.calibration]
        if points:
            parts.append(curve(points, k, name))
        parts += [circle(f"c{k % COLOURS}", *point, 3) for point in points]
    return svg(HEIGHT, "Calibration of each group: share of positive labels by score", parts)
