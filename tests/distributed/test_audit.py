"""An audit of Dask collections records what an audit of one machine does."""

import os
import signal

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from audits import assert_same
from partitions import FEATURES, Both, people

import otfair
from otfair.auditing import Limit
from otfair.auditing.costs import _solving
from otfair.auditing.parted import _costs
from otfair.metrics import draw_counts
from otfair.metrics._parted_bootstrap import _drawn

COLUMNS = ("labels", "sample_weight", "control_features")
FEW = {"n_bootstrap": 8}


def audits(both, sensitive, features=None, **settings):
    """Audit the same people here and on workers."""
    found = []
    for table in (both.here, both.there):
        own = {k: table[v] if k in COLUMNS else v for k, v in settings.items()}
        X = None if features is None else table[features]
        found.append(otfair.audit(table["h"], X, sensitive_features=table[sensitive], **own))
    return found


def test_without_features(workers):
    assert_same(*audits(people(), ["sex", "race"], labels="y", **FEW))


def test_bounded_plans_of_few_people(workers):
    here, there = audits(people(240), ["sex"], FEATURES, labels="y", **FEW)
    assert here.findings[0].cost.bounded
    assert_same(here, there)


def test_weights_a_number_and_no_labels(workers):
    settings = {"sample_weight": "w", "bounded": False, **FEW}
    assert_same(*audits(people(300), ["sex", "age"], FEATURES, **settings))


def test_a_sample_of_receivers_and_its_error(workers):
    here, there = audits(people(400), ["sex", "age"], FEATURES, labels="y", receivers=120, **FEW)
    assert here.findings[0].cost.sampling is not None
    assert_same(here, there)


def test_controls_crossed_groups_and_precision(workers):
    settings = {"labels": "y", "control_features": "age", "notions": ["predictive_parity"]}
    crossed = {"cross": [("sex", "race")], "bounded": False, "n_bootstrap": 4}
    assert_same(*audits(people(240), ["sex", "race"], FEATURES, **settings, **crossed))


def test_gaps_names_and_a_partition_of_nobody(workers):
    both = people(300)
    frame = both.here.assign(
        code=np.where(both.here["sex"] == "F", 1.0, 2.0), id=np.arange(1, 301),
        town=[f"town {k % 70}" for k in range(300)],
        paid=np.where(both.here["y"] == 1, "yes", "no"), same="x",
    )  # fmt: skip
    frame.loc[::11, "code"] = np.nan
    frame.loc[::13, "x1"] = np.nan
    frame.loc[:99, "h"] = np.nan  # of the first of three partitions
    both = Both(frame, dd.from_pandas(frame, npartitions=3))
    features = [*FEATURES, "race", "id", "town", "same", "paid", "sex"]
    names = {"code": {"1": "women", "2": "men"}}
    settings = {"labels": "paid", "skip_unscored": True, "names": names, "drop": ["race"], **FEW}
    here, there = audits(both, ["code"], features, **settings)
    assert here.record.dropped == {"no score": 100, "no value of 'code'": 28}
    assert here.record.columns_left_out["id"].why is there.record.columns_left_out["id"].why
    assert_same(here, there)


def test_part_of_adult(workers):
    data = otfair.load_dataset("adult")
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(data.y))[:500]
    frame = data.X.iloc[rows].reset_index(drop=True).drop(columns=["sex", "race"], errors="ignore")
    features = list(frame.columns)
    sensitive = data.sensitive_features.iloc[rows].reset_index(drop=True)
    y = data.y[rows]
    h = np.clip(0.2 + 0.4 * y * rng.random(len(y)) + 0.2 * (sensitive["sex"] == "Male"), 0, 1)
    frame = pd.concat([frame, sensitive], axis=1).assign(y=y, h=h)
    both = Both(frame, dd.from_pandas(frame, npartitions=3))
    here, there = audits(both, ["sex", "race"], features, labels="y", bounded=False, **FEW)
    assert_same(here, there)  # who receives of those who are equally far, too


def test_of_whole_numbers_the_same_people_receive(workers):
    both = people(400)
    frame = both.here.assign(x0=(2 * both.here["x0"]).round(), x1=both.here["x1"].round())
    both = Both(frame, dd.from_pandas(frame, npartitions=3))
    assert_same(*audits(both, ["sex"], FEATURES, bounded=False, **FEW))


