"""What pages and files are made with: templates that escape, figures, plain JSON and CSV."""

from __future__ import annotations

import csv
import datetime
import json
import math
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from otfair._io.visible import visible, visible_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def templates(room: str, *, escape: bool = True) -> Environment:
    """Return the templates of a package; `escape` whatever they are given, as HTML needs it.

    What is no character to be shown is spelled out: some can't be written to a file.
    """
    return Environment(
        loader=PackageLoader(room),
        autoescape=escape,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )


def _shown(value: Any) -> Any:
    is_text = isinstance(value, str) and not isinstance(value, Markup)
    return visible(value, "\n\r\t") if is_text else value


def drawn(figure: Figure, kind: str, dpi: int = 110) -> bytes:
    """Return a figure as a file of its kind, the same bytes every time."""
    import matplotlib

    out = BytesIO()
    dated = {"svg": {"Date": None}, "png": {"Software": None}, "pdf": {"CreationDate": None}}
    with matplotlib.rc_context({"svg.hashsalt": "otfair"}):  # else its ids are random
        figure.savefig(out, format=kind, dpi=dpi, metadata=dated[kind])
    return out.getvalue()


def inline_svg(figure: Figure) -> Markup:
    """Return a figure to put into a page."""
    text = drawn(figure, "svg").decode()
    return Markup(text[text.index("<svg") :])


def csv_text(frame: pd.DataFrame) -> str:
    """Return a table as CSV; text is quoted where a carriage return would begin a row."""
    text: str = frame.to_csv(index=False, lineterminator="\n")
    if "\r" in text:
        text = frame.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    return text


def to_json(data: Any, indent: int | None = None) -> str:
    """Return JSON, where what is missing or not a number is null, and dates are ISO's."""
    text = json.dumps(_plain(data), indent=indent, ensure_ascii=False, allow_nan=False)
    return visible_json(text)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(v) for v in value]
    if isinstance(value, pd.DataFrame):
        return [_plain(row) for row in value.to_dict(orient="records")]
    if isinstance(value, np.generic):
        value = value.item()
    if value is pd.NA or value is pd.NaT or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return value if isinstance(value, str | int | float | None) else str(value)
