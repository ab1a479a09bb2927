"""The page of a table of law: plain tables that need no script, on a screen, a phone, or paper."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from otfair._io.rendering import templates
from otfair.law._table import REFERENCE, UNKNOWN, LawTable, Part

DASH = "–"
COLUMNS = {  # name: (heading, how it is written)
    "people": ("people", "whole"),
    "selected": ("selected", "whole"),
    "rate": ("rate", "percent"),
    "impact_ratio": ("impact ratio", "ratio"),
    "range": ("ratio over all ways to assign the unknown", "range"),
    "at_shares": ("ratio with the unknown shared out", "ratio"),
    "status": ("remark", "text"),
}
TESTS = {  # of the comparison with the reference
    "below_four_fifths": ("below four fifths", "yes"),
    "standard_deviations": ("standard deviations", "signed"),
    "p_fisher": ("p value, Fisher's exact test", "chance"),
    "p_normal": ("p value, normal test", "chance"),
    "short_of_reference": ("people short of the reference's rate", "whole"),
    "short_of_four_fifths": ("people short of four fifths of it", "whole"),
    "status": ("remark", "text"),
}
ONLY_UNKNOWN = ("range", "at_shares")  # columns that say nothing where nobody is unknown


def page(table: LawTable) -> str:
    """Return the whole page."""
    return _environment().get_template("law.html").render(table=table, **_shared(table))


def cell(table: LawTable) -> str:
    """Return the tables alone, for the cell of a notebook."""
    return _environment().get_template("law_cell.html").render(table=table, **_shared(table))


def _shared(table: LawTable) -> dict[str, Any]:
    return {"rule": table.rule, "record": table.record, "parts": [_shown(p) for p in table.parts]}


def _shown(part: Part) -> dict[str, Any]:
    """Return a table as blocks of headings and rows of text."""
    hidden = () if part.unknown else ONLY_UNKNOWN
    rows = part.frame.to_dict(orient="records")
    rates = [row for row in rows if part.unknown or row["status"] != UNKNOWN]
    columns = {name: about for name, about in COLUMNS.items() if name not in hidden}
    blocks = [_block(part.name, columns, rates)]
    if "p_fisher" in part.frame:
        compared = [row for row in rows if row["below_four_fifths"] is not None]
        others = [row["category"] for row in rows if str(row["status"]).startswith(REFERENCE)]
        if compared:
            blocks.append(_block(f"{part.name}: compared with {others[0]}", TESTS, compared))
    return {"part": part, "blocks": blocks}


def _block(caption: str, columns: dict[str, tuple[str, str]], rows: list[Any]) -> dict[str, Any]:
    largest = max([1.0, *(row["highest"] for row in rows if math.isfinite(row["highest"]))])
    shown = []
    for row in rows:
        values = [(heading, _text(row, name, kind), kind)
                  for name, (heading, kind) in columns.items()]  # fmt: skip
        about = {"name": row["category"], "status": row["status"], "bar": _bar(row, largest)}
        shown.append(about | {"values": values})
    return {"caption": caption, "headings": list(columns.values()), "rows": shown}


def _text(row: dict[Any, Any], name: str, kind: str) -> str:
    """Return a value as it is shown."""
    if kind == "range":
        low, high = row["lowest"], row["highest"]
        return DASH if math.isnan(low) else f"{_ratio(low)} to {_ratio(high)}"
    value = row[name]
    if kind == "text":
        return str(value)
    if value is None or value != value:
        return DASH
    if kind == "yes":
        return "yes" if value else "no"
    written = {
        "whole": lambda: f"{int(value):,}",
        "percent": lambda: f"{100 * value:.1f} %",
        "ratio": lambda: _ratio(value),
        "signed": lambda: f"{value:+.2f}".replace("-", "−"),
        "chance": lambda: f"{value:.3f}" if value >= 0.001 else f"{value:.1e}",
    }
    return written[kind]()


def _ratio(value: float) -> str:
    return "no limit" if math.isinf(value) else f"{value:.3f}"


def _bar(row: dict[Any, Any], largest: float) -> Markup:
    """Draw a ratio, and its range over the unknown, on a line from 0 to the largest."""
    low, high, ratio = row["lowest"], row["highest"], row["impact_ratio"]
    if math.isnan(low):
        return Markup("")
    a, b, c = (100 * min(v, largest) / largest if v == v else None for v in (low, high, ratio))
    assert a is not None
    assert b is not None
    dot = "" if c is None else f'<circle cx="{4 + c:.1f}" cy="6" r="3.5"/>'
    return Markup(
        '<svg viewBox="0 0 108 12" aria-hidden="true"><path class="axis" d="M4 6H104"/>'
        f'<path class="reach" d="M{4 + a:.1f} 6H{4 + b:.1f}"/>{dot}</svg>'
    )


@cache
def _environment() -> Environment:
    return templates("otfair.law")
