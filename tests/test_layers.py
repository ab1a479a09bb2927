"""Data flows one way: a module imports only modules of earlier layers, and the library is quiet."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import otfair

SOURCE = Path(otfair.__file__).parent
LAYERS = [
    {"status", "arrays", "distances"},
    {"attributes", "geometry"},
    {"constraints"},
    {"notions"},
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
    outside = {
        "__init__",
        "__main__",
        "_public",
        "barycenter",
        "batches",
        "binary",
        "boosted_people",
        "boosters",
        "boosting",
        "boosting_classifier",
        "classifier",
        "cli",
        "demo",
        "encoder",
        "files",
        "lbfgs",
        "losses",
        "metrics",
        "numerals",
        "penalty",
        "progress",
        "rendering",
        "saving",
        "scorers",
        "search",
        "storage",
        "tables",
        "tradeoff",
        "training",
        "tree_features",
        "validation",
    }
    assert {p.stem for p in SOURCE.glob("*.py")} - outside == set(LEVEL)


def statements(path: Path) -> int:
    tree = ast.parse(path.read_text())
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = [
        node
        for node in ast.walk(tree)
        if isinstance(node, documented) and ast.get_docstring(node) is not None
    ]
    return sum(isinstance(node, ast.stmt) for node in ast.walk(tree)) - len(docstrings)


def test_the_core_does_not_grow():
    # Statements, docstrings apart, of all but the reading of what users pass.
    core = set(LEVEL) - {"arrays", "attributes", "status"}
    assert sum(statements(SOURCE / f"{name}.py") for name in core) <= 1200
