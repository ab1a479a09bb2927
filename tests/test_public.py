"""The public names: there as ever, and imported when they are used."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import otfair


def runs(code: str) -> None:
    """Run code in a process of its own, in which nothing is imported yet."""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_is_there_and_no_other():
    assert otfair.__all__ == sorted(otfair.__all__)
    assert "tradeoff_curve" in otfair.__all__
    assert "tradeoff" not in otfair.__all__  # a module, which can be reached all the same
    for name in otfair.__all__:
        assert getattr(otfair, name) is not None
    assert set(otfair.__all__) <= set(dir(otfair))
    assert getattr(otfair, "audits.audit", None) is None
    for unknown in ("audits", "__unknown__", "_private"):
        with pytest.raises(AttributeError, match=f"module 'otfair' has no attribute '{unknown}'"):
            getattr(otfair, unknown)


@pytest.mark.slow
def test_nothing_is_imported_before_it_is_used():
    runs(
        "import sys, otfair; otfair.__version__; assert 'torch' not in sys.modules; "
        "otfair.pdp_violation; assert 'torch' in sys.modules; "
        "otfair.audit; assert 'audit' in vars(otfair)"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("use", "unneeded"),
    [
        ("otfair.__all__", "numpy torch"),
        ("otfair.pdp_violation", "matplotlib jinja2 requests"),
    ],
)
def test_a_name_imports_only_what_it_needs(use, unneeded):
    runs(f"import sys, otfair; {use}; assert not {set(unneeded.split())} & {{*sys.modules}}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "from otfair import *; audit, OTFClassifier",
        "from otfair.saving import load_model",  # which others import in turn
        "import otfair; otfair.tradeoff.UNFAIRNESS",  # a module that nobody imported
        "from otfair import cli, audit; audit.__call__",
    ],
)
def test_names_and_modules_in_any_order(code):
    runs(code)


def test_a_room_is_entered_by_its_door():
    """No room imports what another keeps in a private module, or under a private name."""
    source = Path(otfair.__file__).parent
    for file in source.rglob("*.py"):
        room = file.relative_to(source).parts[0]
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("otfair."):
                _, other, *modules = str(node.module).split(".")
                names = [] if other == "_io" else [*modules, *(name.name for name in node.names)]
                assert other == room or not any(n.startswith("_") for n in names), (file, names)
