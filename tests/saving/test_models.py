"""Saved models: the same after loading, whatever can't be stored said aloud, no code ever run."""

from __future__ import annotations

import copy
import json
import pickle
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import otfair
from otfair import (
    ConditionalParity,
    CostMatrix,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    LinearNotion,
    NormLoss,
    OTFClassifier,
    PredictiveEquality,
    TableEncoder,
    load_model,
    save_model,
)
from otfair._io import storage
from otfair._io.saved import NotStored
from otfair.saving._models import KNOWN, _describe

N = 120


@pytest.fixture(scope="module")
def data():
    return otfair.load_dataset("synthetic", n=N)


@pytest.fixture(scope="module")
def X(data):
    return TableEncoder().fit_transform(data.X)


@pytest.fixture(scope="module")
def sex(data):
    return data.sensitive_features["sex"].to_numpy()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def net(width):
    return torch.nn.Sequential(
        torch.nn.Linear(width, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU(), torch.nn.Linear(4, 1)
    )


def fitted_state(model):
    """Everything that `fit` sets, as what can be compared."""
    state = {k: v for k, v in vars(model).items() if k not in model.get_params(deep=False)}
    if "module_" in state:
        state["module_"] = weights(model.module_)
    return state


def weights(module):
    tensors = module.state_dict().items()
    return {k: (v.dtype, v.tolist()) if isinstance(v, torch.Tensor) else v for k, v in tensors}


def assert_same_model(a, b, X):
    assert type(a) is type(b)
    assert a.get_params() == b.get_params()
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))
    assert a.predict(X).dtype == b.predict(X).dtype
    # Nothing of the fitted state is left behind, whatever a later version adds to it.
    kept, back = fitted_state(a), fitted_state(b)
    np.testing.assert_equal(back, kept)
    assert {k: getattr(v, "dtype", None) for k, v in kept.items()} == {
        k: getattr(v, "dtype", None) for k, v in back.items()
    }


# Classifiers


@pytest.mark.parametrize(
    "labels",
    [[0, 1], ["no", "yes"], [False, True], [-1.0, 1.0], np.array([1, 2], dtype=np.uint8),
     np.array(["no", "yes"], dtype="<U9"), np.array(["no", "yes"], dtype=object)],
    ids=lambda v: str(np.asarray(v).dtype),
)  # fmt: skip
def test_a_loaded_classifier_is_the_same(X, data, sex, path, labels):
    clf = OTFClassifier("equalized_odds", regularizer="correlation", balance=1.0)
    clf.fit(X, np.asarray(labels)[data.y], sensitive_features=sex)
    clf.save(path)
    loaded = OTFClassifier.load(path)
    assert_same_model(clf, loaded, X)
    assert loaded.classes_.dtype == clf.classes_.dtype
    assert_same_model(clf, load_model(path), X)


def test_a_refit_of_the_loaded_is_a_refit_of_the_original(X, data, sex, path):
    settings = {"balance": 1.0, "max_violation": 1.0, "validation_fraction": 0.3, "random_state": 3}
    clf = OTFClassifier(regularizer="norm", cost_features=(0, 2), **settings)
    clf.fit(X, data.y, sensitive_features=sex).save(path)
    loaded = OTFClassifier.load(path)
    assert_same_model(clf, loaded, X)
    for again in (loaded, clone(OTFClassifier.load(path))):
        assert_same_model(clf.fit(X, data.y, sex), again.fit(X, data.y, sex), X)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_tables_keep_their_names(X, data, path, frame):
    table = frame({f"x{j}": X[:, j] for j in range(X.shape[1])})
    clf = OTFClassifier(alpha=0, cost_features=["x1", "x0"]).fit(table, data.y)
    clf.save(path)
    loaded = OTFClassifier.load(path)
    assert_same_model(clf, loaded, table)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(table[table.columns[::-1]])


