"""Violations against direct Pearson correlations."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import otfair
from otfair.metrics import ViolationOf


def sample(n: int = 200, seed: int = 0):
    rng = np.random.default_rng(seed)
    table = {"race": rng.choice(["a", "b", "c"], n), "age": rng.normal(size=n)}
    return rng.uniform(size=n), table, rng.integers(0, 2, n)


def direct(h, table):
    columns = [(table["race"] == v).astype(float) for v in np.unique(table["race"])]
    return max(abs(np.corrcoef(h, c)[0, 1]) for c in [*columns, table["age"]])


def test_pdp_is_the_largest_correlation():
    h, table, _ = sample()
    assert otfair.pdp_violation(h, table) == pytest.approx(direct(h, table), rel=1e-12)


def test_peo_is_the_largest_within_a_label():
    h, table, y = sample()
    within = [direct(h[y == v], {k: c[y == v] for k, c in table.items()}) for v in (0, 1)]
    assert otfair.peo_violation(h, table, y) == pytest.approx(max(within), rel=1e-12)


def test_integer_weights_are_copies():
    h, table, y = sample()
    w = np.random.default_rng(1).integers(0, 4, len(h))
    copies = {k: np.repeat(c, w) for k, c in table.items()}
    weighted = otfair.peo_violation(h, table, y, w)
    copied = otfair.peo_violation(np.repeat(h, w), copies, np.repeat(y, w))
    assert weighted == pytest.approx(copied, rel=1e-12)


def test_constant_scores_are_fair():
    _, table, y = sample()
    assert otfair.pdp_violation(np.full(200, 0.3), table) == 0
    assert otfair.peo_violation(np.full(200, 0.3), table, y) == 0


def test_lengths_that_differ_are_refused():
    h, table, _ = sample()
    with pytest.raises(ValueError, match="one score per person"):
        otfair.pdp_violation(h[:10], table)


def test_scores_of_both_classes_are_refused():
    h, table, _ = sample()
    with pytest.raises(ValueError, match=r"last column, `\[:, 1\]`"):
        otfair.pdp_violation(np.column_stack([1 - h, h]), table)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_that_are_no_numbers_have_no_violation(bad):
    # Of a model that diverged; 0 would call it fair.
    violation = ViolationOf(otfair.DemographicParity().people(["a", "b"] * 4))
    scores = np.linspace(0.1, 0.9, 8)
    assert violation(scores) > 0
    for wrong in (np.where(np.arange(8) == 3, bad, scores), np.full(8, bad)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert np.isnan(violation(wrong))


# Input that would be misread


def test_codes_are_groups_whatever_their_type():
    # Floats were numbers once, and the correlation with a code says nothing of its groups.
    rng = np.random.default_rng(3)
    codes = rng.integers(1, 4, 400)
    h = np.where(codes == 2, 0.2, 0.6) + rng.uniform(0, 0.1, 400)
    y = rng.integers(0, 2, 400)
    truth = otfair.pdp_violation(h, codes.astype(str))
    assert truth > 0.9
    for S in (codes, codes.astype(float), codes.astype(object), pd.Series(codes * 1.0)):
        assert otfair.pdp_violation(h, S) == pytest.approx(truth, rel=1e-12)
    gaps = pd.Series(codes * 1.0).mask(np.arange(400) % 9 == 0)
    rest = gaps.notna().to_numpy()
    expected = otfair.pdp_violation(h[rest], codes[rest].astype(str))
    for S in (gaps, gaps.to_numpy(), gaps.astype("Int64"), {"race": list(gaps)}):
        assert otfair.pdp_violation(h, S) == pytest.approx(expected, rel=1e-12)
    expected = otfair.peo_violation(h[rest], codes[rest].astype(str), y[rest])
    assert otfair.peo_violation(h, gaps, y) == pytest.approx(expected, rel=1e-12)


def test_one_hot_columns_of_any_type_have_the_same_violation():
    h, table, y = sample()
    onehot = np.stack([table["race"] == v for v in "abc"], 1)
    expected = otfair.peo_violation(h, table["race"], y)
    for kind in (bool, int, float):
        assert otfair.peo_violation(h, onehot.astype(kind), y) == pytest.approx(expected)


def test_metrics_and_audits_agree_on_tables_of_every_kind():
    rng = np.random.default_rng(0)
    n = 300
    h, y = rng.uniform(size=n), rng.integers(0, 2, n)
    mixed = np.array([1, "one", 2.5, True], dtype=object)[rng.integers(0, 4, n)]
    columns = {
        "floats": pd.Series(rng.integers(1, 5, n) * 1.0).mask(rng.random(n) < 0.1),
        "mixed": pd.Series(mixed),
        "text": pd.Series(rng.choice(["a", None, "b"], n)),
        "category": pd.Series(rng.choice(["a", "b", "c"], n), dtype="category"),
        "flag": pd.Series(rng.random(n) < 0.5),
        "age": pd.Series(rng.integers(18, 80, n)),
    }
    yes_no = np.where(y == 1, "yes", "no").astype(object)
    unknown = np.where(rng.random(n) < 0.1, None, yes_no)
    for name, column in columns.items():
        named = unknown if name in ("flag", "floats") else yes_no
        S = pd.DataFrame({name: column})
        found = otfair.audit(h, sensitive_features=S, labels=named, n_bootstrap=0, min_people=1)
        summary = found.summary().set_index("notion")["violation"]
        told = pd.notna(named)  # an audit leaves out who has no label; parity needs none
        parity = otfair.pdp_violation(h[told], S[told])
        assert parity == pytest.approx(summary["demographic_parity"]), name
        assert otfair.peo_violation(h, S, named) == pytest.approx(summary["equalized_odds"]), name
        if name != "age":
            gaps = [v.rate_difference.value for v in found.violations]
            parity = otfair.demographic_parity_difference(h[told], S[told])
            assert parity == pytest.approx(gaps[0]), name
            odds = otfair.equalized_odds_difference(h, S, named)
            assert odds == pytest.approx(gaps[1]), name
            numbers = np.where(told, named == "yes", np.nan).astype(float)
            assert otfair.equalized_odds_difference(h, S, numbers) == odds


def test_rows_of_another_order_are_refused_by_their_indexes():
    h, table, y = sample()
    race, scores = pd.Series(table["race"], index=range(50, 250)), pd.Series(h, range(50, 250))
    known = otfair.pdp_violation(scores, race)
    shuffled = race.sample(frac=1, random_state=0)
    with pytest.raises(ValueError, match="same labels in another order than that of `scores`"):
        otfair.pdp_violation(scores, shuffled)
    with pytest.raises(ValueError, match="`labels` has other labels than"):
        otfair.peo_violation(h, race, pd.Series(y, index=range(1, 201)))
    with pytest.raises(ValueError, match="`sample_weight` has the same labels in another"):
        otfair.pdp_violation(scores, race, pd.Series(np.ones(200), index=shuffled.index))
    assert otfair.pdp_violation(scores, shuffled.loc[scores.index]) == known
    assert otfair.pdp_violation(h, race.reset_index(drop=True)) == known


def test_many_codes_are_a_number_with_a_warning():
    rng = np.random.default_rng(0)
    h, area = rng.uniform(size=300), rng.integers(0, 12, 300)
    with pytest.warns(UserWarning, match="`categorical='area'`"):
        number = otfair.pdp_violation(h, {"area": area})
    assert number == otfair.pdp_violation(h, {"area": area}, continuous="area")
    groups = otfair.pdp_violation(h, {"area": area}, categorical="area")
    assert groups == pytest.approx(otfair.pdp_violation(h, {"area": area.astype(str)}))


def test_labels_that_do_not_tell_which_is_positive_are_refused():
    h, table, y = sample()
    with pytest.raises(ValueError, match="must be binary; received 2 values"):
        otfair.peo_violation(h, table, np.where(y == 1, "left", "right"))
