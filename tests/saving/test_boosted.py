"""Boosted trees in a file: the same trees to the digit, and no others reach the booster's code."""

from __future__ import annotations

import json

import numpy as np
import pytest

from otfair import OTFBoostingClassifier, load_dataset, load_model, save_model
from otfair._io import storage
from otfair.models.boosters import BOOSTERS, booster_of
from otfair.saving._models import KNOWN, _describe

N = 240


@pytest.fixture(scope="module")
def data():
    return load_dataset("synthetic", n=N)


@pytest.fixture(scope="module")
def table(data):
    X = data.X[["income", "late_payments", "sector", "area"]].copy()
    X["late_payments"] = X["late_payments"].astype(float).where(np.arange(N) % 5 > 0)
    X["many"] = [f"c{i * 37 % 70}" for i in range(N)]
    X["of gaps"] = np.where(np.arange(N) % 3 > 0, 1.0, np.nan)
    return X


def fitted(booster, table, data, **settings):
    settings = {"n_estimators": 4, "n_jobs": 1, "random_state": 0, "alpha": 0} | settings
    return OTFBoostingClassifier(booster, **settings).fit(
        table, data.y, sensitive_features=data.sensitive_features[["sex"]]
    )


def trees_of(booster):
    """What the native booster writes of its trees."""
    if hasattr(booster, "save_raw"):
        return booster.save_raw("json")
    return booster.model_to_string().partition("\nfeature_importances")[0]


SPLITS = {"max_cat_to_onehot": 1, "max_depth": 3}
WAYS = [
    ("xgboost", SPLITS),
    ("xgboost", {"alpha": 0.3}),
    ("xgboost", {"num_parallel_tree": 2, "subsample": 0.5, "max_leaves": 5}),
    ("xgboost", {"early_stopping_rounds": 2, "n_estimators": 20}),
    ("xgboost", {"gamma": 1e9}),  # no split
    ("lightgbm", SPLITS | {"min_data_per_group": 1}),
    ("lightgbm", {"alpha": 0.3}),
    ("lightgbm", {"linear_tree": True}),
    ("lightgbm", {"boosting": "dart"}),
    ("lightgbm", {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}),
    ("lightgbm", {"early_stopping_rounds": 2, "n_estimators": 20}),
    ("lightgbm", {"monotone_constraints": [1, 0, 0, 0, 0, 0]}),
    ("lightgbm", {"min_gain_to_split": 1e9}),  # no split
]


@pytest.mark.parametrize(("booster", "settings"), WAYS)
def test_trees_of_every_kind_come_back_to_the_digit(table, data, tmp_path, booster, settings):
    model = fitted(booster, table, data, **settings)
    path = tmp_path / "model.safetensors"
    save_model(path, model)
    loaded = load_model(path)
    np.testing.assert_array_equal(loaded.predict_proba(table), model.predict_proba(table))
    np.testing.assert_array_equal(loaded.feature_importances_, model.feature_importances_)
    assert trees_of(loaded.booster_) == trees_of(model.booster_)
    save_model(path, loaded)  # what was written anew can be read again
    assert load_model(path).model_text_ == loaded.model_text_


def test_nodes_that_were_pruned_come_back(table, data, tmp_path):
    numbers = table[["income", "late_payments", "of gaps"]]
    model = fitted("xgboost", numbers, data, tree_method="exact", gamma=2.0)
    assert '"num_deleted":"0"' not in model.model_text_
    save_model(tmp_path / "m", model)
    assert trees_of(load_model(tmp_path / "m").booster_) == trees_of(model.booster_)
    content = json.loads(model.model_text_)
    tree = content["learner"]["gradient_booster"]["model"]["trees"][0]
    tree["default_left"][-1] = 0  # XGBoost would not count it as pruned
    with pytest.raises(ValueError, match="nodes that nothing leads to"):
        BOOSTERS["xgboost"].rewritten(json.dumps(content), [None] * 3)


@pytest.mark.parametrize("booster", BOOSTERS)
@pytest.mark.parametrize(
    "name", ["two\nlines", "a\tb", "", "[0]", "Tree=0", "ünï😀", "a b", "\x1b"]
)
def test_any_name_of_a_column(table, data, tmp_path, booster, name):
    few = table[["income", "sector"]].rename(columns={"income": name})
    model = fitted(booster, few, data, n_estimators=2)
    save_model(tmp_path / "m", model)
    loaded = load_model(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict_proba(few), model.predict_proba(few))


# Trees that others have changed


@pytest.fixture(scope="module")
def texts(table, data):
    settings = {"xgboost": SPLITS, "lightgbm": SPLITS | {"min_data_per_group": 1}}
    return {name: fitted(name, table, data, **settings[name]).model_text_ for name in BOOSTERS}