@pytest.mark.parametrize(
    "notion",
    [
        "equal_opportunity",
        DemographicParity(continuous=("age",), intersectional=True),
        EqualizedOdds(categorical=["sex", 2]),
        EqualOpportunity(),
        PredictiveEquality(encoded=True),
        ConditionalParity(control="job"),
        DemographicParity() & EqualizedOdds(continuous="age") & "predictive_equality",
    ],
    ids=str,
)
@pytest.mark.parametrize("cost_features", [None, [0, 1], ("a",), range(2)])
def test_settings_that_are_data_come_back(X, data, path, notion, cost_features):
    clf = OTFClassifier(notion, alpha=0, cost_features=cost_features, balance=np.float64(2.0))
    clf.fit(X, data.y).save(path)
    loaded = OTFClassifier.load(path)
    assert loaded.get_params() == clf.get_params()
    assert type(loaded.notion) is type(notion)
    assert type(loaded.cost_features) is type(cost_features)


def test_columns_of_a_table_come_back(X, data, path):
    clf = OTFClassifier(alpha=0, cost_features=pd.Index(["a", "b"])).fit(X, data.y)
    clf.save(path)
    assert OTFClassifier.load(path).cost_features.equals(clf.cost_features)


def by_sum(sensitive, labels):
    return np.where(sensitive == "Female", 1.0, -1.0)[None]


def distances():
    return CostMatrix(np.abs(np.subtract.outer(np.arange(N), np.arange(N))) / N)


@pytest.mark.parametrize(
    ("setting", "value", "needs"),
    [
        ("notion", LinearNotion(by_sum), "unknown notion <notion: LinearNotion, which a saved"),
        ("notion", LinearNotion(by_sum) & "demographic_parity", "unknown notion .*: _Stack"),
        ("geometry", distances(), "`geometry` is missing: .*CostMatrix.*set_params"),
        ("cost_features", iter([0]), "`cost_features` is missing"),
        ("random_state", np.random.RandomState(0), "random_state: RandomState, which"),
        ("module", net, "`module` is missing"),
        ("regularizer", NormLoss(), "unknown regularizer <regularizer: NormLoss, which a saved"),
        ("init", LogisticRegression(), "`init` must be .*received <init: LogisticRegression"),
    ],
    ids=lambda v: v if isinstance(v, str) and v.isidentifier() else "",
)
def test_what_can_not_be_stored_is_missed_only_by_fit(X, data, sex, path, setting, value, needs):
    clf = OTFClassifier(balance=1.0, max_violation=1.0, validation_fraction=0.1, random_state=0)
    clf.fit(X, data.y, sensitive_features=sex).set_params(**{setting: value}).save(path)
    loaded = OTFClassifier.load(path)
    np.testing.assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X))
    assert isinstance(loaded.get_params()[setting], NotStored)
    assert setting in repr(loaded)
    assert setting in loaded._repr_html_()
    with pytest.raises(ValueError, match=needs):
        clone(loaded).fit(X, data.y, sensitive_features=sex)
    with pytest.raises(ValueError, match=needs):
        pickle.loads(pickle.dumps(loaded)).fit(X, data.y, sensitive_features=sex)
    # What stands for it survives another round, and is replaced by the real thing on request.
    loaded.save(path)
    assert OTFClassifier.load(path).get_params() == loaded.get_params()
    assert OTFClassifier.load(path, **{setting: value}).get_params() == clf.get_params()


def test_a_notion_given_back_trains_the_same_model(X, data, sex, path):
    settings = {"notion": LinearNotion(by_sum), "geometry": distances()}
    clf = OTFClassifier(balance=1.0, tol=1e-3, **settings).fit(X, data.y, sex)
    clf.save(path)
    loaded = OTFClassifier.load(path, **settings)
    assert_same_model(clf, loaded, X)
    assert_same_model(clf.fit(X, data.y, sex), loaded.fit(X, data.y, sex), X)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"alpha": 0.1}, r"\['alpha'\] can't be given .* lacks \['notion'\].*set_params"),
        ({"alhpa": 0.1}, "alhpa"),
        ({"module": net}, "module"),
    ],
)
def test_settings_that_the_file_holds_are_not_given(X, data, path, given, message):
    OTFClassifier(LinearNotion(by_sum), alpha=0).fit(X, data.y).save(path)
    with pytest.raises(ValueError, match=message):
        OTFClassifier.load(path, **given)


