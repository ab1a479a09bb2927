"""The documentation: reference pages that miss no public name, and notebooks that still run."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

import otfair

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted((DOCS / "api").glob("*.md"))
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
ENTRY = re.compile(r"^\.\. (?:auto\w+|py:data):: (otfair[\w.]*)", re.MULTILINE)
SUMMARY = re.compile(r"~(otfair\.[\w.]+)")

spec = importlib.util.spec_from_file_location("execute", DOCS / "execute.py")
assert spec is not None
assert spec.loader is not None
notebooks = importlib.util.module_from_spec(spec)
spec.loader.exec_module(notebooks)


def public() -> set[str]:
    return {f"otfair.{name}" for name in otfair.__all__}


def documented(pattern: re.Pattern[str]) -> list[str]:
    return [name for page in PAGES for name in pattern.findall(page.read_text("utf-8"))]


def test_every_public_name_has_an_entry_in_the_reference():
    assert not public() - set(documented(ENTRY))


def test_the_overview_lists_every_public_name_once_and_nothing_else():
    assert sorted(documented(SUMMARY)) == sorted(public())


def test_no_name_is_documented_twice():
    names = documented(ENTRY)
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("name", documented(ENTRY))
def test_what_is_documented_exists(name: str):
    found = otfair
    for part in name.split(".")[1:]:
        found = getattr(found, part)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def streams(notebook, name: str) -> list[str]:
    outputs = [output for cell in code_cells(notebook) for output in cell.outputs]
    return [o.text for o in outputs if o.output_type == "stream" and o.name == name]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_committed_as_it_ran(path: Path):
    notebook = notebooks.read(path)
    # Run from top to bottom, in one go.
    counts = [cell.execution_count for cell in code_cells(notebook)]
    assert counts == list(range(1, len(counts) + 1))
    assert any(cell.outputs for cell in code_cells(notebook))
    assert not [o for c in code_cells(notebook) for o in c.outputs if o.output_type == "error"]
    # No warnings, nothing that tells of a machine or changes from run to run.
    assert streams(notebook, "stderr") == []
    assert "/site-packages/" not in path.read_text("utf-8")
    assert notebooks.tidy(notebooks.read(path)) == notebook


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_showed(path: Path):
    before, after = notebooks.read(path), notebooks.execute(path)
    assert streams(after, "stderr") == []
    for old, new in zip(code_cells(before), code_cells(after)):
        assert [shown(output) for output in new.outputs] == [shown(o) for o in old.outputs]


def shown(output) -> tuple[str, ...]:
    """Return the kinds of what a cell shows; numbers may differ in their last digits elsewhere."""
    return (output.output_type, *sorted(output.get("data", {})))


def test_there_are_three_notebooks():
    assert [path.stem for path in NOTEBOOKS] == ["audit", "sklearn_pipeline", "torch_loop"]
