"""What pages of measurements share: places that are filled, tables, numbers and intervals.

A place on a page begins with <!-- its name --> and ends with <!-- end -->.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

DOCS = Path(__file__).parent
BENCHMARKS = DOCS.parent / "benchmarks"
TESTED = 0.3 / 0.7  # test people for each who trains, where a table is split 70/30


def filled(page: str, parts: dict[str, str], name: str) -> str:
    """Return the page with these parts in their places."""
    for key, text in parts.items():
        place = re.compile(rf"(<!-- {key} -->\n)(?:(?!<!--).)*(<!-- end -->)", re.DOTALL)
        if len(place.findall(page)) != 1:
            raise ValueError(f"{name} must have one place for {key!r}: <!-- {key} --> <!-- end -->")
        page = place.sub(lambda found, text=text: f"{found[1]}{text}\n{found[2]}", page)
    return page


def fill(path: Path, parts: dict[str, str]) -> None:
    """Write these parts into their places on a page."""
    path.write_text(filled(path.read_text("utf-8"), parts, path.name), "utf-8")


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)]
    # A number and its interval stay on one line.
    return re.sub(r"(?<=\d) (±|of) (?=[.\d])", "\u00a0\\1\u00a0", "\n".join(lines))


def number(value: float, digits: int = 4, sign: bool = False) -> str:
    """Return a number below one as .1234, with a sign if asked for."""
    value = round(value, digits) + 0.0  # no -.0000
    text = f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 else text


def where_it_falls(x: pd.Series | np.ndarray, y: pd.Series | np.ndarray, target: float) -> float:
    """Return y where x, along a path, first falls to a target; NaN if it never does."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    for k in range(len(x) - 1):
        if x[k] >= target > x[k + 1]:
            t = (x[k] - target) / (x[k] - x[k + 1])
            return float((1 - t) * y[k] + t * y[k + 1])
    return np.nan


def standard_error(values: pd.Series | np.ndarray | list[float], tested: float = TESTED) -> float:
    """Return the standard error of a mean over splits; NaN for one split.

    Test parts of random splits share people, and so do training parts: the variance is that of
    Nadeau and Bengio (2003), which adds the ratio of people who test and who train to 1 / n.
    """
    x = np.asarray(values, dtype=float)
    return float(x.std(ddof=1) * np.sqrt(1 / len(x) + tested)) if len(x) > 1 else np.nan


def mean_and_reach(
    values: pd.Series | np.ndarray | list[float], tested: float = TESTED
) -> tuple[float, float]:
    """Return the mean over splits, and the half width of its 95 % interval; NaN for one split."""
    wide = stats.t.ppf(0.975, len(values) - 1) if len(values) > 1 else np.nan
    return float(np.mean(values)), float(wide * standard_error(values, tested))


def shown(
    values: pd.Series | np.ndarray | list[float], digits: int = 4, sign: bool = False,
    tested: float = TESTED,
) -> str:  # fmt: skip
    """Return a mean with its interval, without zeros before the point."""
    mean, reach = mean_and_reach(values, tested)
    text = number(mean, digits, sign)
    return text if np.isnan(reach) else f"{text} ± {number(reach, digits)}"
