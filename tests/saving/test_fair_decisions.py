"""Saved fair decisions: the same rule, with the classifier in the file or given back."""

from __future__ import annotations

import copy
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from otfair import (
    FairDecisions,
    OTFBoostingClassifier,
    OTFClassifier,
    ScoreColumn,
    TableEncoder,
    load_dataset,
    load_model,
    save_model,
)
from otfair._io import storage
from otfair.saving._models import KNOWN, _describe

FEW = ["income", "sector", "debt_ratio"]


@pytest.fixture(scope="module")
def data():
    return load_dataset("synthetic", n=600)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rule.safetensors"


def line(**settings):
    return make_pipeline(TableEncoder(), OTFClassifier(alpha=0, max_iter=30, **settings))


def fitted(data, estimator, sensitive="sex", **settings):
    settings = {"max_difference": 0.2, "cv": 2, "confidence": None} | settings
    model = FairDecisions(estimator, **settings)
    return model.fit(data.X[FEW], data.y, sensitive_features=data.sensitive_features[[sensitive]])


def assert_same_rule(a, b, X, **sensitive):
    np.testing.assert_array_equal(
        a.decision_function(X, **sensitive), b.decision_function(X, **sensitive)
    )
    np.testing.assert_array_equal(a.predict(X, **sensitive), b.predict(X, **sensitive))
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))
    pd.testing.assert_frame_equal(a.summary(), b.summary())
    assert a.names_ == b.names_


@pytest.mark.parametrize(
    "settings",
    [
        {"max_difference": 0.05},
        {"max_difference": {"sex": 0.05}, "min_ratio": 0.8, "ties": "random"},
        {"notion": "equalized_odds", "confidence": 0.5, "new_people": np.inf},
        {"target": "scores", "max_difference": 0.02},
        {"cost_false_positive": 2, "cost_false_negative": 1},
        {"notion": "equalized_odds", "max_difference": 0.02, "randomize": True},
    ],
    ids=lambda v: "-".join(v),
)
@pytest.mark.filterwarnings("ignore::otfair.LimitWarning")
def test_a_loaded_rule_decides_the_same_bit_for_bit(data, path, settings):
    fair = fitted(data, line(), **settings)
    fair.save(path)
    for loaded in (FairDecisions.load(path), load_model(path)):
        assert_same_rule(fair, loaded, data.X[FEW])
        assert loaded.max_difference == fair.max_difference
        assert loaded.estimator[-1].get_params() == fair.estimator[-1].get_params()
        with pytest.raises(ValueError, match="a path needs the people of `fit`"):
            loaded.path()


def test_a_classifier_that_was_trained_again_is_in_the_file(data, path, monkeypatch):
    monkeypatch.setattr("otfair.decisions._classifier.helps", lambda *_: True)
    fair = fitted(data, line(), max_difference=0.02, retrain=True)
    fair.save(path)
    loaded = load_model(path)
    assert_same_rule(fair, loaded, data.X[FEW])
    np.testing.assert_array_equal(loaded.prices_, fair.prices_)
    del fair.retrained_
    with pytest.raises(NotFittedError, match="prices_ is alone"):
        fair.save(path)
    foreign = fitted(
        data, make_pipeline(TableEncoder(), LogisticRegression()), max_difference=0.02, retrain=True
    )
    with pytest.raises(ValueError, match="a file can't hold its `retrained_`"):
        foreign.save(path)


@pytest.mark.parametrize("booster", ["xgboost", "lightgbm"])
def test_around_boosted_trees(data, path, booster):
    trees = OTFBoostingClassifier(booster, alpha=0.3, n_estimators=5)
    fair = fitted(data, trees)
    fair.save(path)
    assert_same_rule(fair, load_model(path), data.X[FEW])


def test_with_the_attribute_at_prediction(data, path):
    fair = fitted(data, line(), use_sensitive=True)
    save_model(path, fair)
    sensitive = {"sensitive_features": data.sensitive_features[["sex"]]}
    assert_same_rule(fair, load_model(path), data.X[FEW], **sensitive)


def test_a_number_as_attribute(data, path):
    fair = fitted(data, line(), "age")
    save_model(path, fair)
    assert_same_rule(fair, load_model(path), data.X[FEW])


