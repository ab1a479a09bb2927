"""Boosted trees on the partitions of Dask collections, against one machine."""

import sys
from pathlib import Path

import cloudpickle
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import xgboost

import otfair
from otfair._io.processes import ALONE
from otfair.losses import Share
from otfair.models import _boosting_dask
from otfair.models._boosting_workers import WorkerObjective, Workers, _places

pytest.importorskip("xgboost")
SMALL = {"n_estimators": 8, "max_depth": 3, "n_jobs": 1, "random_state": 0}
FAIR = {"alpha": 0.7, "balance": 100.0}


@pytest.fixture(scope="module")
def data():
    """A table of numbers and categories, labels, two sensitive columns and weights."""
    made = otfair.load_dataset("synthetic", n=600)
    frame = made.X.reset_index(drop=True)
    y = pd.Series(np.where(made.y, "yes", "no"), name="y")
    S = made.sensitive_features[["sex", "origin"]].reset_index(drop=True)
    w = pd.Series(np.random.default_rng(0).integers(1, 4, len(y)).astype(float), name="w")
    return frame, y, S, w


def there(values, partitions=5):
    return dd.from_pandas(values, npartitions=partitions)


class Probe(WorkerObjective):
    """An objective that is asked at known margins, and leaves what it answers in a folder."""

    folder: Path

    def __call__(self, margins, rows):
        mine = self._numbers(rows)
        first, second = super().__call__(2 * np.sin(mine.astype(float)), rows)
        loss = self._objective._train.loss
        share = loss._share
        duals = np.array([pair for _, pair in sorted(loss._duals.items())])
        name = self.folder / f"{share.processes.rank}-{mine.min()}.npz"
        np.savez(
            name, mine=mine, first=first, second=second, duals=duals, size=share.processes.size
        )
        return first, second


class Naive(Probe):
    """What one gets without sums over workers."""

    @staticmethod
    def _share(people, mine):
        return Share(_places(people.rows, mine), ALONE)


class Failing(WorkerObjective):
    """An objective that fails on one worker while others wait for its sums."""

    rounds = 0

    def __call__(self, margins, rows):
        self.rounds += 1
        if self.rounds == 2 and Workers().rank == 1:
            raise RuntimeError("this worker can't go on")
        return super().__call__(margins, rows)


