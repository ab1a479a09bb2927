"""A trade-off curve on Dask collections has the figures of one machine, for the same split."""

import dask.dataframe as dd
import numpy as np
import pytest
from partitions import FEATURES, people

import otfair
from otfair.models._parted_curve import _uniform
from otfair.tradeoff import METRICS, Judge

pytestmark = pytest.mark.filterwarnings("ignore:training stopped")


def test_the_figures_of_a_curve_are_the_same(workers):
    both = people(300, partitions=2)
    frame = both.here
    columns, alphas = [*FEATURES, "race"], [0.0, 0.6]
    line = otfair.OTFClassifier(balance=5.0, max_iter=2, weigh="people")
    given = both.there
    curve = otfair.tradeoff_curve(
        given[columns], given["y"], sensitive_features=given[["sex", "race"]], estimator=line,
        alphas=alphas, random_state=3, n_bootstrap=10,
    )  # fmt: skip
    test = _uniform(np.arange(len(frame), dtype=np.uint64), 3) < 0.2
    assert 30 < test.sum() < 90
    parts = {"train": frame[~test], "test": frame[test]}
    encoder = otfair.TableEncoder().fit(parts["train"][columns])
    Z = {name: encoder.transform(part[columns]) for name, part in parts.items()}
    train = parts["train"]
    models = list(line.fit_path(Z["train"], train["y"], train[["sex", "race"]], alphas))
    for name, part in parts.items():
        judge = Judge(Z[name], part["y"].to_numpy(), part[["sex", "race"]], models[0], 10)
        for k, model in enumerate(models):
            expected = judge(model)
            for metric in (f"{m}{end}" for m in METRICS for end in ("", "_low", "_high")):
                found = curve[f"{name}_{metric}"][k]
                assert found == pytest.approx(expected[metric], rel=1e-8, abs=1e-9), metric
    assert (curve["test_auc_high"] > curve["test_auc_low"]).all()


def test_a_split_does_not_depend_on_the_partitions(workers):
    frame = people(60).here.reset_index()
    out = []
    for partitions in (1, 4):
        there = dd.from_pandas(frame, npartitions=partitions)
        found = otfair.models.split_rows({"X": there[["index"]], "y": there["y"]}, 0.3, 0)
        rows = found["test"]["X"].read().gather(lambda part: part["index"].tolist())
        out.append([row for part in rows for row in part])
    assert out[0] == out[1]


def test_a_sample_of_receivers_is_told_of(workers):
    there = people(200, partitions=2).there
    line = otfair.OTFClassifier(balance=5.0, max_iter=2, receivers=60)
    curve = otfair.tradeoff_curve(
        there[FEATURES], there["y"], sensitive_features=there[["sex"]], estimator=line,
        alphas=[0.5], n_bootstrap=0,
    )  # fmt: skip
    told = curve.attrs["receivers"]
    assert told["people"] < told["of"]
    assert told["low"] < told["ratio"] < told["high"]
    assert (curve["test_auc_high"] == curve["test_auc_low"]).all()
