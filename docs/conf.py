"""Settings of the documentation site; `make docs` builds it."""

from __future__ import annotations

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


def trim_code(app: Any, page: str, source: list[str]) -> None:
    """Leave out the empty line that ends a block of code for doctest's sake."""
    source[0] = source[0].replace("\n\n```\n", "\n```\n")


def setup(app: Any) -> None:
    """Prepare pages before they are parsed."""
    app.connect("source-read", trim_code)