def probed(monkeypatch, folder, kind, data, partitions, **settings):
    """Return what each worker answers at known margins."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])

    def made(*given):
        probe = kind(*given)
        probe.folder = folder
        return probe

    monkeypatch.setattr(_boosting_dask, "WorkerObjective", made)
    folder.mkdir()
    frame, y, S, w = (there(part, partitions) for part in data)
    clf = otfair.OTFBoostingClassifier(**(SMALL | FAIR | {"n_estimators": 1} | settings))
    clf.fit(frame, y, sensitive_features=S, sample_weight=w)
    return [dict(np.load(path)) for path in sorted(folder.iterdir())]


def one_machine(data, **settings):
    """Return terms and duals of the objective of all people at known margins."""
    frame, y, S, w = data
    how = {"alpha": 0.7, "balance": 100.0, **settings}
    X = otfair.TableEncoder().fit(frame, sample_weight=w.to_numpy()).transform(frame)
    labels = (y == "yes").to_numpy().astype(float)
    objective = otfair.OTFObjective(**how).fit(X, S, labels, w)
    terms = objective(labels, 2 * np.sin(np.arange(len(y)).astype(float)))
    duals = objective._train.loss._duals
    return terms, np.array([pair for _, pair in sorted(duals.items())])


def test_duals_of_two_workers_are_those_of_one(workers, data, monkeypatch, tmp_path):
    (first, second), duals = one_machine(data)
    for partitions, size in ((5, 2), (1, 1)):
        answers = probed(monkeypatch, tmp_path / str(size), Probe, data, partitions)
        assert [int(answer["size"]) for answer in answers] == [size] * size
        everybody = np.concatenate([answer["mine"] for answer in answers])
        np.testing.assert_array_equal(np.sort(everybody), np.arange(600))
        # To the last bit on all workers, or else one could go on while another stops.
        np.testing.assert_array_equal(answers[0]["duals"], answers[-1]["duals"])
        for answer in answers:
            np.testing.assert_allclose(answer["duals"], duals, rtol=1e-8, atol=1e-10)
            np.testing.assert_allclose(answer["first"], first[answer["mine"]], rtol=1e-8, atol=1e-9)
            np.testing.assert_allclose(answer["second"], second[answer["mine"]], rtol=1e-12)


def test_a_naive_port_would_have_other_duals_on_each_worker(workers, data, monkeypatch, tmp_path):
    (first, _), duals = one_machine(data)
    answers = probed(monkeypatch, tmp_path / "naive", Naive, data, 5)
    assert len(answers) == 2
    for answer in answers:
        assert np.abs(answer["duals"] - duals).max() > 0.01 * np.abs(duals).max()
        assert np.abs(answer["first"] - first[answer["mine"]]).max() > 0.1


def test_trees_are_those_of_one_machine(workers, data, tmp_path):
    frame, y, S, w = data
    one = otfair.OTFBoostingClassifier(**SMALL, **FAIR).fit(frame, y, S, w)
    far = [there(part) for part in (frame, y, S, w)]
    many = otfair.OTFBoostingClassifier(**SMALL, **FAIR).fit(*far)
    np.testing.assert_allclose(many.history_[:2], one.history_[:2], rtol=1e-6)
    # Cuts of the histograms may differ, as workers sketch their own rows and merge them.
    here = one.predict_proba(frame)[:, 1]
    assert np.abs(many.predict_proba(frame)[:, 1] - here).max() < 0.05
    assert many.violation_ == pytest.approx(one.violation_, abs=0.02)
    assert many.balance_ == one.balance_
    assert list(many.classes_) == ["no", "yes"]
    # The model is an ordinary one.
    assert many.receivers_ is None
    many.save(tmp_path / "model.safetensors")
    again = otfair.OTFBoostingClassifier.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.predict_proba(frame), many.predict_proba(frame))
    # Rows of Dask are scored where they are.
    proba = many.predict_proba(far[0])
    assert isinstance(proba, da.Array)
    np.testing.assert_array_equal(proba.compute(), many.predict_proba(frame))
    np.testing.assert_array_equal(many.predict(far[0]).compute(), many.predict(frame))
    np.testing.assert_array_equal(
        many.decision_function(far[0]).compute(), many.decision_function(frame)
    )


@pytest.mark.parametrize("settings", [{}, {"alpha": 0}, {"regularizer": "norm"}])
def test_stops_early_where_one_machine_does(workers, data, settings):
    frame, y, S, _ = data
    how = SMALL | {"alpha": 0.3, "balance": 1.0, "n_estimators": 60} | settings
    how |= {"early_stopping_rounds": 3, "stopping_fraction": 0.3}
    one = otfair.OTFBoostingClassifier(**how).fit(frame, y, S)
    many = otfair.OTFBoostingClassifier(**how).fit(there(frame), there(y), there(S))
    assert 1 < one.n_iter_ < 60
    assert abs(many.n_iter_ - one.n_iter_) <= 2
    scores = (clf.predict_proba(frame)[:, 1] for clf in (one, many))
    assert np.abs(np.subtract(*scores)).mean() < 0.02


def test_a_worker_that_fails_ends_training_for_all(workers, data, monkeypatch):
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    monkeypatch.setattr(_boosting_dask, "WorkerObjective", Failing)
    frame, y, S, _ = (there(part) for part in data)
    clf = otfair.OTFBoostingClassifier(**SMALL, **FAIR)
    # Its own error, or that of the worker that waited for it, whichever comes first.
    with pytest.raises((RuntimeError, xgboost.core.XGBoostError)):
        clf.fit(frame, y, S)
    assert not hasattr(clf, "classes_")
    assert not workers.list_datasets()  # nothing is left behind


def test_what_is_for_one_machine_is_refused(workers, data):
    frame, y, S, _ = data
    far = (there(frame), there(y), there(S))
    with pytest.raises(ValueError, match='only booster="xgboost" trains on Dask'):
        otfair.OTFBoostingClassifier("lightgbm").fit(*far)
    with pytest.raises(ValueError, match="`max_violation` is for one machine"):
        otfair.OTFBoostingClassifier(max_violation=0.1).fit(*far)
    with pytest.raises(TypeError, match="`y` is no Dask collection"):
        otfair.OTFBoostingClassifier(**SMALL).fit(far[0], y, far[2])
    with pytest.raises(TypeError, match="a path of boosted trees does not take Dask"):
        next(otfair.OTFBoostingClassifier(**SMALL).fit_path(*far, [0.5]))
    clf = otfair.OTFBoostingClassifier(**SMALL)
    with pytest.raises(ValueError, match="Only binary classification"):
        clf.fit(far[0], there(pd.Series(np.arange(600), name="y")), far[2])
    assert not hasattr(clf, "classes_")
