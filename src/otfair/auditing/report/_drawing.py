"""Pictures of an audit as inline SVG: small, styled by the page, readable by screen readers.

Every text passes through `escape`; numbers are formatted here.
"""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import east_asian_width

from markupsafe import Markup, escape

from otfair.auditing._results import Curve, Estimate, Flow, Group

WIDTH = 420  # of a drawing; the page scales it, so that text stays readable on a phone
COLOURS = 8  # classes c0 to c7 of the page
LETTERS = 12.5  # size of text, as the page styles it
FLOWS = 14  # drawn at most


def dots(groups: Sequence[Group], names: Sequence[str]) -> Markup:
    """Mean score and rate of each group with intervals, one line a group."""
    widest = max((wide(t) for g, n in zip(groups, names) for t in (n, g.stratum)), default=0.0)
    left, row = min(max(widest + 16, 80), 190), 30
    height = row * len(groups) + 34
    x = _axis(left, WIDTH - 14)
    parts = [_grid(left, WIDTH - 14, 6, height - 24)]
    for k, (group, name) in enumerate(zip(groups, names)):
        y = 6 + row * k + row / 2
        parts.append(_text(left - 8, y + (-2 if group.stratum else 4), name, "end", room=left - 12))
        if group.stratum:
            parts.append(_text(left - 8, y + 11, group.stratum, "end", "quiet", room=left - 12))
        parts.append(_whisker(group.mean_score, x, y - 5, "mean"))
        parts.append(_whisker(group.rate, x, y + 6, "rate"))
    label = "Mean score (dot) and rate at the threshold (square) of each group, with 95 % intervals"
    return _svg(height, label, parts)


def _whisker(e: Estimate, x: tuple[float, float], y: float, kind: str) -> Markup:
    low, high, at = (x[0] + x[1] * v for v in (e.low, e.high, e.value))
    line = Markup("")
    if low == low and high == high:
        line = Markup('<line class="{}" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>').format(
            kind, low, high, y, y
        )
    if kind == "mean":
        return line + Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="4"/>').format(
            kind, at, y
        )
    return line + Markup('<rect class="{}" x="{:.1f}" y="{:.1f}" width="7" height="7"/>').format(
        kind, at - 3.5, y - 3.5
    )


def sankey(flows: Sequence[Flow], names: dict[str, str]) -> Markup:
    """Score that moves between types of people, as wide as it is much."""
    shown = [flow for flow in flows[:FLOWS] if flow.mass > 0]
    total = sum(flow.mass for flow in shown)
    givers, receivers = (
        list(dict.fromkeys(getattr(flow, side) for flow in shown)) for side in ("giver", "receiver")
    )
    span, gap, top = max(120, 34 * max(len(givers), len(receivers))), 18, 24
    left, right, bar = 132, WIDTH - 132, 9
    starts = {
        side: _stack(shown, kinds, side, span / total, gap)
        for side, kinds in (("giver", givers), ("receiver", receivers))
    }
    used = {
        side: dict.fromkeys(kinds, 0.0)
        for side, kinds in (("giver", givers), ("receiver", receivers))
    }
    parts = [
        _text(left + bar, 14, "gives", "end", "quiet"),
        _text(right - bar, 14, "receives", "start", "quiet"),
    ]
    for flow in shown:
        thick = flow.mass * span / total
        y0 = top + starts["giver"][flow.giver][0] + used["giver"][flow.giver] + thick / 2
        y1 = (
            top + starts["receiver"][flow.receiver][0] + used["receiver"][flow.receiver] + thick / 2
        )
        used["giver"][flow.giver] += thick
        used["receiver"][flow.receiver] += thick
        middle = (left + right) / 2
        words = (
            f"{names[flow.giver]} to {names[flow.receiver]}: {percent(flow.mass)} of all score, "
            f"over {flow.distance:.2g} of the typical distance"
        )
        d = f"M{left + bar} {y0:.1f}C{middle} {y0:.1f} {middle} {y1:.1f} {right - bar} {y1:.1f}"
        path = Markup(
            '<path class="flow c{}" d="{}" stroke-width="{:.2f}"><title>{}</title></path>'
        )
        parts.append(path.format(givers.index(flow.giver) % COLOURS, d, max(thick, 0.6), words))
    for side, kinds, x in (("giver", givers, left), ("receiver", receivers, right - bar)):
        for k, kind in enumerate(kinds):
            start, length, mass = starts[side][kind]
            colour = f"c{k % COLOURS}" if side == "giver" else "node"
            parts.append(
                Markup('<rect class="{}" x="{}" y="{:.1f}" width="{}" height="{:.1f}"/>').format(
                    colour, x, top + start, bar, max(length, 1.0)
                )
            )
            at, anchor = (left - 6, "end") if side == "giver" else (right + 6, "start")
            y = top + start + length / 2
            parts.append(_text(at, y, names[kind], anchor, room=left - 10))
            parts.append(_text(at, y + 13, percent(mass), anchor, "quiet"))
    tall = max(sum(s[1] for s in one.values()) + gap * len(one) for one in starts.values())
    return _svg(
        top + tall + 14,
        "Score that the cheapest plan moves between groups, in shares of all score",
        parts,
    )


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
    left, right, top, bottom = 60, 360, 10, 310
    x = _axis(left, right)
    peak = max(max(curve.density) for curve in curves) or 1.0
    parts = [_grid(left, right, top, bottom), _beside("share of people")]
    at = x[0] + x[1] * threshold
    parts.append(
        Markup('<line class="mark" x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"/>').format(
            at, top, bottom
        )
    )
    for k, (curve, name) in enumerate(zip(curves, names)):
        step = 1 / len(curve.density)
        points = []
        for j, share in enumerate(curve.density):
            y = bottom - (bottom - top - 4) * share / peak
            points += [(x[0] + x[1] * j * step, y), (x[0] + x[1] * (j + 1) * step, y)]
        parts.append(_path(points, k, name))
    parts.append(
        _text(
            (left + right) / 2,
            bottom + 32,
            "score; the dashed line is the threshold",
            "middle",
            "quiet",
        )
    )
    return _svg(348, "Distribution of scores by group", parts)


