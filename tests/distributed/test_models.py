"""Classifiers trained on Dask collections are those of one machine."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from partitions import FEATURES, people
from sklearn.pipeline import make_pipeline

import otfair

pytestmark = pytest.mark.filterwarnings("ignore:training stopped")  # a few steps are enough
# The optimiser goes the same way from both; rounding grows on it, to about 1e-11 of a weight.
SAME = {"rtol": 1e-8, "atol": 1e-9}


def both_fitted(both, sensitive=("sex",), weight=None, **settings):
    out = []
    for side in (both.here, both.there):
        model = otfair.OTFClassifier(**settings)
        w = {} if weight is None else {"sample_weight": side[weight]}
        out.append(model.fit(side[FEATURES], side["y"], sensitive_features=side[[*sensitive]], **w))
    return out


def assert_same(a, b):
    np.testing.assert_allclose(b.coef_, a.coef_, **SAME)
    np.testing.assert_allclose(b.intercept_, a.intercept_, **SAME)
    assert b.violation_ == pytest.approx(a.violation_, rel=1e-8)
    assert b.judgement_.violations == pytest.approx(a.judgement_.violations, rel=1e-8)
    assert (b.judgement_.n, b.n_iter_) == (a.judgement_.n, a.n_iter_)
    assert [r["loss"] for r in b.history_] == pytest.approx([r["loss"] for r in a.history_])
    assert b.balance_ == pytest.approx(a.balance_, rel=1e-8)


@pytest.mark.parametrize(
    "settings",
    [
        {"alpha": 0},
        {"alpha": 0.5, "balance": 2.0, "sensitive": ("sex", "race"), "weight": "w"},
        {"alpha": 0.7, "balance": 1.0, "notion": "predictive_parity"},
        {"alpha": 0.5, "balance": 1.0, "cost_features": ["x0"], "cost": "mahalanobis"},
    ],
    ids=str,
)
def test_a_line_is_the_same(workers, settings):
    a, b = both_fitted(people(200, partitions=2), max_iter=3, **settings)
    assert_same(a, b)


def test_a_balance_that_is_found_is_the_same(workers, monkeypatch):
    monkeypatch.setattr(otfair.models._training, "HALVINGS", 2)  # not for long
    a, b = both_fitted(people(200, partitions=2), alpha=0.5, max_iter=2)
    assert a.balance_ != 1
    assert_same(a, b)


def test_scores_of_rows_on_workers_are_lazy_and_the_same(workers, tmp_path):
    both = people(100)
    a, b = both_fitted(both, alpha=0)
    X, Xd = both[FEATURES]
    for name in ("decision_function", "predict_proba", "predict"):
        found = getattr(b, name)(Xd)
        assert hasattr(found, "compute")
        np.testing.assert_allclose(found.compute(), getattr(a, name)(X), **SAME)
    b.save(tmp_path / "model")  # which is no other than one of one machine
    again = otfair.OTFClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(again.coef_, b.coef_)


def test_a_table_is_encoded_the_same(workers):
    rng = np.random.default_rng(0)
    n = 90
    table = pd.DataFrame(
        {
            "pay": np.where(rng.uniform(size=n) < 0.2, np.nan, 1e6 + rng.normal(size=n)),
            "job": rng.choice(["cook", "clerk", None], n),
            "old": rng.uniform(size=n) < 0.5,
            "one": 7,
            "years": rng.integers(0, 40, n),
        }
    )
    w = pd.Series(rng.integers(0, 3, n).astype(float), name="w")
    there = dd.from_pandas(table.assign(w=w), npartitions=4)
    for weight, far in ((None, None), (w, there["w"])):
        a = otfair.TableEncoder().fit(table, sample_weight=weight)
        b = otfair.TableEncoder().fit(there[list(table.columns)], sample_weight=far)
        assert list(a.get_feature_names_out()) == list(b.get_feature_names_out())
        Z = b.transform(there[list(table.columns)]).compute()
        np.testing.assert_allclose(Z, a.transform(table), rtol=1e-8, atol=1e-9)


def test_a_pipeline_and_people_who_lack_a_value(workers):
    both = people(200, partitions=2)
    here = both.here.assign(sex=both.here["sex"].where(both.here.index % 9 > 0, None))
    there = dd.from_pandas(here, npartitions=2)
    out = []
    for side in (here, there):
        line = otfair.OTFClassifier(alpha=0.5, balance=1.0, max_iter=3)
        pipe = make_pipeline(otfair.TableEncoder(), line)
        sensitive = {"otfclassifier__sensitive_features": side[["sex"]]}
        out.append(pipe.fit(side[[*FEATURES, "race"]], side["y"], **sensitive)[-1])
    assert out[0].n_missing_sensitive_ == out[1].n_missing_sensitive_ > 0
    assert_same(*out)


def test_past_a_number_of_people_a_sample_of_them_receives_score(workers, monkeypatch):
    for module in (otfair.models._parted_data, otfair.models._parted_receivers):
        monkeypatch.setattr(module, "COMPARISONS", 10**4)
    monkeypatch.setattr(otfair.models._parted_receivers, "default_size", lambda n: 100)
    both = people(300, partitions=2)
    model = otfair.OTFClassifier(alpha=0.6, balance=100.0, max_iter=8)
    side = both.there
    model.fit(side[FEATURES], side["y"], sensitive_features=side[["sex"]])
    free = otfair.OTFClassifier(alpha=0).fit(
        both.here[FEATURES], both.here["y"], sensitive_features=both.here[["sex"]]
    )
    assert model.violation_ < free.violation_
    assert model.receivers_["people"] == 100
    assert model.receivers_["high"] > model.receivers_["low"] > 0.5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"solver": "adam"}, "L-BFGS trains a line"),
        ({"regularizer": "norm"}, "the penalty is OTF"),
        ({"bounded": True}, "`bounded` is for one machine"),
    ],
)
def test_what_is_for_one_machine_is_refused(workers, settings, message):
    side = people(40, partitions=2).there
    model = otfair.OTFClassifier(**settings)
    with pytest.raises(TypeError, match=message):
        model.fit(side[FEATURES], side["y"], sensitive_features=side[["sex"]])


def test_a_sample_of_receivers_and_what_it_does(workers):
    both = people(600)
    a, b = (
        otfair.OTFClassifier(alpha=0.5, balance=5.0, max_iter=4, receivers=100, random_state=0)
        for _ in range(2)
    )
    a.fit(both.here[FEATURES], both.here["y"], both.here[["sex", "race"]], both.here["w"])
    b.fit(both.there[FEATURES], both.there["y"], both.there[["sex", "race"]], both.there["w"])
    assert a.receivers_["people"] == b.receivers_["people"] < 120
    assert b.receivers_ == pytest.approx(a.receivers_, rel=1e-8)
    assert b.receivers_["high"] > b.receivers_["ratio"] > 1
    np.testing.assert_allclose(b.coef_, a.coef_, rtol=1e-8, atol=1e-9)


def test_all_receive_by_default(workers):
    both = people(120)
    line = otfair.OTFClassifier(alpha=0.5, balance=5.0, max_iter=2)
    line.fit(both.there[FEATURES], both.there["y"], both.there[["sex"]])
    told = {"people": 120, "of": 120, "ratio": 1.0, "low": 1.0, "high": 1.0}
    assert line.receivers_ == told
