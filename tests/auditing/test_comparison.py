"""Models compared, against differences by hand, fairlearn, scikit-learn and SciPy."""

from __future__ import annotations

import json

import fairlearn.metrics as fl
import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.metrics import accuracy_score, roc_auc_score

import otfair
from otfair.auditing import comparison_sentences

approx = pytest.approx


def people(n: int = 900, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b", "c"], n, p=[0.5, 0.48, 0.02])
    y = (rng.random(n) < np.where(group == "a", 0.6, 0.4)).astype(int)
    old = np.clip(0.3 * y + rng.normal(0.35, 0.15, n) + 0.1 * (group == "a"), 0, 1).round(2)
    new = np.clip(old + rng.normal(0, 0.05, n) + 0.08 * (group == "b"), 0, 1).round(2)
    return pd.DataFrame({"g": group, "y": y, "old": old, "new": new, "w": rng.integers(1, 4, n)})


def audits(t: pd.DataFrame, models=("old", "new"), **options) -> dict[str, otfair.Audit]:
    given = {"labels": t.y, "n_bootstrap": 100} | options
    return {m: otfair.audit(t[m], sensitive_features=t[["g"]], **given) for m in models}


@pytest.mark.parametrize("weighted", [False, True])
def test_figures_are_those_of_others(weighted):
    t = people()
    w = t.w if weighted else None
    found = otfair.compare_audits(audits(t, sample_weight=w, threshold=0.45))
    frame = found.to_frame().set_index(["attribute", "group", "figure"])
    large = t[t.g != "c"]
    for model in ("old", "new"):
        yes = (t[model] > 0.45).astype(int)
        own = frame[model]
        assert own["", "", "auc"] == approx(roc_auc_score(t.y, t[model], sample_weight=w))
        assert own["", "", "accuracy"] == approx(accuracy_score(t.y, yes, sample_weight=w))
        given = {"sensitive_features": large.g, "sample_weight": None if w is None else large.w}
        both = large.y, yes[large.index]
        dp = fl.demographic_parity_difference(*both, **given)
        assert own["g", "", "demographic_parity difference"] == approx(dp)
        ratio = fl.demographic_parity_ratio(*both, **given)
        assert own["g", "", "demographic_parity ratio"] == approx(ratio)
        eo = fl.equalized_odds_difference(*both, **given)
        assert own["g", "", "equalized_odds difference"] == approx(eo)
        violation = otfair.pdp_violation(t[model], t.g, sample_weight=w)
        assert own["g", "", "demographic_parity violation"] == approx(violation)
        violation = otfair.peo_violation(t[model], t.g, t.y, sample_weight=w)
        assert own["g", "", "equalized_odds violation"] == approx(violation)
        rates = fl.MetricFrame(
            metrics={"s": fl.selection_rate, "t": fl.true_positive_rate}, y_true=t.y, y_pred=yes,
            sensitive_features=t.g,
            sample_params=None if w is None else {k: {"sample_weight": w} for k in "st"},
        ).by_group  # fmt: skip
        for group in "ab":
            assert own["g", f"g={group}", "selection_rate"] == approx(rates.loc[group, "s"])
            assert own["g", f"g={group}", "true_positive_rate"] == approx(rates.loc[group, "t"])
    assert frame["new difference"].to_numpy() == approx((frame["new"] - frame["old"]).to_numpy())
    assert "g=c" not in frame.index.get_level_values("group")  # too few


def test_who_gains_and_who_loses():
    t = people()
    found = otfair.compare_audits(audits(t))
    assert found.paired
    old, new = t.old > 0.5, t.new > 0.5
    for move in found.moves:
        inside = (t.g == move.group.removeprefix("g=")) | (move.group == "")
        gained, lost = (new & ~old & inside).sum(), (old & ~new & inside).sum()
        assert (move.people, move.gained, move.lost) == (inside.sum(), gained, lost)
        assert move.p_value == approx(binomtest(gained, gained + lost).pvalue)
        assert move.score.value == approx((t.new - t.old)[inside].mean())
    assert [move.group for move in found.moves] == ["", "g=a", "g=b", "g=c"]
    by_group = {move.group: move for move in found.moves}
    assert by_group["g=b"].beyond
    assert not by_group["g=c"].beyond
    said = " ".join(comparison_sentences(found))
    assert f"{by_group['g=b'].gained} become positive" in said


@pytest.mark.slow
def test_the_same_people_give_the_interval_of_a_paired_difference():
    t = people(4000)
    found = otfair.compare_audits(audits(t, n_bootstrap=400))
    figure = {(f.group, f.figure): f for f in found.figures}["g=a", "mean score"]
    change = (t.new - t.old)[t.g == "a"]
    error = change.std() / np.sqrt(len(change))
    d = figure.differences[0]
    assert (d.high - d.low) / (2 * 1.96) == approx(error, rel=0.15)
    # As of different people, it is as wide as two means are unsure.
    apart = otfair.compare_audits(audits(t, n_bootstrap=400), paired=False)
    d = {(f.group, f.figure): f for f in apart.figures}["g=a", "mean score"].differences[0]
    error = np.hypot(*(t[m][t.g == "a"].sem() for m in ("old", "new")))
    assert (d.high - d.low) / (2 * 1.96) == approx(error, rel=0.15)
    assert apart.moves == ()


def test_a_model_does_not_differ_from_itself():
    t = people()
    found = otfair.compare_audits(audits(t.assign(new=t.old)))
    assert not any(any(f.beyond) for f in found.figures)
    assert all(f.differences[0].value == 0 for f in found.figures)
    assert "nobody's decision changes" in comparison_sentences(found)[-1]


def test_other_people_are_independent():
    one, two = people(seed=0), people(seed=1)
    pair = {"one": audits(one, ["old"])["old"], "two": audits(two, ["old"])["old"]}
    found = otfair.compare_audits(pair)
    assert not found.paired
    assert "rows differ in g" in found.notes[0]
    assert not any(any(f.beyond) for f in found.figures)
    with pytest.raises(ValueError, match=r"people are the same, but .* rows differ in g"):
        otfair.compare_audits(pair, paired=True)
    fewer = {"one": pair["one"], "two": audits(two[:800], ["old"])["old"]}
    assert "900 rows and 800" in otfair.compare_audits(fewer).notes[0]


def test_people_whom_one_model_did_not_score_are_left_out():
    t = people()
    t.loc[:9, "new"] = np.nan
    found = otfair.compare_audits(audits(t, skip_unscored=True))
    assert found.paired
    assert found.people == (890, 890)
    old = {(f.group, f.figure): f for f in found.figures}["", "auc"].values[0].value
    assert old == approx(roc_auc_score(t.y[10:], t.old[10:]))


def test_three_models_numbers_and_no_labels(tmp_path):
    t = people().assign(other=lambda t: 1 - t.old)
    age = np.random.default_rng(0).uniform(20, 60, len(t))
    found = otfair.compare_audits(
        {
            m: otfair.audit(t[m], sensitive_features=pd.DataFrame({"age": age}), n_bootstrap=20)
            for m in ("old", "new", "other")
        }
    )
    assert found.models == ("old", "new", "other")
    figures = {f.figure for f in found.figures}
    assert "demographic_parity violation" in figures
    assert "auc" not in figures
    assert {move.group for move in found.moves} == {""}  # quarters of a number are no groups
    assert json.loads(found.to_json(tmp_path / "c.json"))["models"] == ["old", "new", "other"]
    assert found.to_html(tmp_path / "c.html").rstrip().endswith("</html>")


def test_without_resamples_chance_is_not_measured():
    found = otfair.compare_audits(audits(people(), n_bootstrap=0))
    assert not any(any(f.beyond) for f in found.figures)
    assert "not measured" in found.to_html()


def test_hostile_names_stay_text():
    t = people().rename(columns={"new": "<script>x</script>"})
    t["g"] = t["g"].replace("a", "<img src=x>")
    page = otfair.compare_audits(audits(t, ("old", "<script>x</script>"))).to_html()
    assert "<script>x" not in page
    assert "<img src=x>" not in page


@pytest.mark.parametrize("given", [{}, {"a": None}, []])
def test_two_are_needed(given):
    with pytest.raises(ValueError, match="must be two or more"):
        otfair.compare_audits(given)
