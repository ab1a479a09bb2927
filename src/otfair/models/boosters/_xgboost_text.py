"""XGBoost's JSON, read and written anew: nothing is kept that is not understood.

What is there is what XGBoost 3 writes for one target and the logistic objective. Another field is
an error, as it may change what the trees mean.
"""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from otfair._io.checks import LARGEST_LOGIT, check_parts, require
from otfair.models.boosters._trees import reached, real, whole

MOST_PARTS = 2_000_000  # lists and objects: those of some hundred thousand trees
OLDEST = 3  # version; others mean other things by some fields
NO_NODE = 2**31 - 1  # XGBoost's mark: no parent, and the feature of a node that was pruned
ATTRIBUTES = {"best_iteration": r"\d{1,9}", "best_score": r"-?\d[\d.]{0,30}(e-?\d{1,3})?"}
OBJECTIVE = {"name": "binary:logistic", "reg_loss_param": {"scale_pos_weight": "1"}}
# Those of a data frame, which is never given.
NO_CATEGORIES: dict[str, list[int]] = {"enc": [], "feature_segments": [], "sorted_idx": []}
TREE = (
    "base_weights", "categories", "categories_nodes", "categories_segments", "categories_sizes",
    "default_left", "id", "left_children", "loss_changes", "parents", "right_children",
    "split_conditions", "split_indices", "split_type", "sum_hessian", "tree_param",
)  # fmt: skip


def rewritten(text: str, levels: list[int | None]) -> str:
    """Return the model of a text; of each feature `levels` are its categories, None for numbers."""
    check_parts(text, MOST_PARTS)
    root = _fields(json.loads(text), "the model", ("learner", "version"))
    names = ("attributes", "feature_names", "feature_types", "gradient_booster",
             "learner_model_param", "objective")  # fmt: skip
    learner = _fields(root["learner"], "the learner", names)
    require(learner["objective"] == OBJECTIVE, "its objective is not the logistic one")
    kinds = ["q" if count is None else "c" for count in levels]
    require(learner["feature_types"] == kinds, "its types of features are not those of the table")
    clean = {
        "attributes": _attributes(learner["attributes"]),
        "feature_names": _names(learner["feature_names"], len(levels)),
        "feature_types": kinds,
        "gradient_booster": _booster(learner["gradient_booster"], levels),
        "learner_model_param": _parameters(learner["learner_model_param"], len(levels)),
        "objective": OBJECTIVE,
    }
    version = whole(root["version"], "its version", 3, 0, 9999).tolist()
    require(version[0] >= OLDEST, f"it is of XGBoost {version[0]}, and {OLDEST} is the oldest")
    whole_model = {"learner": clean, "version": version}
    return json.dumps(whole_model, separators=(",", ":"), ensure_ascii=False)


