"""Files whose checksum fits and whose numbers, kinds or parts do not: refused, field by field."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
import torch
from sklearn.pipeline import make_pipeline

from otfair import (
    FairDecisions,
    OTFClassifier,
    ScoreColumn,
    TableEncoder,
    load_dataset,
    load_model,
    save_model,
)
from otfair._io import storage
from otfair.cli import main
from otfair.saving._models import KNOWN, _describe

COLUMNS = ["income", "sector"]


@pytest.fixture(scope="module")
def data():
    return load_dataset("synthetic", n=200)


@pytest.fixture(scope="module")
def pipeline(data):
    model = make_pipeline(TableEncoder().set_output(transform="pandas"), OTFClassifier(alpha=0))
    return model.fit(data.X[COLUMNS], data.y)


@pytest.fixture(scope="module")
def rule(data):
    fair = FairDecisions(ScoreColumn("p"), max_difference=0.2, cv=2, confidence=None)
    table = data.X[COLUMNS].assign(p=np.linspace(0, 1, 200))
    return fair.fit(table, data.y, sensitive_features=data.sensitive_features[["sex"]])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def stored(model):
    tensors = {}
    return storage.pack({"model": _describe(model)}, KNOWN, tensors), tensors


def write(path, content, tensors):
    text = json.dumps(content)
    metadata = {"format": "otfair", "version": "1", "content": text}
    metadata["sha256"] = storage._digest(text, tensors)
    path.write_bytes(storage.safetensors.torch.save(tensors, metadata))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["coef_", "intercept_", "_mean", "_spread", "0.mean", "1.scale"])
def test_numbers_that_are_none_are_refused(pipeline, path, name, value):
    # A NaN among coefficients was a prediction of 0 for everybody, without a word.
    content, tensors = stored(pipeline)
    (place,) = [key for key in tensors if key.endswith(f".{name}")]
    tensors[place] = tensors[place].clone()
    tensors[place].view(-1)[0] = value
    write(path, content, tensors)
    with pytest.raises(ValueError, match="has 1 values that are no numbers"):
        load_model(path)


def test_the_command_line_refuses_them_in_a_line(data, pipeline, path, capsys):
    content, tensors = stored(pipeline)
    (place,) = [key for key in tensors if key.endswith(".coef_")]
    tensors[place] = tensors[place] * np.nan
    write(path, content, tensors)
    table = path.with_name("people.csv")
    data.X[COLUMNS].to_csv(table, index=False)
    assert main(["predict", str(path), str(table), "--json"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "does not hold what otfair writes (coef_ has" in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.reshape(-1), r"coef_ is not an array of shape \(1, "),
        (lambda t: t[:, 1:], "coef_ is not an array of shape"),
        (lambda t: t.float(), "coef_ is of float32"),
        (lambda t: t.long(), "coef_ is of int64"),
        (lambda t: t.bool(), "coef_ is of bool"),
    ],
)
def test_arrays_of_other_shapes_and_types_are_refused(pipeline, path, change, message):
    content, tensors = stored(pipeline)
    (place,) = [key for key in tensors if key.endswith(".coef_")]
    tensors[place] = change(tensors[place]).clone()
    write(path, content, tensors)
    with pytest.raises(ValueError, match=message):
        load_model(path)


def encoder(content):
    return content["model"]["steps"][0][1]["fitted"]


def column(content, place):
    return next(iter(encoder(content)["columns_"][place].values()))


def learnt(content):
    return content["model"]["steps"][1][1]["fitted"]


def steps(content):
    return content["model"]["steps"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: learnt(c).update(classes_={"$objects": [0, 0]}), r"classes_ are \[0, 0\]"),
        (lambda c: learnt(c).update(classes_={"$objects": [0, [1]]}), "classes_ are"),
        (lambda c: learnt(c).update(classes_={"$objects": [0, None]}), "classes_ are"),
        (lambda c: learnt(c).update(classes_={"$objects": [0, {"$float": "nan"}]}), "classes_ are"),
        (lambda c: learnt(c).update(n_features_in_=10**400), "n_features_in_ is"),
        (lambda c: learnt(c).update(n_features_in_=True), "n_features_in_ is True"),
        (lambda c: learnt(c).update(alpha_="strong"), "alpha_ is 'strong'"),
        (lambda c: learnt(c).update(n_iter_=2**70), "n_iter_ is"),
        (lambda c: learnt(c).update(converged_=1), "converged_ is 1"),
        (lambda c: learnt(c).update(history_={"$range": [0, 9]}), "history_ is range"),
        (lambda c: learnt(c).update(judgement_={}), "judgement_ is no Judgement"),
        (lambda c: learnt(c)["judgement_"]["$Judgement"].update(n="x"), "Judgement has n 'x'"),
        (lambda c: learnt(c)["judgement_"]["$Judgement"].update(limits=[]), "limits"),
        (lambda c: encoder(c).update(feature_names_in_={"$objects": ["a", "a"]}), "a name twice"),
        (lambda c: encoder(c).update(feature_names_in_={"$objects": ["a", "b"]}), "other names"),
        (lambda c: column(c, 1)["levels"]["$tuple"].pop(), "mean is not an array of shape"),
        (lambda c: column(c, 1)["levels"]["$tuple"].__setitem__(0, 1), "are not text"),
        (lambda c: column(c, 1).update(levels={"$tuple": ["a"] * 5}), "has a value twice"),
        (lambda c: column(c, 1).update(levels={"$tuple": []}), "becomes nothing"),
        (lambda c: column(c, 0).update(missing=0), "EncodedColumn has missing 0"),
        (lambda c: column(c, 0).update(name="\x1b[2J"), "other names"),
        (lambda c: c.update(licence="mine"), r"it has the keys \['licence'\], which this version"),
        (lambda c: c["model"].update(nested={}), r"it has the parts \['nested'\], which this"),
        (lambda c: steps(c)[1][1].update({"\x1b[2J": 1}), "it has the parts .*, which this"),
        (lambda c: steps(c).reverse(), "a step can't transform"),
        (lambda c: steps(c).append(["more", "passthrough"]), "a step can't transform"),
        (lambda c: steps(c)[0].__setitem__(0, steps(c)[1][0]), "its steps have no names"),
        (lambda c: steps(c)[1][1].update(routing=[]), "its routed methods have no names"),
        (lambda c: steps(c)[1][1].update(routing={"fly": {}}), r"has the routed methods \['fly'\]"),
        (lambda c: steps(c)[1][1]["settings"].update(
            module={"$NotStored": {"setting": "notion", "kind": "x"}}), "is no setting that a"),
        (lambda c: steps(c)[1][1]["settings"].update(
            module={"$NotStored": {"setting": "module", "kind": "\x1b[31m"}}), "is no setting"),
        (lambda c: steps(c)[1][1]["settings"].update(
            notion={"$Stack": {"first": 1, "second": 2}}), "a stack is of notions"),
    ],
)  # fmt: skip
def test_fields_of_other_kinds_are_refused(pipeline, path, change, message):
    content, tensors = stored(pipeline)
    change(content)
    write(path, content, tensors)
    with pytest.raises(ValueError, match=message) as caught:
        load_model(path)
    assert str(caught.value).isprintable()


def test_steps_that_do_not_fit_one_another_are_refused(data, pipeline, path):
    other = OTFClassifier(alpha=0).fit(data.X[["income"]], data.y)
    save_model(path, make_pipeline(pipeline[0], other))
    with pytest.raises(ValueError, match="a step takes other columns than the one before it"):
        load_model(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": "anything"}, "target is 'anything'"),
        ({"ties": ["together"]}, r"ties is \['together'\]"),
        ({"use_sensitive": 1}, "use_sensitive is 1"),
        ({"use_sensitive": True}, "calibration_ is missing"),
        ({"threshold": 2}, "its threshold is not between 0 and 1"),
        ({"threshold": "x"}, "could not convert string"),
        ({"cost_false_positive": 1, "cost_false_negative": -1}, "ZeroDivisionError"),
        ({"randomize": 1}, "randomize is 1"),
        ({"retrain": 1}, "retrain is 1"),
        ({"group_estimator": 3}, "it has a `group_estimator`"),
    ],
)
def test_settings_of_a_rule_that_decide_are_checked(rule, path, change, message):
    content, tensors = stored(rule)
    content["model"]["settings"].update(change)
    write(path, content, tensors)
    with pytest.raises(ValueError, match=message):
        load_model(path)


@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, None])
def test_the_seed_of_numbers_is_a_count(rule, path, seed):
    content, tensors = stored(rule)
    content["model"]["settings"]["ties"] = "random"
    content["model"]["fitted"]["seed_"] = seed
    write(path, content, tensors)
    with pytest.raises(ValueError, match="random_state is"):
        load_model(path)
    # Files before had the setting alone.
    del content["model"]["fitted"]["seed_"]
    write(path, content, tensors)
    assert load_model(path).seed_ == 0


@pytest.mark.parametrize("name", ["absent", 3, -1, True, None, ["p"]])
def test_the_column_of_scores_is_there(rule, path, name):
    content, tensors = stored(rule)
    content["model"]["nested"]["estimator_"]["settings"]["column"] = name
    write(path, content, tensors)
    with pytest.raises(ValueError, match=r"there is no column .* of scores"):
        load_model(path)


@pytest.mark.parametrize("name", ["duals_", "0.coef", "0.intercept"])
def test_numbers_of_a_rule_that_are_none_are_refused(rule, path, name):
    content, tensors = stored(rule)
    (place,) = [key for key in tensors if key.startswith("model.fitted") and key.endswith(name)]
    tensors[place] = torch.full_like(tensors[place], np.nan)
    write(path, content, tensors)
    with pytest.raises(ValueError, match="values that are no numbers"):
        load_model(path)


def test_parts_of_a_rule_must_be_of_one_table(rule, path):
    content, tensors = stored(rule)
    classifier = content["model"]["nested"]["estimator_"]["fitted"]
    for change, message in (
        ({"feature_names_in_": {"$objects": ["p", "q", "r"]}}, "estimator_ has other columns"),
        ({"classes_": {"$objects": ["no", "yes"]}}, "estimator_ has other classes"),
    ):
        before = copy.deepcopy(classifier)
        classifier.update(change)
        write(path, content, tensors)
        with pytest.raises(ValueError, match=message):
            load_model(path)
        classifier.update(before)


# What is not sound is not saved, and what has no score is not a prediction


def test_a_model_with_numbers_that_are_none_is_not_saved(data, path):
    model = OTFClassifier(alpha=0).fit(data.X[["income"]], data.y)
    model.coef_[0, 0] = np.nan
    with pytest.raises(ValueError, match=r"is not fitted whole \(coef_ has 1 values"):
        model.save(path)
    with pytest.raises(ValueError, match="the model has no score for 200 of 200 rows"):
        model.predict(data.X[["income"]])


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.filterwarnings("ignore:invalid value")
def test_numbers_that_overflow_are_no_scores(data):
    X = data.X[["income"]].astype(float)
    model = OTFClassifier(alpha=0).fit(X, data.y)
    model.coef_[:], model.intercept_[:] = 1e300, np.inf
    X.iloc[0] = -1e300  # infinity less infinity
    with pytest.raises(ValueError, match="has no score for 1 of 200 rows: its numbers, or those"):
        model.predict_proba(X)
    assert model.predict(X[1:]).all()


# The record beside a model, which the command line reads


@pytest.mark.parametrize(
    "change",
    [
        {"label": None},
        {"label": {"negative": [], "positive": 1}},
        {"features": ["income"]},
        {"features": {"income": {}}},
        {"kinds": {"sex": "\x1b[31m"}},
        {"kinds": ["sex"]},
    ],
)
def test_a_record_of_other_kinds_is_refused(data, pipeline, path, capsys, change):
    pipeline_of = {"income": "number", "sector": "text"}
    sound = {"label": {"negative": "no", "positive": "yes"}, "features": pipeline_of, "kinds": {}}
    save_model(path, pipeline)
    table = path.with_name("people.csv")
    data.X[COLUMNS].to_csv(table, index=False)
    for record, code in ((sound, 0), (sound | change, 1)):
        path.with_name("model.json").write_text(json.dumps(record))
        assert main(["predict", str(path.parent), str(table), "--threshold", "0.5"]) == code
    said = capsys.readouterr().err
    assert "model.json is damaged, or was not written by `otfair fit`" in said