# Modules


@pytest.fixture(scope="module")
def trained(X, data, sex):
    torch.manual_seed(0)
    settings = {"epochs": 2, "batch_size": 40, "random_state": 5, "regularizer": "norm"}
    settings |= {"balance": 1.0}
    clf = OTFClassifier(alpha=0.2, module=net(X.shape[1]), **settings)
    return clf.fit(X, data.y, sensitive_features=sex)


def test_a_module_is_filled_with_its_weights(X, data, sex, trained, path):
    trained.save(path)
    untouched = weights(trained.module)
    before = torch.random.get_rng_state()
    loaded = OTFClassifier.load(path, module=trained.module)
    assert loaded.module is trained.module
    assert loaded.module_ is not trained.module
    assert weights(trained.module) == untouched
    assert_same_model(trained, loaded, X)
    made = OTFClassifier.load(path, module=net)
    np.testing.assert_array_equal(made.predict_proba(X), trained.predict_proba(X))
    assert torch.equal(before, torch.random.get_rng_state())
    again = copy.copy(trained).fit(X, data.y, sex)
    assert_same_model(again, loaded.fit(X, data.y, sex), X)


def test_a_linear_model_trained_by_adam_needs_no_module(X, data, path):
    clf = OTFClassifier(alpha=0, solver="adam", epochs=2, random_state=0).fit(X, data.y)
    clf.save(path)
    assert_same_model(clf, OTFClassifier.load(path), X)


class Tied(torch.nn.Module):
    """One weight under two names, a buffer, and a state that is no tensor."""

    def __init__(self, width):
        super().__init__()
        self.first = torch.nn.Linear(width, 1).bfloat16()
        self.second = self.first
        self.register_buffer("shift", torch.tensor(0.25, dtype=torch.bfloat16))
        self.note = {"made by": "hand"}

    def forward(self, x):
        return self.first(x) + self.second(x) + self.shift

    def get_extra_state(self):
        return self.note

    def set_extra_state(self, state):
        self.note = state


def test_shared_weights_buffers_and_other_state(X, data, path):
    clf = OTFClassifier(alpha=0, module=Tied, epochs=1, random_state=0).fit(X, data.y)
    clf.module_.note["made by"] = "training"
    clf.save(path)
    loaded = OTFClassifier.load(path, module=Tied)
    assert_same_model(clf, loaded, X)
    assert loaded.module_.first is loaded.module_.second
    assert loaded.module_.note == {"made by": "training"}


def test_a_module_is_asked_for_even_if_the_setting_was_taken_away(X, trained, path):
    clf = copy.deepcopy(trained).set_params(module=None)
    clf.save(path)
    with pytest.raises(ValueError, match=r"`module=...`"):
        OTFClassifier.load(path)
    loaded = OTFClassifier.load(path, module=net)
    np.testing.assert_array_equal(loaded.predict_proba(X), trained.predict_proba(X))


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (None, "of which the file holds the weights but not the code; received None"),
        ("net", "received 'net'"),
        (lambda width: "net", "made 'net', which is not a torch module"),
        (net(3), "size mismatch for 0.weight"),
        (torch.nn.Linear(24, 1), "does not fit the weights of the file.*Missing key"),
        (lambda width: net(width).double(), "0.weight is of torch.float64, and was trained as"),
    ],
)
def test_a_module_that_does_not_fit(trained, path, module, message):
    trained.save(path)
    with pytest.raises(ValueError, match=f"(?s){message}.*Pass the module that was trained"):
        OTFClassifier.load(path, module=module)


def test_an_error_of_the_user_s_function_is_theirs(trained, path):
    def broken(width):
        raise KeyError("theirs")

    trained.save(path)
    with pytest.raises(KeyError, match="theirs"):
        OTFClassifier.load(path, module=broken)


def test_a_module_without_a_module(trained, path):
    trained.save(path)
    with pytest.raises(ValueError, match=r"a Sequential, .*Pass the module .* `module=...`"):
        OTFClassifier.load(path)
    save_model(path, make_pipeline(trained))
    with pytest.raises(ValueError, match=r"`otfclassifier__module=...`"):
        load_model(path)