def _fields(
    value: Any, what: str, names: tuple[str, ...], maybe: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return a JSON object that has these fields, and no others."""
    require(isinstance(value, dict), f"{what} has no fields")
    odd = sorted(set(names) ^ (set(value) - set(maybe)))
    require(not odd, f"{what} lacks the fields {odd}, or should not have them")
    return dict(value)


def _number(value: Any, what: str, low: int, high: int) -> int:
    """Return a whole number that is written as text."""
    written = isinstance(value, str) and re.fullmatch(r"[0-9]{1,10}", value) is not None
    require(written and low <= int(value) <= high, f"{what} is {value!r:.50}")
    return int(value)


def _attributes(found: Any) -> dict[str, str]:
    require(isinstance(found, dict), "its attributes have no names")
    for name, value in found.items():
        sound = name in ATTRIBUTES and isinstance(value, str)
        sound = sound and re.fullmatch(ATTRIBUTES[name], value) is not None
        require(sound, f"its attribute {name!r:.50} is {value!r:.50}")
    return dict(found)


def _names(found: Any, count: int) -> list[str]:
    """Return the names of features; there are none where XGBoost refuses those of the table."""
    require(isinstance(found, list), "its names of features are no list")
    sound = all(isinstance(n, str) and n.isprintable() for n in found)
    sound = sound and len(set(found)) == len(found)
    require(sound and len(found) in (0, count), "its names of features are not one for each")
    return list(found)


def _parameters(found: Any, width: int) -> dict[str, str]:
    names = ("base_score", "boost_from_average", "num_class", "num_feature", "num_target")
    found = _fields(found, "learner_model_param", names)
    start = found["base_score"]
    number = r"[0-9][0-9.]{0,30}(E-?[0-9]{1,3})?"
    match = re.fullmatch(rf"{number}|\[{number}\]", start) if isinstance(start, str) else None
    sound = match is not None and 0 < float(start.strip("[]")) < 1
    require(sound, f"its base_score is {start!r:.50}")
    _number(found["boost_from_average"], "boost_from_average", 0, 1)
    _number(found["num_class"], "num_class", 0, 0)
    _number(found["num_feature"], "num_feature", width, width)
    _number(found["num_target"], "num_target", 1, 1)
    return {name: found[name] for name in names}


def _booster(found: Any, levels: list[int | None]) -> dict[str, Any]:
    found = _fields(found, "its booster", ("model", "name"))
    require(found["name"] == "gbtree", f"its booster is {found['name']!r:.50}")
    names = ("gbtree_model_param", "iteration_indptr", "tree_info", "trees")
    model = _fields(found["model"], "its booster", names, ("cats",))
    trees = model["trees"]
    require(isinstance(trees, list), "its trees are no list")
    count = len(trees)
    given = _fields(
        model["gbtree_model_param"], "gbtree_model_param", ("num_parallel_tree", "num_trees")
    )
    at_once = _number(given["num_parallel_tree"], "num_parallel_tree", 1, max(count, 1))
    _number(given["num_trees"], "num_trees", count, count)
    rounds = list(range(0, count + 1, at_once))
    require(model["iteration_indptr"] == rounds and rounds[-1] == count, "its rounds are not whole")
    clean = {
        "gbtree_model_param": {"num_parallel_tree": str(at_once), "num_trees": str(count)},
        "iteration_indptr": rounds,
        "tree_info": whole(model["tree_info"], "tree_info", count, 0, 0).tolist(),
        "trees": [_tree(tree, k, levels) for k, tree in enumerate(trees)],
    }
    if "cats" in model:
        require(model["cats"] == NO_CATEGORIES, "it has categories of its own")
        clean["cats"] = NO_CATEGORIES
    return {"model": clean, "name": "gbtree"}


def _tree(found: Any, place: int, levels: list[int | None]) -> dict[str, Any]:
    tree = _fields(found, "a tree", TREE)
    require(tree["id"] == place and type(tree["id"]) is int, f"tree {place} has another number")
    names = ("num_deleted", "num_feature", "num_nodes", "size_leaf_vector")
    given = _fields(tree["tree_param"], "a tree", names)
    width = len(levels)
    require(isinstance(tree["left_children"], list), "left_children are no list")
    n = _number(given["num_nodes"], "num_nodes", 1, len(tree["left_children"]))
    _number(given["num_feature"], "num_feature", width, width)
    _number(given["size_leaf_vector"], "size_leaf_vector", 0, 1)
    clean: dict[str, np.ndarray] = {}
    for name in ("left_children", "right_children"):
        clean[name] = whole(tree[name], name, n, -1, n - 1)
    for name in ("default_left", "split_type"):
        clean[name] = whole(tree[name], name, n, 0, 1)
    for name in ("parents", "split_indices"):
        clean[name] = whole(tree[name], name, n, 0, NO_NODE)
    for name in ("base_weights", "loss_changes", "sum_hessian"):
        clean[name] = real(tree[name], name, n)
    # XGBoost before 3.2 writes NaN where a split is by categories.
    unused = clean["split_type"] == 1
    clean["split_conditions"] = real(
        tree["split_conditions"], "split_conditions", n, infinite=True, unused=unused
    )
    gone = _check_nodes(clean, width)
    _number(given["num_deleted"], "num_deleted", gone, gone)
    numbers = {name: array.tolist() for name, array in clean.items()}
    numbers |= _categories(tree, clean, levels)
    return {**numbers, "id": place, "tree_param": given}


def _check_nodes(tree: dict[str, np.ndarray], width: int) -> int:
    """Raise unless nodes are a tree on these features; return how many were pruned."""
    left, right, parents = tree["left_children"], tree["right_children"], tree["parents"]
    leaf = left == -1
    require(bool((leaf == (right == -1)).all()), "a node has one child")
    there = reached(left, right)
    splits = np.flatnonzero(~leaf)
    require(bool(there[splits].all()), "a tree has splits that nothing leads to")
    sound = parents[0] == NO_NODE and (parents[left[splits]] == splits).all()
    require(bool(sound and (parents[right[splits]] == splits).all()), "parents do not match")
    feature = tree["split_indices"]
    require(bool((feature[there] < width).all()), "a tree splits by a feature that is not there")
    # XGBoost's mark of a node that was pruned is all bits of these two.
    pruned = (feature == NO_NODE) & (tree["default_left"] == 1)
    require(bool(pruned[~there].all()), "a tree has nodes that nothing leads to")
    values = np.abs(tree["split_conditions"])
    require(bool((values[leaf] <= LARGEST_LOGIT).all()), f"a leaf is beyond {LARGEST_LOGIT:.0e}")
    return int((~there).sum())


def _categories(
    found: dict[str, Any], tree: dict[str, np.ndarray], levels: list[int | None]
) -> dict[str, list[int]]:
    """Return the categories that splits send to the right, checked."""
    splits = np.flatnonzero(tree["split_type"] == 1)
    require(bool((tree["left_children"][splits] >= 0).all()), "a leaf splits by categories")
    counts = [levels[feature] for feature in tree["split_indices"][splits]]
    nodes = whole(found["categories_nodes"], "categories_nodes", len(splits), 0, NO_NODE)
    require(bool((nodes == splits).all()), "categories_nodes are not the splits by categories")
    given = found["categories"]
    require(isinstance(given, list), "categories are no list")
    sizes = whole(found["categories_sizes"], "categories_sizes", len(splits), 1, len(given))
    starts = whole(found["categories_segments"], "categories_segments", len(splits), 0, len(given))
    ends = np.cumsum(sizes)
    follow = bool((starts == ends - sizes).all()) and int(sizes.sum()) == len(given)
    require(follow, "categories do not follow one another")
    categories = whole(given, "categories", len(given), 0, NO_NODE)
    for count, start, end in zip(counts, starts, ends):
        inside = count is not None and categories[start:end].max() < max(count, 1)
        require(bool(inside), "a tree splits by a category that is not there")
    return {
        "categories": categories.tolist(),
        "categories_nodes": nodes.tolist(),
        "categories_segments": starts.tolist(),
        "categories_sizes": sizes.tolist(),
    }
