"""The experiments: what is planned, that nothing is lost or made twice, and what is measured."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

import otfair
from otfair.geometry import PointCloud
from otfair.reproduction import _batches, _runner, _train
from otfair.reproduction._plan import ALPHAS, BETWEEN, COLUMNS, Run, plan
from otfair.reproduction._runner import reproduce
from otfair.reproduction._store import Result, Store, read_csv

pytestmark = pytest.mark.slow

RUN = Run("curves", "synthetic", ("sex",), "pdp", "otf", "full", 0.5, 1e-3, 0)
FREE = replace(RUN, columns=(), notion="", method="unfair", alpha=0.0, epsilon=0.0)
NORM = replace(RUN, method="norm", epsilon=0.0)


def result(run: Run = RUN, error: str = "", **metrics: float) -> Result:
    return Result(run, metrics, 1.5, {"otfair": "0"}, "2026-01-01 00:00", error)


def test_every_run_is_planned_once():
    for protocol in ("full", "paper"):
        runs = plan("all", protocol, 10)
        assert len({run.key for run in runs}) == len(runs)
        assert {run.dataset for run in runs} == set(COLUMNS)
    full = plan("all", "full", 10)
    assert {r.split for r in full if r.method == "otf" and r.experiment == "curves"} == set(
        range(10)
    )
    # The barycenter knows one categorical attribute and demographic parity only.
    assert {(r.dataset, r.columns, r.notion) for r in full if r.method == "barycenter"} == {
        ("adult", ("sex",), "pdp"),
        ("bank", ("age_binned",), "pdp"),
        ("dutch", ("sex",), "pdp"),
        ("diabetes", ("gender",), "pdp"),
    }
    assert {r.sweeps for r in plan("adult", "paper", 1) if r.method == "coordinate"} == {1, 100}
    # The published ascent is run wherever converged duals are, and the baselines with it, at the
    # paper's own strengths and where these are far apart at some more.
    ours = {r for r in plan("all", "paper", 3) if r.experiment == "curves" and r.method == "otf"}
    papers = {r for r in ours if r.alpha in ALPHAS["paper"]["otf"]}
    made = {*plan("published", "paper", 3)}
    assert {replace(r, method="coordinate", sweeps=100) for r in papers} <= made
    more = {
        r for r in made | ours if r.method != "unfair" and r.alpha not in ALPHAS["paper"][r.method]
    }
    assert {(r.dataset, r.method) for r in more} == set(BETWEEN)
    full_alphas = {r.alpha for r in full if r.method == "otf" and r.experiment == "curves"}
    assert full_alphas == set(ALPHAS["full"]["otf"])
    others = {"unfair", "norm", "barycenter", "coordinate"}
    assert {r.method for r in plan("published", "paper", 1)} == others
    assert {r.method for r in plan("epsilon", "paper", 1)} == {"otf", "coordinate"}
    assert {r.protocol for r in plan("postprocess", "full", 1)} == {"full"}
    assert {(r.method, r.columns) for r in plan("attributes", "paper", 2)} == {
        ("otf_attributes", ("sex", "race"))
    }
    several = [r for r in plan("others", "full", 10) if r.split == 9]
    assert {(r.method, r.dataset) for r in several} == {
        ("norm2", "adult"),
        ("correlation", "adult"),
    }
    with pytest.raises(ValueError, match="unknown experiment 'titanic'"):
        plan("titanic", "full", 1)


def test_keys_do_not_change():
    # Results that were committed are found by them.
    assert RUN.key == "012480b904c22475"


def test_a_store_gives_back_what_it_took(tmp_path):
    one, other = result(auc=0.5), result(NORM, auc=0.25)
    with Store(tmp_path / "a.sqlite") as a, Store(tmp_path / "b.sqlite") as b:
        a.add([one])
        b.add([other, result(auc=0.75)])
        assert a.merge(tmp_path / "b.sqlite") == 1
        assert sorted(a, key=lambda r: r.run.method) == [other, one]  # the first of two stays
        a.write_csv(tmp_path / "runs.csv")
        assert sorted(read_csv(tmp_path / "runs.csv"), key=lambda r: r.run.method) == [other, one]
        assert b.merge(tmp_path / "runs.csv") == 0
    with Store(tmp_path / "c.sqlite") as c:
        assert c.merge(tmp_path / "runs.csv") == 2


def test_a_failure_is_kept_but_tried_again(tmp_path):
    with Store(tmp_path / "a.sqlite") as store:
        store.add([result(error="Traceback ...")])
        assert not store.done()
        store.add([result(auc=0.5)])
        assert store.done() == {RUN.key}
        store.add([result(error="again")])
        assert [r.error for r in store] == [""]


def test_what_is_no_store_is_refused_and_left_as_it_is(tmp_path):
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE mine (a)")
    kept = other.read_bytes()
    (tmp_path / "text.sqlite").write_text("no database")
    (tmp_path / "text.csv").write_text("a,b\n1,2\n")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\n")
    with pytest.raises(ValueError, match="can't be used as a store of runs"):
        Store(tmp_path / "text.sqlite")
    with Store(tmp_path / "a.sqlite") as store:
        for name in ("other.sqlite", "text.sqlite", "text.csv", "bytes.csv"):
            with pytest.raises(ValueError, match="holds no results that can be read"):
                store.merge(tmp_path / name)
    assert other.read_bytes() == kept


def test_a_store_that_can_not_grow_keeps_what_it_has_and_says_so(tmp_path):
    path = tmp_path / "runs.sqlite"
    many = [result(replace(RUN, split=split), auc=0.5) for split in range(3000)]
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Store(path) as store:
        store.add([result()])
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
        try:
            with pytest.raises(OSError, match=r"can't be written to .* make room"):
                store.add(many)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    with Store(path) as store:
        assert list(store) == [result()]
    (tmp_path / "file").touch()
    for place in (tmp_path / "file" / "runs.sqlite", Path("/proc/no/runs.sqlite")):
        with pytest.raises(ValueError, match="Choose another folder"):
            Store(place)


def dies(runs):
    if runs[0].method == "norm":
        os.kill(os.getpid(), signal.SIGKILL)
    return [result(run, auc=0.5) for run in runs]


def test_a_process_that_dies_fails_by_itself(tmp_path, monkeypatch):
    monkeypatch.setattr(_runner, "make", dies)
    path = tmp_path / "runs.sqlite"
    others = [replace(RUN, split=split) for split in range(3)]
    assert reproduce([NORM, FREE, *others], path, jobs=2, verbose=False) == (5, 1)
    with Store(path) as store:
        found = {r.run: r.error for r in store}
    assert "the process died" in found.pop(NORM)
    assert set(found.values()) == {""}
    assert len(found) == 4


def test_a_row_changed_by_hand_is_refused(tmp_path):
    path = tmp_path / "a.sqlite"
    with Store(path) as store:
        store.add([result()])
    with sqlite3.connect(path) as db:
        db.execute("UPDATE runs SET run = replace(run, '0.5', '0.7')")
    with Store(path) as store, pytest.raises(ValueError, match="changed by hand"):
        list(store)


def test_runs_are_made_once_and_a_failure_stops_nothing(tmp_path):
    bad = replace(RUN, columns=("nobody",), alpha=0.3)
    path = tmp_path / "runs.sqlite"
    assert reproduce([FREE, bad, NORM], path, jobs=1, verbose=False) == (3, 1)
    with Store(path) as store:
        found = {r.run.method: r for r in store}
    assert "nobody" in found["otf"].error
    free, norm = found["unfair"].metrics, found["norm"].metrics
    assert norm["train_pdp_sex"] == pytest.approx(0.5 * free["train_pdp_sex"], rel=0.15)
    assert reproduce([FREE, NORM], path, jobs=1, verbose=False) == (0, 0)


def test_what_is_measured_is_what_the_library_says(monkeypatch):
    monkeypatch.setattr(_train, "COMPARED", 200)
    (made,) = _train.make([RUN])
    assert made.error == ""
    split = _train.load_split("synthetic", 0)
    clf = otfair.OTFClassifier(alpha=0.5, standardize=False)
    clf.fit(
        split.X["train"], split.y["train"], sensitive_features=split.sensitive["train"][["sex"]]
    )
    h = clf.predict_proba(split.X["test"])[:, 1]
    auc = roc_auc_score(split.y["test"], h)
    assert made.metrics["test_auc"] == pytest.approx(auc, abs=2e-3)
    sex = split.sensitive["test"][["sex"]]
    assert made.metrics["test_pdp_sex"] == pytest.approx(otfair.pdp_violation(h, sex), abs=5e-3)
    assert {"test_peo_origin", "train_pdp_age", "smooth_cost"} <= set(made.metrics)
    assert made.metrics["exact_cost"] == pytest.approx(made.metrics["smooth_cost"], rel=0.3)


def test_other_penalties_halve_the_violation(monkeypatch):
    whole = _train.load_split("synthetic", 0)
    few = [{k: v[:1500] for k, v in part.items()} for part in vars(whole).values()]
    monkeypatch.setattr(_train, "load_split", lambda *_: _train.Split(*few))
    runs = [replace(NORM, method=method) for method in ("norm", "norm2", "correlation")]
    free, *made = (_train.make([run])[0] for run in (FREE, *runs))
    assert [r.error for r in made] == [""] * 3
    for r in made:
        assert r.metrics["train_pdp_sex"] == pytest.approx(
            0.5 * free.metrics["train_pdp_sex"], rel=0.2
        )
    # Two groups of one attribute: both norms are multiples of one gap.
    assert made[1].metrics["train_auc"] == pytest.approx(made[0].metrics["train_auc"], abs=1e-4)


@pytest.mark.parametrize("method", ["otf", "coordinate"])
def test_batches_are_measured_once_and_give_the_same_models(monkeypatch, method):
    monkeypatch.setitem(_train.PAPER, "epochs", 2)
    monkeypatch.setitem(_train.OTF_SCALE, ("synthetic", "sex", "pdp"), 100.0)
    passes = []
    plain = PointCloud._blocks
    monkeypatch.setattr(PointCloud, "_blocks", lambda *a: passes.append(a) or plain(*a))
    runs = [
        replace(RUN, method=method, protocol="paper", alpha=alpha, sweeps=3, split=2)
        for alpha in (0.3, 0.6)
    ]
    _train._known.cache_clear()
    first = _train.make(runs[:1])
    measured = len(passes)
    second = _train.make(runs[1:])
    assert measured > 0
    assert len(passes) == measured  # the second strength sees batches that are known
    _train._known.cache_clear()
    monkeypatch.setattr(_batches, "MOST_KEPT", 0)
    alone = [made for run in runs for made in _train.make([run])]
    assert len(passes) == 3 * measured
    assert [r.metrics for r in alone] == [r.metrics for r in first + second]


def test_parity_takes_the_distances_that_equalized_odds_measured(monkeypatch):
    monkeypatch.setitem(_train.PAPER, "epochs", 2)
    passes = []
    plain = PointCloud._blocks
    monkeypatch.setattr(PointCloud, "_blocks", lambda *a: passes.append(a) or plain(*a))
    odds, parity = (
        replace(RUN, method="coordinate", protocol="paper", sweeps=3, split=2, notion=notion)
        for notion in ("peo", "pdp")
    )
    _train._known.cache_clear()
    _train.make([odds])
    measured = len(passes)
    (merged,) = _train.make([parity])
    assert measured == len(passes) > 0
    assert _runner._order(odds) < _runner._order(parity)
    _train._known.cache_clear()
    (alone,) = _train.make([parity])
    assert len(passes) == 2 * measured
    assert merged.metrics.pop("adam") == alone.metrics.pop("adam")
    assert merged.metrics == pytest.approx(alone.metrics, abs=2e-6)  # of six digits
    # The other way round nothing can be merged.
    _train.make([odds])
    assert len(passes) == 3 * measured
    _train._known.cache_clear()


def test_a_run_names_the_commit_of_the_package(tmp_path):
    (made,) = _train.make([FREE])
    root = Path(otfair.__file__).parents[2]
    if not (root / ".git").exists():
        pytest.skip("the package is not in a checkout")
    log = ["git", "log", "-1", "--format=%H", "--", "src/otfair"]
    newest = subprocess.run(log, cwd=root, capture_output=True, text=True, check=True).stdout
    assert newest.startswith(made.versions["commit"].rstrip("+"))


@pytest.mark.parametrize("method", ["otf", "norm", "barycenter", "coordinate", "unfair"])
def test_the_papers_protocol_trains_every_method(monkeypatch, method):
    monkeypatch.setattr(_train, "EPOCHS", 2)
    monkeypatch.setitem(_train.OTF_SCALE, ("synthetic", "sex", "pdp"), 100.0)
    run = replace(RUN, method=method, protocol="paper", sweeps=1, split=1)
    (made,) = _train.make([replace(FREE, protocol="paper") if method == "unfair" else run])
    assert made.error == ""
    assert 0 <= made.metrics["test_pdp_sex"] <= 1
    # What it was trained with is kept with it.
    assert made.metrics["adam"] == {"epochs": 2, "batch": 1000, "learning_rate": 1e-3}
    factors = {"otf": 100.0, "norm": 1.0, "barycenter": 1000.0, "coordinate": 1e5}
    assert made.metrics.get("balance") == factors.get(method)


@pytest.mark.parametrize("protocol", ["paper", "full"])
def test_attributes_are_weighed_in_both_protocols(monkeypatch, protocol):
    monkeypatch.setattr(_train, "EPOCHS", 2)
    run = replace(RUN, columns=("sex", "origin"), method="otf_attributes", protocol=protocol)
    (made,) = _train.make([run])
    assert made.error == ""
    assert set(made.metrics["balance"]) == {"sex", "origin"}
    (plain,) = _train.make([replace(run, method="otf", protocol="full")])
    assert isinstance(plain.metrics["balance"], float)


def test_the_released_codes_factor_follows_epsilon():
    found = [_train.released_scale(epsilon) for epsilon in (1e-4, 1e-2, 0.1, 10.0)]
    assert found == pytest.approx([1e6, 1e4, 1e4, 1e4])


def test_the_published_ascent_is_that_of_the_released_code():
    run = replace(RUN, method="coordinate", protocol="paper", epsilon=1e-3)
    people = (torch.arange(6.0)[:, None], torch.eye(2)[[0, 0, 0, 1, 1, 1]])
    logits = torch.linspace(-2, 2, 6)
    values = []
    for sweeps in (1, 100):
        loss, _ = _train._paper_loss(replace(run, sweeps=sweeps))
        values += [float(loss(logits, *people)), float(loss(logits, *people))]
    assert values[0] == values[1] == 0  # with one sweep, and no warm start
    assert values[2] == values[3] > 0


def test_converged_post_processing_ends_fair():
    run = replace(RUN, experiment="postprocess", protocol="full", alpha=1.0)
    (made,) = _train.make([run])
    assert made.error == ""
    assert all(len(series) == 2 for series in made.metrics.values())
    assert made.metrics["adjusted"][1] < 1e-3 * made.metrics["adjusted"][0]
    assert made.metrics["pdp"][1] < 0.02 * made.metrics["pdp"][0]


def test_post_processing_lowers_cost_and_violation(monkeypatch):
    monkeypatch.setattr(_train, "POSTPROCESS_EPOCHS", 10)
    monkeypatch.setattr(_train, "LEARNING_RATE", 0.01)
    (made,) = _train.make([replace(RUN, experiment="postprocess", protocol="paper", alpha=1.0)])
    assert made.error == ""
    series = made.metrics
    assert len(series["pdp"]) == 20
    np.testing.assert_allclose(
        np.subtract(series["smooth"], series["relaxed"]), series["adjusted"], atol=1e-7
    )
    assert series["pdp"][-1] < 0.3 * series["pdp"][9]
    assert series["adjusted"][-1] < 0.3 * series["adjusted"][9]


SCRIPT = """
import sys, time
from pathlib import Path
from otfair.reproduction import _runner
from tests_runs import RUNS
made = _runner.make
def slowly(runs):
    with open("made", "a") as file:
        file.write(runs[0].method + "\\n")
    return made(runs)