# Encoders and pipelines


def test_a_loaded_encoder_is_the_same(data, path):
    table = data.X.assign(gap=[None, 1.0] * (N // 2), flag=[True, False] * (N // 2), none=None)
    table["gap text"] = [None, "a=b", "b", "é"] * (N // 4)
    encoder = TableEncoder().fit(table)
    encoder.save(path)
    loaded = TableEncoder.load(path)
    np.testing.assert_array_equal(loaded.transform(table), encoder.transform(table))
    assert loaded.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()
    assert loaded.feature_names_in_.dtype == encoder.feature_names_in_.dtype
    assert set(vars(loaded)) == set(vars(encoder))
    np.testing.assert_array_equal(loaded.transform(table[:3]), encoder.transform(table[:3]))
    assert TableEncoder.load(path).set_output(transform="pandas").transform(table).shape[0] == N


def test_an_encoder_of_arrays_has_no_names(X, path):
    encoder = TableEncoder().fit(X)
    encoder.save(path)
    loaded = TableEncoder.load(path)
    assert not hasattr(loaded, "feature_names_in_")
    np.testing.assert_array_equal(loaded.transform(X), encoder.transform(X))


@pytest.mark.parametrize("output", [None, "pandas", "polars"])
def test_a_pipeline_is_one_file(data, sex, path, output):
    pipeline = make_pipeline(TableEncoder(), "passthrough", OTFClassifier(alpha=0))
    if output:
        pipeline[0].set_output(transform=output)
    pipeline.fit(data.X, data.y, otfclassifier__sensitive_features=sex)
    save_model(path, pipeline)
    assert list(path.parent.iterdir()) == [path]
    loaded = load_model(path)
    np.testing.assert_array_equal(loaded.predict_proba(data.X), pipeline.predict_proba(data.X))
    assert repr(loaded) == repr(pipeline)
    assert list(loaded.named_steps) == list(pipeline.named_steps)
    assert isinstance(clone(loaded), Pipeline)


def test_pipelines_in_pipelines(data, X, trained, path):
    inner = Pipeline([("net", trained)], verbose=False)
    pipeline = Pipeline([("encode", TableEncoder().fit(data.X)), ("last", inner)])
    save_model(path, pipeline)
    loaded = load_model(path, last__net__module=net)
    np.testing.assert_array_equal(loaded.predict_proba(data.X), trained.predict_proba(X))
    with pytest.raises(ValueError, match=r"\['net__module'\] can't .*\['last__net__module'\]"):
        load_model(path, net__module=net)


def test_requests_for_metadata_come_back(data, sex, path):
    with config_context(enable_metadata_routing=True):
        clf = OTFClassifier(regularizer="norm", balance=1.0)
        clf.set_fit_request(sensitive_features="groups").set_score_request(sample_weight=True)
        pipeline = make_pipeline(TableEncoder(), clf).fit(data.X, data.y, groups=sex)
    save_model(path, pipeline)
    loaded = load_model(path)
    assert str(loaded[-1].get_metadata_routing()) == str(clf.get_metadata_routing())
    with config_context(enable_metadata_routing=True):
        again = clone(loaded).fit(data.X, data.y, groups=sex)
    np.testing.assert_array_equal(again.predict_proba(data.X), pipeline.predict_proba(data.X))


def test_a_cache_is_not_stored(data, path, tmp_path):
    # A cache holds pickles: a file must not be able to name one.
    pipeline = Pipeline([("c", TableEncoder())], memory=str(tmp_path / "cache")).fit(data.X)
    save_model(path, pipeline)
    assert load_model(path).memory is None
    assert "cache" not in path.read_bytes().decode(errors="replace")


# What can't be saved, and where


class Sub(OTFClassifier):
    pass


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (OTFClassifier, NotFittedError, "OTFClassifier is not fitted yet; call `fit` before"),
        (TableEncoder, NotFittedError, "TableEncoder is not fitted yet"),
        (lambda: make_pipeline(TableEncoder(), OTFClassifier()), NotFittedError, "TableEncoder is"),
        (LogisticRegression, ValueError, "can't save a sklearn.*LogisticRegression.*TableEncoder"),
        (lambda: make_pipeline(StandardScaler()), ValueError, "can't save a .*StandardScaler"),
        (Sub, ValueError, "can't save a .*Sub"),
        (lambda: OTFClassifier, ValueError, "can't save"),
        (lambda: None, ValueError, "can't save a .*received None"),
    ],
)
def test_what_can_not_be_saved(path, make, error, message):
    with pytest.raises(error, match=message):
        save_model(path, make())
    assert not path.exists()


def test_a_fit_that_failed_halfway_is_not_saved(X, data, path):
    clf = OTFClassifier()
    with pytest.raises(ValueError, match="sensitive_features"):
        clf.fit(X, data.y)
    with pytest.raises(NotFittedError, match="is not fitted"):
        clf.save(path)
    assert not path.exists()


def test_where_nothing_can_be_saved(data, tmp_path):
    encoder = TableEncoder().fit(data.X)
    with pytest.raises(IsADirectoryError, match="is a folder; name a file in it"):
        encoder.save(tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        encoder.save(str(tmp_path / "absent" / "model.safetensors"))
    with pytest.raises(FileNotFoundError):
        TableEncoder.load(tmp_path / "absent")


def test_a_file_of_another_class(data, trained, path):
    TableEncoder().fit(data.X).save(path)
    with pytest.raises(
        ValueError, match=r"received TableEncoder, expected OTFClassifier.*load_model"
    ):
        OTFClassifier.load(path)
    trained.save(path)  # said before the module is asked for
    with pytest.raises(ValueError, match="received OTFClassifier, expected TableEncoder"):
        TableEncoder.load(path)
    with pytest.raises(ValueError, match="expected Sub"):
        Sub.load(path)


# Files made by others


@pytest.fixture(scope="module")
def pipeline(data):
    clf = OTFClassifier(DemographicParity() & "equalized_odds", alpha=0, max_iter=20)
    return make_pipeline(TableEncoder(), clf).fit(data.X[["income", "sector"]], data.y)


def places(content, place=()):
    """Every place in nested dicts and lists."""
    yield place
    if isinstance(content, dict | list):
        keys = list(content) if isinstance(content, dict) else range(len(content))
        for key in keys:
            yield from places(content[key], (*place, key))


def stored(pipeline):
    tensors = {}
    plain = _describe(pipeline)
    for _, step in plain["steps"]:
        step["fitted"].get("history_", [])[3:] = []
    return storage.pack({"model": plain}, KNOWN, tensors), tensors


def write_raw(path, content, tensors):
    text = json.dumps(content)
    metadata = {"format": "otfair", "version": "1", "content": text}
    metadata["sha256"] = storage._digest(text, tensors)
    path.write_bytes(storage.safetensors.torch.save(tensors, metadata))


BAD = [None, 3, -1.5, "os.system", [], {}, ["x", 1], {"x": 1}, {"$Pipeline": {}}, {"$tuple": 3}]


def test_a_damaged_model_is_refused(data, pipeline, path):
    save_model(path, pipeline)
    sound, table = path.read_bytes(), data.X[["income", "sector"]]
    rng = np.random.default_rng(0)
    for _ in range(300):
        damaged = bytearray(sound)
        damaged[rng.integers(len(sound))] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        try:
            again = load_model(path)
        except ValueError:
            continue
        np.testing.assert_array_equal(again.predict_proba(table), pipeline.predict_proba(table))


def test_anything_put_anywhere_loads_or_is_a_value_error(data, pipeline, path):
    # With a checksum to match: only the reading itself stands between the file and the program.
    content, tensors = stored(pipeline)
    everywhere, refused = list(places(content))[1:], 0
    for i, place in enumerate(everywhere):
        changed = copy.deepcopy(content)
        target = changed
        for key in place[:-1]:
            target = target[key]
        for bad in (BAD[i % len(BAD)], BAD[(i // 3) % len(BAD)], BAD[(i // 7) % len(BAD)]):
            target[place[-1]] = bad
            write_raw(path, changed, tensors)
            try:
                load_model(path)
            except ValueError:
                refused += 1
    assert refused > 1.2 * len(everywhere)


LONG = {"$range": [0, 10**6]}  # costs nothing, unless somebody makes a list of it


def classifier_of(content):
    return content["model"]["steps"][1][1]


def rename(content, name):
    classifier_of(content)["class"] = name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: rename(c, "subprocess.Popen"), "it is a 'subprocess.Popen', not one of"),
        (lambda c: rename(c, "TableEncoder"), "does not know"),
        (lambda c: rename(c, ["OTFClassifier"]), "does not hold what otfair writes"),
        (lambda c: classifier_of(c)["settings"].update(evil=1), r"settings \['evil'\]"),
        (lambda c: classifier_of(c)["fitted"].update(predict=1), r"attributes \['predict'\]"),
        (lambda c: classifier_of(c)["fitted"].update(__class__=1), "__class__"),
        (lambda c: classifier_of(c).update(settings=LONG), "its settings have no names"),
        (lambda c: classifier_of(c).update(fitted=LONG), "its fitted attributes have no names"),
        (lambda c: c["model"].update(steps=LONG), "does not hold"),
        (lambda c: classifier_of(c)["fitted"].pop("classes_"), "classes_ is not an array"),
        (lambda c: classifier_of(c)["fitted"].update(n_features_in_=10**12), r"\(1000000000000,\)"),
        (lambda c: classifier_of(c)["fitted"].update(module_="x"), "module_ holds no weights"),
        (lambda c: classifier_of(c).update(routing={"fit": {"X__": True}}), "does not hold"),
        (lambda c: classifier_of(c).update(output="/etc"), "its output is '/etc'"),
        (lambda c: c["model"]["settings"].update(memory="/tmp"), r"settings \['memory'\]"),
        (lambda c: c["model"]["steps"].append(["x", "y"]), "does not hold"),
        (lambda c: c["model"]["steps"].append([3, None]), "its steps have no names"),
    ],
)  # fmt: skip
def test_content_of_others_is_refused(pipeline, path, change, message):
    content, tensors = stored(pipeline)
    write_raw(path, content, tensors)
    load_model(path)
    change(content)
    write_raw(path, content, tensors)
    with pytest.raises(ValueError, match=message):
        load_model(path)


def test_settings_that_an_older_version_lacked_get_their_default(pipeline, path):
    content, tensors = stored(pipeline)
    del classifier_of(content)["settings"]["batch_size"]
    write_raw(path, content, tensors)
    assert load_model(path)[-1].batch_size == OTFClassifier().batch_size


def test_loading_runs_no_code(pipeline, path):
    save_model(path, pipeline)
    load_model(path)  # whatever is imported late, is imported now
    seen, listening = [], True

    def hook(event, arguments):
        if listening and event.partition(".")[0] in ("import", "exec", "compile", "pickle", "os"):
            seen.append((event, arguments))

    sys.addaudithook(hook)
    load_model(path)
    after, listening = list(seen), False
    assert after == []
    listening = True  # the hook hears what it should
    pickle.loads(pickle.dumps(OTFClassifier()))
    listening = False
    assert seen


def test_the_file_is_readable_by_people(pipeline, path):
    save_model(path, pipeline)
    with storage.safetensors.safe_open(path, framework="np") as file:
        content = json.loads(file.metadata()["content"])
        coef = file.get_tensor("model.steps.1.1.fitted.coef_")
    assert content["otfair"] == otfair.__version__
    assert content["model"]["steps"][1][1]["settings"]["alpha"] == 0
    np.testing.assert_array_equal(coef, pipeline[-1].coef_)


def test_every_fitted_attribute_is_known(X, data, trained):
    # Or else saving would leave it behind.
    line = OTFClassifier(alpha=0).fit(X, data.y)
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    for model in (line, trained, OTFClassifier(alpha=0).fit(table, data.y), TableEncoder().fit(X)):
        new = set(vars(model)) - set(model.get_params()) - set(model._fitted)
        assert not new, f"add {new} to `_fitted`"