def test_a_loaded_rule_can_be_fitted_again(data, path):
    fair = fitted(data, line())
    fair.save(path)
    again = FairDecisions.load(path)
    again.fit(data.X[FEW], data.y, sensitive_features=data.sensitive_features[["sex"]])
    assert_same_rule(fair, again, data.X[FEW])


def test_a_prefit_classifier_stays_fitted(data, path):
    model = line().fit(data.X[FEW], data.y)
    fitted(data, model, cv="prefit").save(path)
    again = FairDecisions.load(path)
    again.fit(data.X[FEW], data.y, sensitive_features=data.sensitive_features[["sex"]])
    np.testing.assert_array_equal(
        again.predict_proba(data.X[FEW]), model.predict_proba(data.X[FEW])
    )


def test_another_library_s_classifier_is_given_back(data, path):
    fair = fitted(data, make_pipeline(TableEncoder(), LogisticRegression()))
    fair.save(path)
    assert b"LogisticRegression" not in path.read_bytes()
    for load in (load_model, FairDecisions.load):
        with pytest.raises(ValueError, match="the estimator is a Pipeline, which the file can't "):
            load(path)
        assert_same_rule(fair, load(path, estimator=fair.estimator_), data.X[FEW])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda data: make_pipeline(TableEncoder(), LogisticRegression()), "must be fitted"),
        (lambda data: 3, "must be fitted; received 3"),
        (lambda data: line().fit(data.X, data.y), "its n_features_in_ is 10, and was 3"),
        (lambda data: line().fit(data.X[FEW[::-1]], data.y), "its feature_names_in_ is"),
        (lambda data: line().fit(data.X[FEW], data.y + 1), r"its classes_ is array\(\[1, 2\]\)"),
    ],
    ids=["unfitted", "number", "width", "order", "classes"],
)
def test_what_is_given_back_must_be_what_was_there(data, path, make, message):
    fitted(data, make_pipeline(TableEncoder(), LogisticRegression())).save(path)
    with pytest.raises(ValueError, match=message):
        load_model(path, estimator=make(data))


def test_an_estimator_that_the_file_holds_is_not_given(data, path):
    fair = fitted(data, line())
    fair.save(path)
    with pytest.raises(ValueError, match=r"\['estimator'\] can't be given"):
        load_model(path, estimator=fair.estimator_)


def test_modules_within_are_given_back(data, path):
    import torch

    def net(width):
        return torch.nn.Sequential(torch.nn.Linear(width, 2), torch.nn.Linear(2, 1))

    fair = fitted(data, line(module=net, epochs=1))
    fair.save(path)
    with pytest.raises(ValueError, match="estimator__otfclassifier__module"):
        load_model(path)
    loaded = load_model(path, estimator__otfclassifier__module=net)
    assert_same_rule(fair, loaded, data.X[FEW])


def test_a_group_model_of_one_s_own_can_not_be_saved(data, path):
    own = make_pipeline(TableEncoder(), LogisticRegression())
    fair = fitted(data, line(), group_estimator=own)
    with pytest.raises(ValueError, match="a file can't hold its `group_models_`"):
        fair.save(path)
    assert not path.exists()


def test_requests_for_metadata_come_back(data, path):
    fair = fitted(data, line())
    with config_context(enable_metadata_routing=True):
        fair.set_fit_request(sensitive_features="s").set_predict_request(sensitive_features=True)
        fair.save(path)
        loaded = load_model(path)
        wanted = loaded.get_metadata_routing()._serialize()["$self_request"]
        assert wanted == fair.get_metadata_routing()._serialize()["$self_request"]


