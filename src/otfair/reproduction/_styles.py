"""How methods are named and drawn: a title, a colour that colour-blind people see, a marker."""

from __future__ import annotations

STYLES = {
    "unfair": ("Unfair", "#000000", "s"),
    "barycenter": ("Barycenter", "#cc79a7", "^"),
    "norm": ("Norm", "#e69f00", "D"),
    "norm2": ("Norm p = 2", "#d55e00", "P"),
    "correlation": ("Largest correlation", "#6a3d9a", "X"),
    "otf": ("OTF (one cost for all)", "#0072b2", "o"),
    "otf_attributes": ("OTF (one cost for each attribute)", "#56b4e9", "s"),
    "coordinate": ("OTF (published method)", "#009e73", "v"),
}
LINES = {
    "barycenter": ":", "norm": "--", "norm2": "--", "correlation": ":", "otf": "-",
    "otf_attributes": "-", "coordinate": "-.",
}  # fmt: skip
