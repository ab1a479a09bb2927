"""Nothing that other code sees is changed by a call; threads and processes find the same."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from process_state import state

import otfair
from otfair.cli import main

N = 200


@pytest.fixture(scope="module")
def loans():
    return otfair.load_dataset("synthetic", n=N)


def fit(loans, **settings):
    X = otfair.TableEncoder().fit_transform(loans.X)
    model = otfair.OTFClassifier(random_state=0, **settings)
    model.fit(X, loans.y, sensitive_features=loans.sensitive_features["sex"])
    return model.predict_proba(X)[:, 1]


def boost(loans, booster):
    model = otfair.OTFBoostingClassifier(booster, n_estimators=3, random_state=0, n_jobs=1)
    model.fit(loans.X, loans.y, sensitive_features=loans.sensitive_features["sex"])
    return model.predict_proba(loans.X)[:, 1]


def decide(loans):
    model = otfair.FairDecisions(otfair.ScoreColumn("p"), max_difference=0.1, confidence=None, cv=2)
    X = loans.X.assign(p=loans.truth.scores)
    return model.fit(X, loans.y, sensitive_features=loans.sensitive_features["sex"]).predict(X)


def audited(loans):
    found = otfair.audit(
        loans.truth.scores, loans.X, sensitive_features=loans.sensitive_features["sex"],
        n_bootstrap=5,
    )  # fmt: skip
    found.to_html()
    return found.summary().select_dtypes("number").to_numpy()


def curve(loans):
    sex = loans.sensitive_features[["sex"]]
    found = otfair.tradeoff_curve(
        loans.X, loans.y, sensitive_features=sex, alphas=[0, 0.5], n_bootstrap=3
    )
    otfair.plot_tradeoff(found)
    return found.to_numpy()


def penalty(loans):
    X = torch.as_tensor(otfair.TableEncoder().fit_transform(loans.X))
    loss = otfair.OTFLoss(epsilon=1e-2)
    logits = torch.linspace(-1, 1, N, dtype=torch.float64, requires_grad=True)
    sex = torch.as_tensor(
        pd.get_dummies(loans.sensitive_features["sex"]).to_numpy(float, copy=True)
    )
    loss(logits, X, sex).backward()
    return logits.grad.numpy()


CALLS = {
    "fit": fit,
    "adam": lambda loans: fit(loans, solver="adam", epochs=2),
    "xgboost": lambda loans: boost(loans, "xgboost"),
    "lightgbm": lambda loans: boost(loans, "lightgbm"),
    "decide": decide,
    "audit": audited,
    "curve": curve,
    "penalty": penalty,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_a_call_changes_nothing_global(loans, name):
    CALLS[name](loans)  # what is imported on first use may set itself up
    before = state()
    CALLS[name](loans)
    assert state() == before


@pytest.mark.slow
def test_a_command_changes_nothing_global(loans, tmp_path, capsys):
    table = tmp_path / "loans.csv"
    loans.X.assign(p=loans.truth.scores, sex=loans.sensitive_features["sex"]).to_csv(table)
    command = ["audit", str(table), "--score", "p", "--sensitive", "sex", "--bootstrap", "5"]
    before = state()
    assert main([*command, "-o", str(tmp_path / "page.html")]) == 0
    assert main(["audit", str(tmp_path / "absent.csv"), *command[2:]]) == 1
    assert state() == before


@pytest.mark.slow
def test_a_run_of_an_experiment_changes_nothing_global(monkeypatch):
    from otfair.reproduction import _train

    def drawn(runs):
        torch.manual_seed(1)
        return [torch.get_num_threads()]

    monkeypatch.setattr(_train, "_made", drawn)
    before = state()
    assert _train.make([]) == [1]
    assert state() == before


@pytest.mark.slow
def test_an_import_changes_nothing_global():
    # What others set up when they are imported is not ours.
    code = """if True:
        import lightgbm, requests, scipy.optimize, sklearn.linear_model, torch._dynamo, xgboost
        from process_state import state
        before = state()
        import otfair
        for name in otfair.__all__:
            getattr(otfair, name)
        after = state()
        assert after == before, [name for name in after if after[name] != before[name]]
    """
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


@pytest.mark.slow
def test_threads_find_what_one_alone_finds(loans):
    before = list(warnings.filters)
    alone = {name: call(loans) for name, call in CALLS.items() if name != "curve"}
    with ThreadPoolExecutor(2) as pool:
        found = [(name, pool.submit(CALLS[name], loans)) for name in [*alone, *reversed(alone)]]
        for name, result in found:
            np.testing.assert_array_equal(result.result(timeout=300), alone[name], name)
    assert list(warnings.filters) == before


@pytest.mark.slow
def test_threads_may_share_a_loss(loans):
    X = otfair.TableEncoder().fit_transform(loans.X)
    loss = otfair.OTFLoss(epsilon=1e-2).fit(X, loans.sensitive_features["sex"])
    logits = [torch.linspace(-a, a, N, dtype=torch.float64) for a in (0.5, 1, 2, 3)] * 5
    alone = [float(loss(z)) for z in logits]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda z: float(loss(z)), logits))
    assert found == pytest.approx(alone, rel=1e-6)


def in_a_process(name: str, n: int):
    """Return what a call finds, in a process of its own."""
    return CALLS[name](otfair.load_dataset("synthetic", n=n))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fit", "xgboost"])
def test_a_forked_process_finds_the_same_and_does_not_hang(loans, name):
    # The threads of the parent are not there in the child, which once waited for them for ever.
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        torch.rand(1000, 1000) @ torch.rand(1000, 1000)
        alone = CALLS[name](loans)
        context = multiprocessing.get_context("fork")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of Python, for threads and forks
            with context.Pool(1) as pool:
                found = pool.apply_async(in_a_process, (name, N)).get(timeout=120)
    finally:
        torch.set_num_threads(threads)
    np.testing.assert_allclose(found, alone, rtol=1e-9)


@pytest.mark.slow
def test_as_many_threads_as_you_like_find_the_same(loans):
    threads, found = torch.get_num_threads(), []
    for count in (1, 2, 4):
        torch.set_num_threads(count)
        found.append(fit(loans))
    torch.set_num_threads(threads)
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-9)
