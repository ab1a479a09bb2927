"""Logging to MLflow, by a stand-in that takes and refuses what MLflow does."""

from __future__ import annotations

import json
import re
import sys
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import otfair

NAME = re.compile(r"[\w\-. /]{1,250}")


class StandIn(ModuleType):
    """What of MLflow is used, with its rules for names and numbers at once."""

    def __init__(self) -> None:
        super().__init__("mlflow")
        self.runs: dict[str, dict] = {}
        self.active: list[str] = []

    def active_run(self):
        return (
            SimpleNamespace(info=SimpleNamespace(run_id=self.active[-1])) if self.active else None
        )

    @contextmanager
    def start_run(self, run_id=None, nested=False):
        assert nested or not self.active, "a run is active"
        run_id = run_id or f"run{len(self.runs)}"
        self.runs.setdefault(run_id, {"metrics": {}, "params": {}, "texts": {}})
        self.active.append(run_id)
        try:
            yield self.active_run()
        finally:
            self.active.pop()

    def log_metrics(self, metrics):
        assert len(metrics) <= 1000
        for name, value in metrics.items():
            assert NAME.fullmatch(name)
            assert ".." not in name
            assert np.isfinite(value)
        self.runs[self.active[-1]]["metrics"] |= metrics

    def log_params(self, params):
        assert len(params) <= 100
        known = self.runs[self.active[-1]]["params"]
        for name, value in params.items():
            assert NAME.fullmatch(name)
            assert len(value) <= 500
            assert known.get(name, value) == value, "parameters can't change"
        known |= params

    def log_text(self, text, path):
        self.runs[self.active[-1]]["texts"][path] = text


@pytest.fixture
def mlflow(monkeypatch) -> StandIn:
    module = StandIn()
    monkeypatch.setitem(sys.modules, "mlflow", module)
    return module


def audited(names=("a", "b"), seed: int = 0, **options) -> otfair.Audit:
    rng = np.random.default_rng(seed)
    group = np.array(names, dtype=object)[np.arange(300) % len(names)]
    h = rng.random(300)
    frame = pd.DataFrame({"sex": group})
    return otfair.audit(
        h, sensitive_features=frame, labels=rng.random(300) < h, **{"n_bootstrap": 20} | options
    )


def test_figures_settings_and_files_are_logged(mlflow):
    found = audited(threshold=0.4, random_state=7)
    run = mlflow.runs[found.log_mlflow()]
    metrics, params = run["metrics"], run["params"]
    v = found.findings[0].violation
    assert metrics["sex.demographic_parity.violation"] == v.value.value
    assert metrics["sex.demographic_parity.violation.low"] == v.value.low
    assert metrics["sex.equalized_odds.rate_ratio"] == found.findings[1].violation.rate_ratio.value
    group = found.decisions[0].groups[1]
    assert metrics["sex.b.true_positive_rate"] == group.rates["true_positive_rate"].value
    assert metrics["sex.b.people"] == 150
    assert metrics["sex.decision_gap"] == found.decisions[0].gap.difference.value
    assert params["threshold"] == "0.4"
    assert params["random_state"] == "7"
    assert params["notions"] == "demographic_parity, equalized_odds"
    assert params["checksum"] == found.record.checksum
    assert run["texts"]["audit.html"].rstrip().endswith("</html>")
    assert json.loads(run["texts"]["audit.json"])["worst"] == found.worst


def test_the_active_run_is_used_or_the_one_that_is_named(mlflow):
    found, other = audited(), audited(seed=1)
    with mlflow.start_run() as run:
        assert found.log_mlflow() == run.info.run_id
        assert other.log_mlflow(prefix="test/") == run.info.run_id
        assert found.log_mlflow(run_id="mine") == "mine"
    assert mlflow.active == []
    texts = mlflow.runs["run0"]["texts"]
    assert set(texts) == {"audit.html", "audit.json", "test/audit.html", "test/audit.json"}
    assert "test/sex.a.people" in mlflow.runs["run0"]["metrics"]
    assert set(mlflow.runs) == {"run0", "mine"}


def test_hostile_and_like_names_are_kept_apart(mlflow):
    found = audited(("a/../b", "a<..>b", "x" * 400), n_bootstrap=0)
    metrics = mlflow.runs[found.log_mlflow()]["metrics"]
    sizes = {name: value for name, value in metrics.items() if "people" in name}
    assert list(sizes.values()) == [100, 100, 100]
    assert set(sizes) == {
        "sex.a____b.people", "sex.a____b.people 2", f"sex.{'x' * 80}.people",
    }  # fmt: skip
    assert not [name for name in metrics if name.endswith(".low")]


def test_without_mlflow_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(ImportError, match=r"extra `mlflow` of otfair.*pip install mlflow-skinny"):
        audited().log_mlflow()