@pytest.mark.slow
def test_a_new_process_needs_no_import_but_the_class(data, path):
    fair = fitted(data, line())
    fair.save(path)
    code = (
        f"from otfair.decisions import FairDecisions; m = FairDecisions.load({str(path)!r}); "
        "print(type(m.estimator_[-1]).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "OTFClassifier"


# Files made by others


@pytest.fixture(scope="module")
def stored(data):
    tensors = {}
    plain = _describe(fitted(data, line(), max_difference=0.05))
    for _, step in plain["nested"]["estimator_"]["steps"]:
        step["fitted"].get("history_", [])[3:] = []
    return storage.pack({"model": plain}, KNOWN, tensors), tensors


def write_raw(path, content, tensors):
    text = json.dumps(content)
    metadata = {"format": "otfair", "version": "1", "content": text}
    metadata["sha256"] = storage._digest(text, tensors)
    path.write_bytes(storage.safetensors.torch.save(tensors, metadata))


def part(content, name):
    return content["model"]["nested"][name]


def move(content, name, other):
    content["model"]["nested"][other] = content["model"]["nested"].pop(name)


def learnt(content):
    return content["model"]["fitted"]


def first(content, name):
    return next(iter(learnt(content)[name][0].values()))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: part(c, "estimator_").update({"class": "os.system"}), "it is a 'os.system'"),
        (lambda c: c["model"]["nested"].update(evil={}), r"estimators \['evil'\]"),
        (lambda c: c["model"].update(nested=[1]), "its estimators have no names"),
        (lambda c: c["model"]["nested"].pop("estimator_"), "estimator_ can't predict"),
        (lambda c: c["model"]["nested"].pop("encoder_"), "encoder_ is no TableEncoder"),
        (lambda c: move(c, "encoder_", "estimator_"), "encoder_ is no TableEncoder"),
        (lambda c: move(c, "estimator_", "encoder_"), "no TableEncoder"),
        (lambda c: move(c, "encoder_", "group_models_"), "encoder_ is no TableEncoder"),
        (lambda c: c["model"]["nested"].update(encoder_=part(c, "estimator_")), "uses it twice"),
        (lambda c: learnt(c).update(rows_=[]), "rows_ is no list of Row"),
        (lambda c: learnt(c)["rows_"].append("x"), "rows_ is no list of Row"),
        (lambda c: first(c, "rows_").update(share="x"), "Row has share 'x'"),
        (lambda c: first(c, "rows_").update(part=True), "Row has part True"),
        (lambda c: first(c, "rows_").update(kind="y"), "a row of the kind 'y'"),
        (lambda c: learnt(c)["rows_"].pop(), "duals_ is not an array of shape"),
        (lambda c: learnt(c).update(duals_={"$range": [0, 10**6]}), "duals_ is not an array"),
        (lambda c: learnt(c).update(blocks_=None), "blocks_ is no list"),
        (lambda c: first(c, "blocks_").update(rows={"$tuple": [0, 7]}), "blocks_ has rows"),
        (lambda c: first(c, "blocks_").update(coef=None), "coef is not an array of shape"),
        (lambda c: first(c, "blocks_").update(is_group=False), "a number of several rows"),
        (lambda c: first(c, "groups_").update(people="many"), "GroupRate has people 'many'"),
        (lambda c: learnt(c).update(classes_=[0, 1]), "classes_ is not an array"),
        (lambda c: learnt(c).update(_sample=1), r"attributes \['_sample'\]"),
        (lambda c: c["model"]["settings"].update(evil=1), r"settings \['evil'\]"),
    ],
)
def test_content_of_others_is_refused(stored, path, change, message):
    content, tensors = copy.deepcopy(stored[0]), stored[1]
    write_raw(path, content, tensors)
    load_model(path)
    change(content)
    write_raw(path, content, tensors)
    if message is None:  # it is never used
        load_model(path)
        return
    with pytest.raises(ValueError, match=message):
        load_model(path)


def test_a_classifier_within_that_is_cut_short_is_refused(stored, path):
    content, tensors = copy.deepcopy(stored[0]), stored[1]
    part(content, "estimator_")["steps"][1][1]["fitted"].pop("coef_")
    write_raw(path, content, tensors)
    with pytest.raises(ValueError, match="coef_ is not an array"):
        load_model(path)


def test_files_without_estimators_within_are_still_read(data, path):
    # As they were written before there were any.
    model = ScoreColumn("income").fit(data.X[["income"]] * 0, data.y)
    content, tensors = {"model": _describe(model)}, {}
    del content["model"]["nested"]
    write_raw(path, storage.pack(content, KNOWN, tensors), tensors)
    assert load_model(path).column == "income"