@pytest.fixture(scope="module")
def levels(table):
    return [None, None, table["sector"].nunique(), table["area"].nunique(), 70, None]


def tree(change):
    """Change the first tree of XGBoost."""

    def changed(text):
        content = json.loads(text)
        change(content["learner"]["gradient_booster"]["model"]["trees"][0])
        return json.dumps(content)

    return changed


def put(name, place, value):
    return tree(lambda tree: tree[name].__setitem__(place, value))


def learner(change):
    def changed(text):
        content = json.loads(text)
        change(content["learner"])
        return json.dumps(content)

    return changed


def first_leaf(tree):
    return tree["left_children"].index(-1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("left_children", 0, 99999999), "left_children are not from"),
        (put("left_children", 0, 2), "leads to a node twice"),
        (put("left_children", 1, 0), "leads to a node twice"),
        (put("left_children", 0, -1), "a node has one child"),
        (put("left_children", 0, 1.5), "left_children are not whole numbers"),
        (put("left_children", 0, [1]), "left_children are not whole numbers"),
        (put("left_children", 0, 10**30), "left_children are not whole numbers"),
        (put("parents", 1, 5), "parents do not match"),
        (put("parents", 0, 0), "parents do not match"),
        (put("split_indices", 0, 6), "a feature that is not there"),
        (put("split_indices", 0, 2**31 - 1), "a feature that is not there"),
        (
            tree(lambda t: t["split_conditions"].__setitem__(first_leaf(t), float("nan"))),
            "split_cond",
        ),
        (put("base_weights", 0, 1e39), "base_weights are not numbers of at most"),
        (
            tree(lambda t: t["split_conditions"].__setitem__(first_leaf(t), 1e35)),
            "a leaf is beyond",
        ),
        (
            tree(lambda t: t["split_conditions"].__setitem__(first_leaf(t), float("inf"))),
            "a leaf is",
        ),
        (tree(lambda t: t["split_type"].__setitem__(first_leaf(t), 1)), "a leaf splits by categ"),
        (put("split_type", 0, 2), "split_type are not from 0 to 1"),
        (put("categories", 0, 70), "a category that is not there"),
        (put("categories", 0, 2**30), "a category that is not there"),
        (put("categories_sizes", 0, 1), "categories do not follow one another"),
        (put("categories_nodes", 0, 1000), "categories_nodes are not the splits"),
        (tree(lambda t: t["categories"].append(0)), "categories do not follow"),
        (tree(lambda t: t["sum_hessian"].pop()), "sum_hessian are not"),
        (put("sum_hessian", 0, "9" * 10**6), "sum_hessian are not numbers"),
        (put("parents", 0, True), "parents are not whole numbers"),
        (lambda text: text.replace('"version":[3', '"version":[0'), "of XGBoost 0, and 3 is"),
        (learner(lambda c: c["learner_model_param"].update(base_score="[.5")), "base_score is"),
        (tree(lambda t: t.pop("id")), r"lacks the fields \['id'\]"),
        (tree(lambda t: t.update(more=1)), r"\['more'\], or should not have"),
        (tree(lambda t: t["tree_param"].update(num_nodes="9999999999")), "num_nodes is '9999"),
        (tree(lambda t: t["tree_param"].update(num_deleted="1")), "num_deleted is '1'"),
        (tree(lambda t: t["tree_param"].update(num_nodes="\u0663")), "num_nodes is"),
        (tree(lambda t: t.clear()), "a tree lacks"),
        (learner(lambda c: c["objective"].update(name="reg:gamma")), "not the logistic one"),
        (learner(lambda c: c.update(feature_types=["q"] * 6)), "not those of the table"),
        (learner(lambda c: c.update(feature_names=["a", "b"])), "not one for each"),
        (learner(lambda c: c.update(attributes={"x": "y"})), "its attribute 'x' is 'y'"),
        (learner(lambda c: c["gradient_booster"].update(name="dart")), "its booster is 'dart'"),
        (learner(lambda c: c["learner_model_param"].update(base_score="2")), "base_score is '2'"),
        (learner(lambda c: c["learner_model_param"].update(num_feature="3")), "num_feature is '3'"),
        (lambda text: text[:1000], "Unterminated|delimiter|Expecting"),
        (lambda text: "[" + text + "]", "no text of xgboost or lightgbm"),
        (lambda text: "{}", "the model lacks the fields"),
    ],
)
def test_changed_trees_of_xgboost(texts, levels, change, message):
    text = texts["xgboost"]
    assert BOOSTERS["xgboost"].rewritten(text, levels)
    with pytest.raises(ValueError, match=message):
        booster_of(change(text)).rewritten(change(text), levels)


