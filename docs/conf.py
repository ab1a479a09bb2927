"""Settings of the documentation site; `make docs` builds it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import otfair

sys.path.insert(0, str(Path(__file__).parent))  # for gallery_setup
os.environ.setdefault("OMP_NUM_THREADS", "1")  # before PyTorch is imported: one core

project = "otfair"
version = release = otfair.__version__
author = copyright = "The otfair developers"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_nb",
    "sphinx_gallery.gen_gallery",
]
default_role = "py:obj"  # `Notion` in a docstring links to it
exclude_patterns = ["**/.ipynb_checkpoints", "gallery", "examples/*.ipynb"]

# Notebooks are committed with their outputs; docs/execute.py makes these.
nb_execution_mode = "off"
nb_merge_streams = True
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist"]

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


# docs/gallery/plot_*.py are run when the site is built; their pages are in docs/examples.
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "abort_on_example_error": True,
    "copyfile_regex": r"index\.rst",
    "download_all_examples": False,
    "reset_modules": ("matplotlib", "gallery_setup.set_figure_style"),
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "within_subsection_order": "gallery_setup.GalleryOrder",
    "write_computation_times": False,
}


def trim_code(app: Any, page: str, source: list[str]) -> None:
    """Leave out the empty line that ends a block of code for doctest's sake."""
    source[0] = source[0].replace("\n\n```\n", "\n```\n")


def setup(app: Any) -> None:
    """Prepare pages before they are parsed."""
    app.connect("source-read", trim_code)
