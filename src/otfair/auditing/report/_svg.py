"""Parts of a chart as inline SVG: small, styled by the page, readable by screen readers.

Every text passes through `escape`; numbers are formatted here.
"""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import east_asian_width

from markupsafe import Markup, escape

WIDTH = 420  # of a chart; the page scales it, so that text stays readable on a phone
COLOURS = 8  # classes c0 to c7 of the page
FONT_SIZE = 12.5  # as the page styles it
LEFT, SIDE, BOTTOM = 60, 300, 310  # of the square that curves are drawn in
TOP, HEIGHT = BOTTOM - SIDE, 348


def svg(height: float, label: str, parts: Sequence[Markup]) -> Markup:
    """Return a chart of its parts, described by its label."""
    return Markup('<svg viewBox="0 0 {} {:.0f}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, height, escape(label), Markup("").join(parts)
    )


def line(kind: str, x1: float, x2: float, y1: float, y2: float) -> Markup:
    """Return a line between two points."""
    return Markup(
        '<line class="{}" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>'
    ).format(kind, x1, x2, y1, y2)  # fmt: skip


def circle(kind: str, x: float, y: float, radius: int) -> Markup:
    """Return a dot."""
    return Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{}"/>').format(kind, x, y, radius)


def curve(points: Sequence[tuple[float, float]], k: int, name: str) -> Markup:
    """Return the curve of the k-th group, in its colour and dashes."""
    d = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return Markup('<path class="curve c{} d{}" d="{}"><title>{}</title></path>').format(
        k % COLOURS, k % 4, d, name
    )


def text_width(words: str) -> float:
    """Return about how wide a text is in a chart; letters of an unknown font vary."""
    return FONT_SIZE * sum(_letter_width(letter) for letter in words)


def _letter_width(letter: str) -> float:
    if letter in "iljtfrI.,:;'| ()[]!-":
        return 0.36
    if letter in "MWmw@%" or east_asian_width(letter) in "WF":
        return 1.0
    return 0.7 if letter.isupper() else 0.6


def text(
    x: float, y: float, words: str, anchor: str, kind: str = "", room: float | None = None
) -> Markup:
    """Return text, cut to the room that there is; readers see the rest of it as a title."""
    short = words
    while room is not None and text_width(short) > room:
        short = short.removesuffix("…")[:-1].rstrip() + "…"
    title = Markup("<title>{}</title>").format(words) if short != words else Markup("")
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}{}</text>').format(
        kind, x, y, anchor, title, short
    )


def score_grid(left: float, right: float, top: float, bottom: float) -> Markup:
    """Return vertical lines at scores from 0 to 1, with their numbers."""
    out = Markup("")
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = left + (right - left) * tick
        out += line("grid", x, x, top, bottom)
        out += text(x, bottom + 15, f"{tick:g}", "middle", "quiet")
    return out


def in_square(a: float, b: float) -> tuple[float, float]:
    """Return where two numbers from 0 to 1 are in the square of a chart."""
    return LEFT + SIDE * a, BOTTOM - SIDE * b


def square(x_label: str, y_label: str) -> Markup:
    """Return a square of two numbers from 0 to 1, with its diagonal and labels."""
    (x0, y0), (x1, y1) = in_square(0, 0), in_square(1, 1)
    ticks = Markup("").join(
        text(in_square(v, 0)[0], BOTTOM + 15, f"{v:g}", "middle", "quiet")
        + text(LEFT - 6, in_square(0, v)[1] + 4, f"{v:g}", "end", "quiet")
        for v in (0, 0.5, 1)
    )
    frame = Markup('<rect class="frame" x="{0}" y="{1}" width="{2}" height="{2}"/>').format(
        LEFT, TOP, SIDE
    )
    below = text(LEFT + SIDE / 2, BOTTOM + 32, x_label, "middle", "quiet")
    return frame + line("mark", x0, x1, y0, y1) + ticks + below + vertical_label(y_label)


def vertical_label(words: str) -> Markup:
    """Return the label of a vertical axis."""
    turned = 'transform="translate(22 160) rotate(-90)" text-anchor="middle"'
    return Markup(f'<text class="quiet" {turned}>{{}}</text>').format(words)
