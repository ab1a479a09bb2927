"""The charts of the report, one function for each, as inline SVG.

They are small, styled by the page, and readable by screen readers. Every text is escaped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from unicodedata import east_asian_width

from markupsafe import Markup

from otfair.auditing._results import Curve, Decisions, Flow, Group, GroupDecisions
from otfair.auditing.report._words import percent

MAX_FLOWS = 14  # drawn
SIDES = ("giver", "receiver")
WIDTH = 420  # of a chart; the page scales it, so that text stays readable on a phone
COLOURS = 8  # classes c0 to c7 of the page
FONT_SIZE = 12.5  # as the page styles it
NARROWEST = 0.36  # letter, in units of it
LEFT, SIDE, BOTTOM = 60, 300, 310  # of the square that curves are drawn in
TOP, HEIGHT = BOTTOM - SIDE, 348


def group_dots(groups: Sequence[Group], names: Sequence[str]) -> Markup:
    """Mean score, or precision, and rate of each group with intervals, one line for each."""
    words = [w for group, name in zip(groups, names) for w in (name, group.stratum)]
    left = min(max(16 + max(map(text_width, words), default=0.0), 80), 190)
    right, row = WIDTH - 14, 30
    height = row * len(groups) + 34
    parts = [_score_grid(left, right, 6, height - 24)]
    for k, (group, name) in enumerate(zip(groups, names)):
        y = 6 + row * k + row / 2
        parts.append(_text(left - 8, y + (-2 if group.stratum else 4), name, "end", room=left - 12))
        if group.stratum:
            parts.append(_text(left - 8, y + 11, group.stratum, "end", "quiet", room=left - 12))
        for kind, e, at in (("mean", group.figure, y - 5), ("rate", group.rate, y + 6)):
            if e.value != e.value:  # nobody to tell it
                continue
            x, low, high = (left + (right - left) * v for v in (e.value, e.low, e.high))
            if e.low == e.low:
                parts.append(_line(kind, low, high, at, at))
            square = Markup('<rect class="rate" x="{:.1f}" y="{:.1f}" width="7" height="7"/>')
            is_dot = kind == "mean"
            parts.append(_circle(kind, x, at, 4) if is_dot else square.format(x - 3.5, at - 3.5))
    precise = any(group.precision is not None for group in groups)
    what = "Precision of scores (dot) and of decisions" if precise else "Mean score (dot) and rate"
    label = f"{what} at the threshold (square) of each group, with 95 % intervals"
    return _svg(height, label, parts)


def sankey(flows: Sequence[Flow], names: dict[str, str]) -> Markup:
    """Score that moves between types of people, as wide as it is much."""
    shown = [flow for flow in flows[:MAX_FLOWS] if flow.mass > 0]
    kinds = {side: [*dict.fromkeys(getattr(flow, side) for flow in shown)] for side in SIDES}
    span, gap, top = max(120, 34 * max(map(len, kinds.values()))), 18, 24
    left, right, bar = 132, WIDTH - 132, 9
    unit = span / sum(flow.mass for flow in shown)
    boxes = {side: _stack(shown, kinds[side], side, unit, gap) for side in SIDES}
    parts = [
        _text(left + bar, 14, "gives", "end", "quiet"),
        _text(right - bar, 14, "receives", "start", "quiet"),
    ]
    used: dict[tuple[str, str], float] = defaultdict(float)
    middle = (left + right) / 2
    for flow in shown:
        thick, y = flow.mass * unit, []
        for side in SIDES:
            kind = getattr(flow, side)
            y.append(top + boxes[side][kind][0] + used[side, kind] + thick / 2)
            used[side, kind] += thick
        words = (
            f"{names[flow.giver]} to {names[flow.receiver]}: {percent(flow.mass)} of all score, "
            f"over {flow.distance:.2g} of the typical distance"
        )
        path = Markup(
            '<path class="flow c{}" d="M{} {y[0]:.1f}C{m} {y[0]:.1f} {m} {y[1]:.1f} {} {y[1]:.1f}" '
            'stroke-width="{:.2f}"><title>{}</title></path>'
        )
        colour, width = kinds["giver"].index(flow.giver) % COLOURS, max(thick, 0.6)
        parts.append(path.format(colour, left + bar, right - bar, width, words, m=middle, y=y))
    for side, x, at, anchor in (
        ("giver", left, left - 6, "end"),
        ("receiver", right - bar, right + 6, "start"),
    ):
        for k, (kind, (start, length, mass)) in enumerate(boxes[side].items()):
            box = Markup('<rect class="{}" x="{}" y="{:.1f}" width="{}" height="{:.1f}"/>')
            colour_class = f"c{k % COLOURS}" if side == "giver" else "node"
            parts.append(box.format(colour_class, x, top + start, bar, max(length, 1.0)))
            y_label = top + start + length / 2
            parts.append(_text(at, y_label, names[kind], anchor, room=left - 10))
            parts.append(_text(at, y_label + 13, percent(mass), anchor, "quiet"))
    tall = max(sum(box[1] for box in one.values()) + gap * len(one) for one in boxes.values())
    label = "Score that the cheapest plan moves between groups, in shares of all score"
    return _svg(top + tall + 14, label, parts)


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
    at = LEFT + SIDE * threshold
    parts = [_score_grid(LEFT, LEFT + SIDE, TOP, BOTTOM), _vertical_label("share of people")]
    parts.append(_line("mark", at, at, TOP, BOTTOM))
    for k, (one, name) in enumerate(zip(curves, names)):
        step = SIDE / len(one.density)
        points = []
        for j, share in enumerate(one.density):
            y = BOTTOM - (SIDE - 4) * share / peak
            points += [(LEFT + j * step, y), (LEFT + (j + 1) * step, y)]
        parts.append(_curve(points, k, name))
    parts.append(_horizontal_label("score; the dashed line is the threshold"))
    return _svg(HEIGHT, "Distribution of scores by group", parts)


def rocs(curves: Sequence[Curve], names: Sequence[str]) -> Markup:
    """Draw true against false positive rates of each group."""
    parts = [_square("false positive rate", "true positive rate")]
    for k, (one, name) in enumerate(zip(curves, names)):
        if one.roc:
            parts.append(_curve([_in_square(a, b) for a, b in one.roc], k, name))
    return _svg(HEIGHT, "ROC curve of each group", parts)


def calibrations(curves: Sequence[Curve], names: Sequence[str]) -> Markup:
    """Share of positive labels against mean score, in tenths of each group or less."""
    parts = [_square("mean score", "share of positive labels")]
    for k, (one, name) in enumerate(zip(curves, names)):
        for score, share, _ in one.calibration:
            (x, low), (_, high) = _in_square(score, share.low), _in_square(score, share.high)
            parts.append(_line(f"curve thin c{k % COLOURS}", x, x, low, high))
        points = [_in_square(score, share.value) for score, share, _ in one.calibration]
        if points:
            parts.append(_curve(points, k, name))
        parts += [_circle(f"c{k % COLOURS}", *point, 3) for point in points]
    return _svg(HEIGHT, "Calibration of each group: share of positive labels by score", parts)


def selection(
    groups: Sequence[tuple[int, GroupDecisions, str]], decisions: Decisions, threshold: float
) -> Markup:
    """Draw the selection rate of each group, numbered and named, over all thresholds.

    The page's script draws other rates in its place, and moves the mark.
    """
    at = LEFT + SIDE * threshold
    parts = [_frame(), _vertical_label("selection rate"), _horizontal_label("threshold")]
    parts.append(_line("mark", at, at, TOP, BOTTOM))
    for k, (number, group, name) in enumerate(groups):
        points = [
            _in_square(t, above / group.weight)
            for t, above in zip(decisions.thresholds, group.above)
        ]
        parts.append(_curve(points, k, name, f'data-group="{number}"'))
    return _svg(HEIGHT, "Rate of each group over all thresholds", parts)


# The parts of a chart.


def _svg(height: float, label: str, parts: Sequence[Markup]) -> Markup:
    """Return a chart of its parts, described by its label."""
    return Markup('<svg viewBox="0 0 {} {:.0f}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, height, label, Markup("").join(parts)
    )


def _line(kind: str, x1: float, x2: float, y1: float, y2: float) -> Markup:
    tag = Markup('<line class="{}" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>')
    return tag.format(kind, x1, x2, y1, y2)


def _circle(kind: str, x: float, y: float, radius: int) -> Markup:
    return Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{}"/>').format(kind, x, y, radius)


def _curve(points: Sequence[tuple[float, float]], k: int, name: str, more: str = "") -> Markup:
    """Return the curve of the k-th group, in its colour and dashes; `more` attributes are ours."""
    d = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    tag = Markup('<path class="curve c{} d{}" d="{}"{}><title>{}</title></path>')
    return tag.format(k % COLOURS, k % 4, d, Markup(f" {more}" if more else ""), name)


def text_width(words: str) -> float:
    """Return about how wide a text is in a chart; letters of an unknown font vary."""
    return FONT_SIZE * sum(map(_letter_width, words))


def _letter_width(letter: str) -> float:
    if letter in "iljtfrI.,:;'| ()[]!-":
        return NARROWEST
    if letter in "MWmw@%" or east_asian_width(letter) in "WF":
        return 1.0
    return 0.7 if letter.isupper() else 0.6


def _text(
    x: float, y: float, words: str, anchor: str, kind: str = "", room: float | None = None
) -> Markup:
    """Return text, cut to the room that there is; readers see the rest of it as a title."""
    most = len(words) if room is None else int(room / (FONT_SIZE * NARROWEST)) + 1
    short = words if len(words) <= most else f"{words[:most]}…"
    while room is not None and text_width(short) > room:
        short = short.removesuffix("…")[:-1].rstrip() + "…"
    title = Markup("<title>{}</title>").format(words) if short != words else ""
    tag = Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}{}</text>')
    return tag.format(kind, x, y, anchor, title, short)


def _score_grid(left: float, right: float, top: float, bottom: float) -> Markup:
    """Return vertical lines at scores from 0 to 1, with their numbers."""
    out = Markup("")
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = left + (right - left) * tick
        out += _line("grid", x, x, top, bottom)
        out += _text(x, bottom + 15, f"{tick:g}", "middle", "quiet")
    return out


def _in_square(a: float, b: float) -> tuple[float, float]:
    """Return where two numbers from 0 to 1 are in the square of a chart."""
    return LEFT + SIDE * a, BOTTOM - SIDE * b


def _square(x_label: str, y_label: str) -> Markup:
    """Return a square of two numbers from 0 to 1, with its diagonal and labels."""
    out = _frame() + _line("mark", LEFT, LEFT + SIDE, BOTTOM, TOP)
    return out + _horizontal_label(x_label) + _vertical_label(y_label)


def _frame() -> Markup:
    """Return the outline of a square of two numbers from 0 to 1, with these."""
    frame = Markup('<rect class="frame" x="{}" y="{}" width="{s}" height="{s}"/>')
    out = frame.format(LEFT, TOP, s=SIDE)
    for v in (0, 0.5, 1):
        x, y = _in_square(v, v)
        out += _text(x, BOTTOM + 15, f"{v:g}", "middle", "quiet")
        out += _text(LEFT - 6, y + 4, f"{v:g}", "end", "quiet")
    return out


def _horizontal_label(words: str) -> Markup:
    return _text(LEFT + SIDE / 2, BOTTOM + 32, words, "middle", "quiet")


def _vertical_label(words: str) -> Markup:
    turned = 'transform="translate(22 160) rotate(-90)" text-anchor="middle"'
    return Markup(f'<text class="quiet" {turned}>{{}}</text>').format(words)
