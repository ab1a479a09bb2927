"""Pages of docs/ in tests: their scripts, tables and sentences; means and intervals by hand."""

from __future__ import annotations

import importlib.util
import re
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
from scipy import stats

DOCS = Path(__file__).parents[1] / "docs"
BENCHMARKS = DOCS.parent / "benchmarks"


def script(name: str, folder: Path = DOCS) -> ModuleType:
    """Return a script, of the pages or of another folder, as a module."""
    spec = importlib.util.spec_from_file_location(f"script_{name}", folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def block(text: str, name: str) -> str:
    """Return what stands between a mark and its end."""
    mark = rf"<!-- {re.escape(name)} -->\n((?:(?!<!--).)+)\n<!-- end -->"
    found = re.search(mark, text, re.DOTALL)
    assert found is not None, name
    return found[1]


def cells(text: str, name: str) -> list[list[str]]:
    """Return the rows of a table below its head; an empty first cell has that of the row above."""
    lines = [line.strip("|").split("|") for line in block(text, name).splitlines()[2:]]
    rows = [[cell.strip().replace("\u00a0", " ") for cell in line] for line in lines]
    for above, row in pairwise(rows):
        row[0] = row[0] or above[0]
    return rows


def page(name: str) -> str:
    """Return the text of docs/name.md."""
    return (DOCS / f"{name}.md").read_text("utf-8")


def says(name: str, *sentences: str) -> None:
    """Assert that a page has these words, wherever its lines break."""
    text = " ".join(page(name).split())
    for words in sentences:
        assert words in text, words


def short(value: float, digits: int = 4) -> str:
    """Return a number without the zero before its point."""
    return f"{value:.{digits}f}".removeprefix("0")


def span(values: pd.Series | list[float], digits: int = 4) -> str:
    """Return the smallest and the largest, in words."""
    return f"{short(min(values), digits)} to {short(max(values), digits)}"


def interval(values: pd.Series | np.ndarray, tested: float) -> tuple[float, float]:
    """Return mean and half width, by the variance of Nadeau and Bengio."""
    variance = np.var(values, ddof=1) * (1 / len(values) + tested)
    return float(np.mean(values)), float(stats.t.isf(0.025, len(values) - 1) * variance**0.5)


def crossing(x: np.ndarray, y: np.ndarray, target: float) -> float:
    """Return y where x, along a path, first falls to a target."""
    k = next((k for k in range(1, len(x)) if x[k - 1] >= target > x[k]), None)
    return np.nan if k is None else float(np.interp(target, [x[k], x[k - 1]], [y[k], y[k - 1]]))
