"""Settings of the documentation site; `make docs` builds it."""

from __future__ import annotations

import re
from typing import Any

import otfair

project = "otfair"
version = release = otfair.__version__
author = copyright = "The otfair developers"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_nb",
]
default_role = "py:obj"  # `Notion` in a docstring links to it
exclude_patterns = ["**/.ipynb_checkpoints"]

# Notebooks are committed with their outputs; docs/execute.py makes these.
nb_execution_mode = "off"
nb_merge_streams = True
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the text of each parameter says it better
numpydoc_show_class_members = False

smartquotes = False  # "otf" must stay what one can type

html_theme = "furo"
pygments_dark_style = "monokai"
html_title = "otfair"
html_copy_source = False
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["otfair.css"]

SECTIONS = {"Parameters", "Attributes"}
ENTRY = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*) : (.+)$")
FULL_LINE = 70  # a sentence goes on after a line of this length; a shorter one names a type


def describe_parameters(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Read what follows ``name :`` as a description, which numpydoc would take for a type."""
    section, out = "", []
    for before, line, after in zip(["", *lines], lines, [*lines[1:], ""]):
        if set(line) == {"-"}:
            section = before
        entry = ENTRY.match(line) if section in SECTIONS else None
        if entry and (len(line) > FULL_LINE or not after.startswith(" ")):
            out += [entry[1], "    " + entry[2]]
        else:
            out.append(line)
    lines[:] = out


def trim_code(app: Any, page: str, source: list[str]) -> None:
    """Leave out the empty line that ends a block of code for doctest's sake."""
    source[0] = source[0].replace("\n\n```\n", "\n```\n")


def setup(app: Any) -> None:
    """Prepare pages before they are parsed, and parameters before numpydoc reads them."""
    app.connect("source-read", trim_code)
    app.connect("autodoc-process-docstring", describe_parameters, priority=400)