def test_people_whose_choice_is_clear_are_summed_where_they_are(workers, monkeypatch):
    monkeypatch.setattr(_solving, "MAX_ENTRIES", 200)  # of 600 people and two types
    both = people(600)
    calls = []
    with monkeypatch.context() as patch:
        patch.setattr(_costs, "solve_parts", _counting(calls))
        here, there = audits(both, ["sex"], FEATURES, receivers=600, bounded=False, **FEW)
    assert calls == ["in rounds"]
    one, other = here.findings[0].cost, there.findings[0].cost
    assert one.gap == pytest.approx(0, abs=1e-8)
    assert other.gap == pytest.approx(0, abs=1e-8)
    for name in ("plan", "moved", "smooth"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), abs=1e-8)
    assert other.exact.value == pytest.approx(one.exact.value, abs=1e-8)
    flows = [{(f.giver, f.receiver): f.mass for f in cost.flows} for cost in (one, other)]
    assert flows[0] == pytest.approx(flows[1], abs=1e-8)


def _counting(calls):
    from otfair.auditing.parted import _solving as parted

    def solve(people, thin, totals, nearest, between):
        large = len(thin) * len(people.type_names) > _solving.MAX_ENTRIES
        calls.append("in rounds" if large else "at once")
        return parted.solve_parts(people, thin, totals, nearest, between)

    return solve


def test_the_report_shows_the_same_pairs(workers, tmp_path):
    here, there = audits(people(600), ["sex"], FEATURES, bounded=False, **FEW)
    assert len(here.findings[0].cost.pairs) == len(there.findings[0].cost.pairs) > 80
    a, b = (audit.counterparts().reset_index(drop=True) for audit in (here, there))
    pd.testing.assert_frame_equal(a, b, rtol=1e-8, check_dtype=False)
    pd.testing.assert_frame_equal(here.summary(), there.summary(), rtol=1e-8, atol=1e-10)
    page = there.to_html(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text() == page
    assert "Counterparts" in page
    assert len(there.people) < 200  # of 600, those who are shown
    assert there.to_card()
    with pytest.raises(ValueError, match="keeps the first 40 pairs"):
        there.counterparts(top=1000)
    with pytest.raises(ValueError, match="on one machine"):
        otfair.compare_audits({"a": here, "b": there})


def test_arrays_and_limits(workers):
    both = people(200)
    X, h = both.here[FEATURES].to_numpy(), both.here["h"].to_numpy()
    sex = (both.here["sex"] == "F").to_numpy().astype(int)
    limit = [Limit(criterion="violation", bound=0.05)]
    settings = {"bounded": False, "limits": limit, "random_state": 3, **FEW}
    here = otfair.audit(h, X, sensitive_features=sex, **settings)
    there = otfair.audit(
        da.from_array(h, chunks=70), da.from_array(X, chunks=(70, 2)),
        sensitive_features=da.from_array(sex, chunks=70), **settings,
    )  # fmt: skip
    assert there.statuses[0].beyond
    assert_same(here, there)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"h": lambda t: t["h"] * 100}, "look like percentages"),
        ({"h": lambda t: t["h"].where(t["h"] > 0.2)}, "scores are missing, the first in row"),
        ({"sex": lambda t: t["sex"].where(t["sex"] == "F")}, "only one group"),
        ({"y": lambda t: t["age"]}, "must be binary"),
        ({"w": lambda t: -t["w"]}, "non-negative"),
    ],
)
def test_what_is_wrong_is_said_as_on_one_machine(workers, change, message):
    both = people(120)
    frame = both.here.assign(**change)
    there = dd.from_pandas(frame, npartitions=2)
    for table in (frame, there):
        with pytest.raises(ValueError, match=message):
            otfair.audit(
                table["h"], sensitive_features=table[["sex"]], labels=table["y"],
                sample_weight=table["w"], **FEW,
            )  # fmt: skip


def test_resamples_are_those_of_one_machine():
    first, state = _drawn(503, 3, 7, None)
    second, _ = _drawn(503, 4, 7, state)
    np.testing.assert_array_equal(np.concatenate([first, second]), draw_counts(503, 7, 7))


def test_a_worker_killed_in_the_middle_changes_nothing(own_workers, monkeypatch):
    both = people(240, partitions=4)
    settings = {"labels": "y", "bounded": False, **FEW}
    solve, killed = _costs.solve_parts, []

    def solve_or_kill(*given):
        if not killed:  # distances and resamples are there
            pid, *_ = own_workers.run(os.getpid).values()
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)
        return solve(*given)

    monkeypatch.setattr(_costs, "solve_parts", solve_or_kill)
    here, there = audits(both, ["sex"], FEATURES, **settings)
    assert killed
    assert_same(here, there)
