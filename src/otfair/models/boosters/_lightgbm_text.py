"""LightGBM's text, read and written anew: nothing is kept that is not understood.

What is there is what LightGBM 4 writes for one target, by whatever way of boosting. Numbers keep
their digits. Parameters and importances, which trees do not need, are left out.
"""

from __future__ import annotations

import re

import numpy as np

from otfair._io.checks import LARGEST_LOGIT, require
from otfair.models.boosters._trees import reached, real, whole

WHOLE = r"-?[0-9]{1,18}"
REAL = r"-?(?:[0-9]{1,25}(?:\.[0-9]{0,25})?(?:e[-+]?[0-9]{1,3})?|inf|nan)"
RANGE = rf"none|\[{REAL}:{REAL}\]|{WHOLE}(?::{WHOLE})*"  # of a number, or categories
FIRST = {  # lines that every model has, and their value
    "version": "v4", "num_class": "1", "num_tree_per_iteration": "1", "label_index": "0",
}  # fmt: skip
OBJECTIVE = "binary sigmoid:1"  # there is none for an objective of ours
SPLITS = ("split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child")
LEAVES = ("leaf_value", "leaf_weight", "leaf_count")
WITHIN = ("internal_value", "internal_weight", "internal_count")
CATEGORIES = ("cat_boundaries", "cat_threshold")
LINES = ("leaf_const", "num_features", "leaf_features", "leaf_coeff")  # of linear leaves
CATEGORY, MISSING_TYPES = 1, 12  # bits of decision_type
END = "end of trees\n\npandas_categorical:null\n"


def rewritten(text: str, levels: list[int | None]) -> str:
    """Return the model of a text; of each feature `levels` are its categories, None for numbers."""
    trees, end, _ = text.partition("\nend of trees\n")
    require(bool(end), "its trees have no end")
    head, *rest = trees.split("\nTree=")
    header = _header(head, levels)
    blocks = [_tree(f"Tree={block}", k, levels) for k, block in enumerate(rest)]
    sizes = " ".join(str(len(block.encode())) for block in blocks)
    return f"{header}tree_sizes={sizes}\n\n{''.join(blocks)}{END}"


