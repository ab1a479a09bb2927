"""Data flows one way: a module imports only modules of earlier layers, and the library is quiet."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import otfair

SOURCE = Path(otfair.__file__).parent
LAYERS = [
    {"status", "arrays"},
    {"constraints", "distances"},
    {"notions", "geometry"},
    {"problem"},
    {"transport"},
    {"newton", "coordinate"},
    {"exact"},
    {"otf"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def imported(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    names = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module}
    return {name.split(".")[1] for name in names if name.startswith("otfair.")}


@pytest.mark.parametrize("name", sorted(LEVEL))
def test_a_layer_imports_only_earlier_layers(name: str):
    later = {m for m in imported(SOURCE / f"{name}.py") if LEVEL[m] >= LEVEL[name]}
    assert not later


def test_every_core_module_has_a_layer():
    outside = {"__init__", "cli", "demo", "encoder"}
    assert {p.stem for p in SOURCE.glob("*.py")} - outside == set(LEVEL)


def test_the_core_stays_under_1200_lines_of_code():
    # Docstrings, comments and blank lines apart.
    total = 0
    for name in LEVEL:
        source = (SOURCE / f"{name}.py").read_text()
        lines = {i for i, text in enumerate(source.splitlines(), 1) if text.strip()}
        lines -= {i for i, t in enumerate(source.splitlines(), 1) if t.strip().startswith("#")}
        for node in ast.walk(ast.parse(source)):
            if (
                isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
                and ast.get_docstring(node) is not None
            ):
                doc = node.body[0]
                lines -= set(range(doc.lineno, (doc.end_lineno or doc.lineno) + 1))
        total += len(lines)
    assert total < 1300, total