_runner.make = slowly
_runner.reproduce(RUNS, Path("runs.sqlite"), jobs=1, verbose=False)
"""


def test_a_killed_process_goes_on_where_it_was(tmp_path):
    runs = f"from otfair.reproduction._plan import Run\nRUNS = [{FREE!r}, {NORM!r}, {RUN!r}]\n"
    (tmp_path / "tests_runs.py").write_text(runs)
    command = [sys.executable, "-c", SCRIPT]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    process = subprocess.Popen(command, cwd=tmp_path, env=environment)
    for _ in range(600):
        log = tmp_path / "made"
        if log.exists() and len(log.read_text().split()) >= 2:
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with Store(tmp_path / "runs.sqlite") as store:
        kept = list(store)
    assert 1 <= len(kept) < 3  # what was done is there, and there is more to do
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    with Store(tmp_path / "runs.sqlite") as store:
        assert len(store.done()) == 3
        assert all(result in list(store) for result in kept)
    made = (tmp_path / "made").read_text().split()
    assert made.count(kept[0].run.method) == 1


ORPHANS = """
import os, time
from pathlib import Path
from otfair.reproduction import _runner
from otfair.reproduction._plan import Run
def endless(runs):
    Path(f"worker-{{os.getpid()}}").touch()
    time.sleep(600)
def start():
    _runner.make = endless
    _runner.reproduce([{}], Path("runs.sqlite"), jobs=2, verbose=False)
"""


def test_workers_end_when_their_parent_was_killed(tmp_path):
    (tmp_path / "orphans.py").write_text(ORPHANS.format(f"{FREE!r}, {NORM!r}"))
    places = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, "-c", "import orphans; orphans.start()"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": places},
    )
    workers = wait_for(lambda: [int(p.name[7:]) for p in tmp_path.glob("worker-*")], 2)
    process.kill()
    process.wait()
    wait_for(lambda: [pid for pid in workers if not is_running(pid)], 2)
    # The process that looks after shared memory cleans up when the last of them has ended.
    wait_for(lambda: [()] * (not list(Path("/dev/shm").glob(f"*{process.pid}*"))), 1)


def wait_for(found, count: int) -> list:
    """What is found when there are so many, within a minute."""
    for _ in range(600):
        if len(now := found()) == count:
            return now
        time.sleep(0.1)
    pytest.fail(f"after a minute, {now} is not {count}")


def is_running(pid: int) -> bool:
    try:
        return "(zombie)" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False
