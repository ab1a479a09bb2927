"""The look of the gallery's figures, and the order of its examples."""

from __future__ import annotations

from typing import Any

import matplotlib

FIGURE_STYLE = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": "medium",
    "axes.titleweight": "bold",
    "figure.dpi": 110,
    "legend.frameon": False,
}
ORDER = (
    "which_notion", "tradeoff", "decisions", "several_attributes", "continuous_age",
    "boosted_trees", "torch_loop", "who_gives_to_whom", "bounded", "audit", "law_table",
    "million_rows",
)  # fmt: skip


def set_figure_style(gallery: dict[str, Any], name: str) -> None:
    """Give every figure the same look; sphinx-gallery calls this before each example."""
    matplotlib.rcParams.update(FIGURE_STYLE)


class GalleryOrder:
    """Sort key of the examples, from first questions to large tables."""

    def __init__(self, folder: str) -> None:
        """Take the folder, which makes no difference."""

    def __call__(self, file: str) -> int:
        """Return the place of an example."""
        return ORDER.index(file.removeprefix("plot_").removesuffix(".py"))