def line(name, change):
    """Change the first line of a name in LightGBM's text."""

    def changed(text):
        before, value, after = text.partition(f"\n{name}=")
        old, end, rest = after.partition("\n")
        new = change if isinstance(change, str) else change(old)
        return before + value + new + end + rest

    return changed


def token(name, place, value):
    def changed(old):
        tokens = old.split(" ")
        tokens[place] = value
        return " ".join(tokens)

    return line(name, changed)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (line("num_leaves", "99999999"), "num_leaves are not from"),
        (line("num_leaves", "3"), "split_feature are not 2 values"),
        (line("num_leaves", "-1"), "num_leaves are not from"),
        (line("num_leaves", "0x8"), "num_leaves are not whole numbers"),
        (line("num_leaves", "٣"), "num_leaves are not whole numbers"),
        (line("num_cat", "0"), "not one set of them each"),
        (token("left_child", 0, "0"), "does not lead to each node once"),
        (token("left_child", 0, "-99"), "left_child are not from"),
        (token("left_child", 0, "99"), "left_child are not from"),
        (line("left_child", lambda old: f"{old} 1"), "left_child are not"),
        (token("split_feature", 0, "6"), "split_feature are not from 0 to 5"),
        (token("threshold", 0, "nan"), "threshold are not numbers"),
        (token("threshold", 0, "x"), "threshold are not numbers"),
        (token("leaf_value", 0, "1e31"), "leaf_value are not numbers of at most 1e\\+30"),
        (token("leaf_value", 0, "inf"), "leaf_value are not numbers"),
        (token("leaf_value", 0, "1_0"), "leaf_value are not numbers"),
        (token("decision_type", 0, "12"), "decision_type are not from 0 to 11"),
        (line("cat_boundaries", lambda old: old[:-1] + "9"), "cat_boundaries"),
        (token("cat_boundaries", 0, "1"), "cat_boundaries do not follow"),
        (token("cat_threshold", 0, "4294967296"), "cat_threshold are not from"),
        (line("is_linear", "1"), "leaf_const is missing"),
        (line("shrinkage", ""), "shrinkage are not 1 values"),
        (line("Tree", "7"), "it has 'Tree=7' for 'Tree=0'"),
        (line("num_class", "2"), "its num_class is not 1"),
        (line("max_feature_idx", "2147483647"), "its max_feature_idx is not 5"),
        (line("objective", "custom"), "its objective is not the logistic one"),
        (line("feature_names", "a b"), "feature_names are not 6 values"),
        (line("feature_infos", "none"), "feature_infos are not 6 values"),
        (token("feature_infos", 0, "[0:x]"), "feature_infos are not ranges"),
        (lambda text: text.replace("version=v4", "version=v3"), "its version is not v4"),
        (lambda text: text.replace("\nnum_cat=", "\nnum_cat=0\nnum_cat=", 1), "or has it twice"),
        (lambda text: text.replace("\nnum_cat=", "\nmore=1\nnum_cat=", 1), r"\['more'\]"),
        (lambda text: text.replace("label_index=0\n", "label_index=0\nmore=1\n"), r"\['more'\]"),
        (lambda text: text.replace("label_index=0\n", "junk\n"), "it has the line 'junk'"),
        (lambda text: text.partition("\nend of trees")[0], "its trees have no end"),
        (lambda text: text.replace("\nTree=1", "\n" * 10**6 + "x\nTree=1"), "has the line ''"),
    ],
)
def test_changed_trees_of_lightgbm(texts, levels, change, message):
    text = texts["lightgbm"]
    assert BOOSTERS["lightgbm"].rewritten(text, levels)
    assert change(text) != text
    with pytest.raises(ValueError, match=message):
        BOOSTERS["lightgbm"].rewritten(change(text), levels)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (token("num_features", 0, "9"), "num_features are not from|are not"),
        (line("leaf_features", "77"), "leaf_features are not"),
        (token("leaf_const", 0, "nan"), "leaf_const are not numbers"),
    ],
)
def test_changed_lines_of_leaves(table, data, levels, change, message):
    text = fitted("lightgbm", table, data, linear_tree=True).model_text_
    assert BOOSTERS["lightgbm"].rewritten(text, levels)
    with pytest.raises(ValueError, match=message):
        BOOSTERS["lightgbm"].rewritten(change(text), levels)