def _lines(text: str, first: str, flags: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the values of lines by their name; the first line must be the one that is given."""
    lines = text.rstrip("\n").split("\n")
    require(lines[0] == first, f"it has {lines[0]!r:.50} for {first!r}")
    found: dict[str, str] = {}
    for line in lines[1:]:
        name, equals, value = line.partition("=")
        sound = bool(equals) or name in flags
        require(sound and name not in found, f"it has the line {line!r:.50}, or has it twice")
        found[name] = value
    return found


def _header(text: str, levels: list[int | None]) -> str:
    found = _lines(text, "tree", ("average_output",))
    width = len(levels)
    always = {**FIRST, "max_feature_idx": str(width - 1)}
    for name, value in always.items():
        require(found.pop(name, None) == value, f"its {name} is not {value}")
    found.pop("tree_sizes", None)  # they are those of what is written here
    clean = dict(always)
    if "objective" in found:
        require(found.pop("objective") == OBJECTIVE, "its objective is not the logistic one")
        clean["objective"] = OBJECTIVE
    average = found.pop("average_output", None)
    require(not average, "its average_output has a value")
    names = _tokens(found, "feature_names", width)
    sound = all(name and name.isprintable() for name in names)
    require(sound, "its feature_names are not one for each feature")
    clean["feature_names"] = " ".join(names)
    if "monotone_constraints" in found:
        ways = _whole(found, "monotone_constraints", width, -1, 1)
        clean["monotone_constraints"] = " ".join(map(str, ways.tolist()))
    ranges = _tokens(found, "feature_infos", width)
    sound = all(re.fullmatch(RANGE, part) for part in ranges)
    require(sound, "its feature_infos are not ranges and categories")
    clean["feature_infos"] = " ".join(ranges)
    require(not found, f"it has the lines {sorted(found)!r:.80}, which this version does not know")
    lines = [f"{name}={value}" for name, value in clean.items()]
    if average is not None:
        lines.insert(list(clean).index("feature_names"), "average_output")
    return "\n".join(["tree", *lines, ""])


def _tokens(found: dict[str, str], name: str, count: int | None = None) -> list[str]:
    """Take the values of a line, as many as there must be."""
    require(name in found, f"{name} is missing")
    values = found.pop(name)
    tokens = values.split(" ") if values else []
    sound = count is None or len(tokens) == count
    require(sound, f"{name} are not {count} values")
    return tokens


def _whole(found: dict[str, str], name: str, count: int, low: int, high: int) -> np.ndarray:
    tokens = _tokens(found, name, count)
    require(all(re.fullmatch(WHOLE, t) for t in tokens), f"{name} are not whole numbers")
    return whole([int(t) for t in tokens], name, count, low, high)


def _reals(tokens: list[str], name: str, largest: float = 1e300, infinite: bool = False) -> None:
    require(all(re.fullmatch(REAL, token) for token in tokens), f"{name} are not numbers")
    real([float(token) for token in tokens], name, len(tokens), largest, infinite)


class _Tree:
    """The lines of a tree, checked one after the other, and those that are to be written."""

    def __init__(self, text: str, place: int) -> None:
        self.place, self.found = place, _lines(text, f"Tree={place}")
        self.lines: dict[str, str] = {}

    def whole(self, name: str, count: int, low: int, high: int) -> np.ndarray:
        numbers = _whole(self.found, name, count, low, high)
        self.lines[name] = " ".join(map(str, numbers.tolist()))
        return numbers

    def real(self, name: str, count: int, largest: float = 1e300, infinite: bool = False) -> None:
        tokens = _tokens(self.found, name, count)
        _reals(tokens, name, largest, infinite)
        self.lines[name] = " ".join(tokens)  # to the digit

    def text(self) -> str:
        odd = sorted(self.found)
        require(not odd, f"a tree has the lines {odd!r:.80}, which this version does not know")
        lines = [f"{name}={value}" for name, value in self.lines.items()]
        return "\n".join([f"Tree={self.place}", *lines, "", "", ""])


def _tree(text: str, place: int, levels: list[int | None]) -> str:
    tree = _Tree(text, place)
    # A tree is no larger than its text.
    leaves = int(tree.whole("num_leaves", 1, 1, len(text))[0])
    splits = leaves - 1
    kinds = int(tree.whole("num_cat", 1, 0, splits)[0])
    feature = tree.whole("split_feature", splits, 0, len(levels) - 1)
    tree.real("split_gain", splits)
    tree.real("threshold", splits, infinite=True)
    decision = tree.whole("decision_type", splits, 0, 11)  # the types of missing are 0, 1 and 2
    left = tree.whole("left_child", splits, -leaves, splits - 1)
    right = tree.whole("right_child", splits, -leaves, splits - 1)
    tree.real("leaf_value", leaves, LARGEST_LOGIT)
    for name in LEAVES[1:]:
        alone = leaves == 1 and not tree.found.get(name)  # a tree without splits has none
        tree.real(name, 0 if alone else leaves)
    for name in WITHIN:
        tree.real(name, splits)
    _check_nodes(left, right, leaves)
    _check_categories(tree, feature, decision, kinds, levels)
    if tree.whole("is_linear", 1, 0, 1)[0]:
        _check_lines(tree, leaves, len(levels))
    tree.real("shrinkage", 1)
    return tree.text()


def _check_nodes(left: np.ndarray, right: np.ndarray, leaves: int) -> None:
    """Raise unless splits are a tree that ends in each leaf once."""
    children = np.sort(np.concatenate([left, right]))
    each = np.concatenate([np.arange(-leaves, 0), np.arange(1, leaves - 1)])
    if leaves > 1:
        sound = bool((children == each).all()) and bool(reached(left, right).all())
        require(sound, "a tree does not lead to each node once")


def _check_categories(
    tree: _Tree, feature: np.ndarray, decision: np.ndarray, kinds: int, levels: list[int | None]
) -> None:
    """Raise unless splits by categories have a set of them each."""
    which = np.flatnonzero(decision & CATEGORY)
    sound = all(levels[f] is not None for f in feature[which].tolist())
    require(sound, "a tree splits a number by categories")
    sets = [tree.lines["threshold"].split(" ")[split] for split in which]
    sound = len(sets) == kinds and sorted(sets) == sorted(map(str, range(kinds)))
    require(sound, "splits by categories have not one set of them each")
    if not kinds:
        return
    ends = tree.whole("cat_boundaries", kinds + 1, 0, len(tree.found.get("cat_threshold", "")))
    words = len(_tokens({**tree.found}, "cat_threshold"))
    sound = ends[0] == 0 and ends[-1] == words and bool((np.diff(ends) > 0).all())
    require(sound, "cat_boundaries do not follow one another")
    tree.whole("cat_threshold", words, 0, 2**32 - 1)


def _check_lines(tree: _Tree, leaves: int, width: int) -> None:
    """Read the linear models of leaves: of each its features, a space after each and at the end."""
    tree.real("leaf_const", leaves, LARGEST_LOGIT)
    most = len(tree.found.get("leaf_features", ""))
    counts = tree.whole("num_features", leaves, 0, most)
    for name in LINES[2:]:
        require(name in tree.found, f"{name} is missing")
        tokens = tree.found.pop(name).split()
        require(len(tokens) == counts.sum(), f"{name} are not {counts.sum()} values")
        if name == "leaf_features":
            sound = all(re.fullmatch(WHOLE, t) for t in tokens)
            require(sound, f"{name} are not whole numbers")
            whole([int(t) for t in tokens], name, len(tokens), 0, width - 1)
        else:
            _reals(tokens, name, LARGEST_LOGIT)
        parts = np.split(np.array(tokens, dtype=object), np.cumsum(counts)[:-1])
        tree.lines[name] = "".join("".join(f"{t} " for t in part) + " " for part in parts)
