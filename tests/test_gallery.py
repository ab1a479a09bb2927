"""The gallery: every example runs, draws a picture, and prints the figures that its text quotes."""

from __future__ import annotations

import importlib.util
import re
import runpy
from pathlib import Path

import matplotlib
import pytest

DOCS = Path(__file__).parents[1] / "docs"
EXAMPLES = sorted((DOCS / "gallery").glob("plot_*.py"))
CODE = re.compile(r"``.*?``", re.DOTALL)
SETTING = re.compile(r"alpha = [\d.]+|95 %")
QUOTED = re.compile(r"(?<![\w.])(?:\d+\.\d+|\d+ %)")


def prose(path: Path) -> str:
    """Return the docstring and the comments below `# %%`, without code."""
    source = path.read_text("utf-8")
    texts = [source.split('"""')[1]]
    for block in source.split("# %%\n")[1:]:
        lines = block.splitlines()
        end = next((k for k, line in enumerate(lines) if not line.startswith("#")), len(lines))
        texts.append("\n".join(line[2:] for line in lines[:end]))
    return SETTING.sub("", CODE.sub("", "\n".join(texts)))


def test_there_are_twelve_examples_in_order():
    spec = importlib.util.spec_from_file_location("gallery_setup", DOCS / "gallery_setup.py")
    assert spec is not None
    assert spec.loader is not None
    setup = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(setup)
    assert sorted(f"plot_{name}" for name in setup.ORDER) == [path.stem for path in EXAMPLES]
    assert len(EXAMPLES) >= 12


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_title_is_underlined(path: Path):
    _, title, line, empty, *_ = path.read_text("utf-8").split("\n")
    assert (line, empty) == ("=" * len(title), "")


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_draws_a_picture_and_prints_what_its_text_says(path: Path, capsys):
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    with plt.rc_context():
        runpy.run_path(str(path), run_name="__main__")
        figures = [plt.figure(number) for number in plt.get_fignums()]
        drawn = [axes for figure in figures for axes in figure.axes if axes.has_data()]
        plt.close("all")
    assert drawn
    printed = capsys.readouterr().out
    missing = [figure for figure in QUOTED.findall(prose(path)) if figure not in printed]
    assert missing == []
