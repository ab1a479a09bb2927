"""The page for users of other libraries: its code runs, and prints what stands beside it."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "coming_from.md"
SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"^print\(.*\)  # (.+)$", re.MULTILINE)


def sections() -> dict[str, list[str]]:
    """Return the blocks of code of each section; those before the first one are called setup."""
    _, *parts = SECTION.split("## setup\n" + PAGE.read_text("utf-8"))
    return {name: BLOCK.findall(text) for name, text in zip(parts[::2], parts[1::2])}


def imported(code: str) -> set[str]:
    """Return the packages that a block imports."""
    names = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return {name.split(".")[0] for name in names}


def test_each_library_has_code():
    found = sections()
    assert all(found[name] for name in ("setup", "fairlearn", "fairret", "AIF360"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fairlearn", "fairret", "AIF360"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # of peers
def test_the_code_of_a_section_prints_what_it_says(name: str, capsys):
    blocks = sections()
    namespace: dict[str, object] = {}
    ran = 0
    for code in [*blocks["setup"], *blocks[name]]:
        if any(importlib.util.find_spec(package) is None for package in imported(code)):
            continue  # the other library is not installed; our side of the page still runs
        exec(compile(code, str(PAGE), "exec"), namespace)
        printed = capsys.readouterr().out.splitlines()
        assert printed == SHOWN.findall(code)
        ran += 1
    assert ran > 1