def test_infinite_thresholds_come_back(table, data, levels):
    changed = json.loads(fitted("xgboost", table, data, max_depth=1, n_estimators=1).model_text_)
    (tree,) = changed["learner"]["gradient_booster"]["model"]["trees"]
    tree.update(split_indices=[0, 0, 0], split_type=[0, 0, 0])
    for name in ("categories", "categories_nodes", "categories_segments", "categories_sizes"):
        tree[name] = []
    for threshold, leaf in ((float("inf"), 1), (-float("inf"), 2)):
        tree["split_conditions"][0] = threshold
        text = BOOSTERS["xgboost"].rewritten(json.dumps(changed), levels)
        logits = BOOSTERS["xgboost"].from_text(text, 0.0).logits(np.ones((1, 6)))
        tree["split_conditions"][3 - leaf] = tree["split_conditions"][leaf]
        text = BOOSTERS["xgboost"].rewritten(json.dumps(changed), levels)
        assert logits == BOOSTERS["xgboost"].from_text(text, 0.0).logits(np.ones((1, 6)))


def test_a_tree_without_an_end_in_depth(texts, levels):
    # Boosters measure the depth of a tree by recursion: a chain of a million splits is a crash.
    content = json.loads(texts["xgboost"])
    model = content["learner"]["gradient_booster"]["model"]
    tree, splits = model["trees"][0], 3000
    n = 2 * splits + 1
    odd = [i % 2 == 1 for i in range(n)]  # the right child of each split, a leaf
    tree["left_children"] = [-1 if o or i == n - 1 else i + 2 for i, o in enumerate(odd)]
    tree["right_children"] = [-1 if o or i == n - 1 else i + 1 for i, o in enumerate(odd)]
    tree["parents"] = [2**31 - 1, *(i - 1 if o else i - 2 for i, o in enumerate(odd) if i)]
    for name in ("base_weights", "loss_changes", "sum_hessian", "split_conditions"):
        tree[name] = [0.0] * n
    for name in ("default_left", "split_type", "split_indices"):
        tree[name] = [0] * n
    for name in ("categories", "categories_nodes", "categories_sizes", "categories_segments"):
        tree[name] = []
    tree["tree_param"].update(num_nodes=str(n))
    with pytest.raises(ValueError, match="a tree is deeper than 2000 splits"):
        BOOSTERS["xgboost"].rewritten(json.dumps(content), levels)


@pytest.mark.parametrize("booster", BOOSTERS)
def test_a_text_that_the_installed_version_can_not_read(table, data, tmp_path, booster):
    save_model(tmp_path / "m", fitted(booster, table, data))
    loaded = load_model(tmp_path / "m")
    loaded.model_text_ = loaded.model_text_[:30]
    with pytest.raises(ValueError, match=f"the version of {booster} that is installed") as caught:
        loaded.predict(table)
    assert "\n" not in str(caught.value)


# In a file


def write(path, model, change):
    """Write a model with another text, and a checksum that fits."""
    tensors = {}
    content = storage.pack({"model": _describe(model)}, KNOWN, tensors)
    change(content["model"]["fitted"])
    text = json.dumps(content)
    metadata = {"format": "otfair", "version": "1", "content": text}
    metadata["sha256"] = storage._digest(text, tensors)
    path.write_bytes(storage.safetensors.torch.save(tensors, metadata))


@pytest.mark.parametrize(
    ("booster", "change"),
    [
        ("xgboost", put("left_children", 0, 99999999)),  # was a segmentation fault
        ("lightgbm", line("num_leaves", "99999999")),  # was an abort
        ("lightgbm", lambda text: text.replace("version=v4", "version=vv")),  # was printed
        ("xgboost", lambda text: ""),
    ],
)
def test_a_file_with_changed_trees_is_refused_in_silence(
    table, data, tmp_path, capfd, booster, change
):
    model, path = fitted(booster, table, data, **SPLITS), tmp_path / "model.safetensors"

    def tamper(learnt):
        learnt["model_text_"] = change(learnt["model_text_"])

    write(path, model, tamper)
    capfd.readouterr()
    with pytest.raises(ValueError, match="does not hold what otfair writes") as caught:
        load_model(path)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("offset", [None, "0", True, float("nan"), 1e40])
def test_where_trees_start_is_a_number(table, data, tmp_path, offset):
    model, path = fitted("lightgbm", table, data), tmp_path / "model.safetensors"
    write(path, model, lambda learnt: learnt.update(offset_=offset))
    with pytest.raises(ValueError, match=r"offset_ is|NaN, which is no number"):
        load_model(path)


@pytest.mark.parametrize("booster", ["xgboost", "lightgbm"])
@pytest.mark.parametrize("name", ["dom\\user", "\\u0041", "a[b]<c", 'a "b": {c}', "größe"])
def test_whatever_columns_are_called_the_model_can_be_saved(booster, name, table, data, tmp_path):
    renamed = table.rename(columns={"income": name})
    model = fitted(booster, renamed, data)
    save_model(tmp_path / "m.safetensors", model)
    loaded = load_model(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(loaded.predict_proba(renamed), model.predict_proba(renamed))