def rocs(curves: Sequence[Curve], names: Sequence[str]) -> Markup:
    """Draw true against false positive rates of each group."""
    parts = [_square("false positive rate", "true positive rate")]
    for k, (curve, name) in enumerate(zip(curves, names)):
        if curve.roc:
            parts.append(_path([_at(a, b) for a, b in curve.roc], k, name))
    return _svg(348, "ROC curve of each group", parts)


def calibrations(curves: Sequence[Curve], names: Sequence[str]) -> Markup:
    """Share of positive labels against mean score, in tenths of each group or less."""
    parts = [_square("mean score", "share of positive labels")]
    for k, (curve, name) in enumerate(zip(curves, names)):
        for score, share, _ in curve.calibration:
            (a, low), (_, high) = _at(score, share.low), _at(score, share.high)
            ends = Markup('x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}"').format(
                a, low, high
            )
            parts.append(Markup('<line class="curve thin c{}" {}/>').format(k % COLOURS, ends))
        points = [_at(score, share.value) for score, share, _ in curve.calibration]
        if points:
            parts.append(_path(points, k, name))
        mark = Markup('<circle class="c{}" cx="{:.1f}" cy="{:.1f}" r="3"/>')
        parts += [mark.format(k % COLOURS, *point) for point in points]
    return _svg(348, "Calibration of each group: share of positive labels by score", parts)


def percent(share: float) -> str:
    """Return a share as readers like it."""
    if 0 < share < 0.0005:
        return "less than 0.1 %"
    return f"{100 * share:.1f} %"


def _at(a: float, b: float) -> tuple[float, float]:
    return 60 + 300 * a, 310 - 300 * b


def _square(below: str, beside: str) -> Markup:
    corner, end = _at(0, 0), _at(1, 1)
    diagonal = Markup('<line class="mark" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(*corner, *end)
    ticks = Markup("").join(
        _text(60 + 300 * v, 325, f"{v:g}", "middle", "quiet")
        + _text(54, 314 - 300 * v, f"{v:g}", "end", "quiet")
        for v in (0, 0.5, 1)
    )
    frame = Markup('<rect class="frame" x="60" y="10" width="300" height="300"/>')
    return frame + diagonal + ticks + _text(210, 342, below, "middle", "quiet") + _beside(beside)


def _beside(text: str) -> Markup:
    turned = 'transform="translate(22 160) rotate(-90)" text-anchor="middle"'
    return Markup(f'<text class="quiet" {turned}>{{}}</text>').format(text)


def _path(points: Sequence[tuple[float, float]], k: int, name: str) -> Markup:
    d = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return Markup('<path class="curve c{} d{}" d="{}"><title>{}</title></path>').format(
        k % COLOURS, k % 4, d, name
    )


def _axis(left: float, right: float) -> tuple[float, float]:
    return left, right - left


def _grid(left: float, right: float, top: float, bottom: float) -> Markup:
    out = Markup("")
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = left + (right - left) * tick
        out += Markup('<line class="grid" x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"/>').format(
            x, top, bottom
        )
        out += _text(x, bottom + 15, f"{tick:g}", "middle", "quiet")
    return out


def wide(text: str) -> float:
    """Return about how wide a text is in a picture; letters of an unknown font vary."""
    return LETTERS * sum(_em(letter) for letter in text)


def _em(letter: str) -> float:
    if letter in "iljtfrI.,:;'| ()[]!-":
        return 0.36
    if letter in "MWmw@%" or east_asian_width(letter) in "WF":
        return 1.0
    return 0.7 if letter.isupper() else 0.6


def _text(
    x: float, y: float, text: str, anchor: str, kind: str = "", room: float | None = None
) -> Markup:
    """Return text, cut to the room that there is; readers see the rest of it as a title."""
    short = text
    while room is not None and wide(short) > room:
        short = short.removesuffix("…")[:-1].rstrip() + "…"
    title = Markup("<title>{}</title>").format(text) if short != text else Markup("")
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}{}</text>').format(
        kind, x, y, anchor, title, short
    )


def _svg(height: float, label: str, parts: Sequence[Markup]) -> Markup:
    return Markup('<svg viewBox="0 0 {} {:.0f}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, height, escape(label), Markup("").join(parts)
    )
