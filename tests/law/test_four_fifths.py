"""Four fifths: ratios, tests and shortfalls against SciPy and hand-computed figures."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency, fisher_exact, norm

import otfair


def compared(counts: dict[str, tuple[int, int]], **settings) -> pd.DataFrame:
    """Compare groups of so many people, of whom some are selected."""
    decisions, group = [], []
    for name, (n, s) in counts.items():
        group += [name] * n
        decisions += [1] * s + [0] * (n - s)
    found = otfair.four_fifths(decisions, group=group, **settings)
    return found.tables["group"].set_index("category")


def test_hand_computed():
    # 48 of 80 against 12 of 40: the pooled rate is .5, its standard error sqrt(.25 * .0375).
    table = compared({"men": (80, 48), "women": (40, 12)})
    women = table.loc["women"]
    assert women["impact_ratio"] == 0.5
    assert women["below_four_fifths"] is True
    assert women["standard_deviations"] == pytest.approx(-0.3 / np.sqrt(0.25 * 0.0375), rel=1e-14)
    assert women["short_of_reference"] == 24 - 12
    assert women["short_of_four_fifths"] == 20 - 12  # 19.2 rounded up
    assert table.loc["men", "status"] == "reference"
    assert np.isnan(table.loc["men", "p_fisher"])


def test_tests_are_scipys():
    rng = np.random.default_rng(0)
    for _ in range(25):
        n, m = rng.integers(5, 300, 2)
        s, r = rng.binomial([n, m], rng.uniform(0.1, 0.9, 2))
        table = compared({"a": (n, s), "b": (m, r)}, reference="b")
        if r == 0:
            continue
        square = [[s, n - s], [r, m - r]]
        assert table.loc["a", "p_fisher"] == fisher_exact(square)[1]
        if 0 < s + r < n + m:
            # Without its correction, chi squared is the square of the standard deviations.
            chi, p, *_ = chi2_contingency(square, correction=False)
            assert table.loc["a", "standard_deviations"] ** 2 == pytest.approx(chi, abs=1e-12)
            assert table.loc["a", "p_normal"] == pytest.approx(p, rel=1e-9)
            z = table.loc["a", "standard_deviations"]
            assert table.loc["a", "p_normal"] == pytest.approx(2 * norm.cdf(-abs(z)))


def test_a_shortfall_is_the_fewest_people_that_reach_the_rate():
    rng = np.random.default_rng(1)
    for _ in range(25):
        n, m = (int(k) for k in rng.integers(1, 60, 2))
        s, r = int(rng.integers(0, n + 1)), int(rng.integers(1, m + 1))
        row = compared({"a": (n, s), "b": (m, r)}, reference="b").loc["a"]
        for name, share in (("short_of_reference", (1, 1)), ("short_of_four_fifths", (4, 5))):
            enough = [k for k in range(n + 1) if (s + k) * m * share[1] >= share[0] * r * n]
            assert row[name] == enough[0]
        assert row["below_four_fifths"] == (row["short_of_four_fifths"] > 0)


def test_four_fifths_exactly_is_not_below():
    assert not compared({"a": (100, 40), "b": (100, 50)}).loc["a", "below_four_fifths"]
    assert compared({"a": (1000, 399), "b": (100, 50)}).loc["a", "below_four_fifths"]


def test_a_group_under_two_percent_is_no_reference_unless_named():
    counts = {"large": (500, 100), "other": (490, 60), "tiny": (5, 5)}
    table = compared(counts)
    assert table.loc["large", "status"] == "reference"
    assert table.loc["tiny", "status"] == "under 2 %; few people"
    assert table.loc["tiny", "impact_ratio"] == 5.0
    assert compared(counts, reference="tiny").loc["large", "impact_ratio"] == 0.2


def test_few_people_are_flagged():
    table = compared({"a": (8, 2), "b": (9, 6)})
    assert table.loc["a", "status"] == "few people"
    assert compared({"a": (80, 20), "b": (90, 60)}).loc["a", "status"] == ""


def test_nobody_and_everybody_selected():
    table = compared({"a": (8, 0), "b": (9, 0)})
    assert table["impact_ratio"].isna().all()
    assert table["p_fisher"].isna().all()
    table = compared({"a": (8, 8), "b": (9, 9)})
    assert table["impact_ratio"].to_list()[:2] == [1.0, 1.0]
    assert np.isnan(table.loc["a", "standard_deviations"])
    assert table.loc["a", "p_fisher"] == 1.0


def test_a_reference_of_whom_nobody_is_selected():
    decisions, group = [1, 0, 0, 0], ["a", "a", "b", "b"]
    found = otfair.four_fifths(decisions, group=group, reference="b")
    assert found.tables["group"]["p_fisher"].isna().all()
    assert "Nobody of the reference, b, is selected" in " ".join(found.parts[0].notes)


def test_scores_are_decided_by_a_threshold():
    scores, group = [0.2, 0.5, 0.7, 0.9], ["a", "b", "a", "b"]
    found = otfair.four_fifths(scores, group=group)
    assert found.tables["group"]["selected"].to_list() == [1, 1, 0]
    found = otfair.four_fifths(scores, group=group, threshold=0.6, favourable=0)
    assert found.tables["group"]["selected"].to_list() == [1, 1, 0]
    assert "is at most 0.6" in found.record.outcome


def test_scores_of_another_range_need_a_threshold():
    scores, group = [20, 50, 70, 90], ["a", "b", "a", "b"]
    with pytest.raises(ValueError, match=r"`threshold` is needed, as scores range from 20 to 90"):
        otfair.four_fifths(scores, group=group)
    found = otfair.four_fifths(scores, group=group, threshold=60)
    assert found.tables["group"]["selected"].to_list() == [1, 1, 0]


def test_a_threshold_does_not_touch_decisions():
    found = otfair.four_fifths([1, 0, 1, 1], group=list("abab"), threshold=1.0)
    assert found.tables["group"]["selected"].to_list() == [2, 1, 0]


def test_one_table_for_each_column_and_a_reference_of_one_of_them():
    group = pd.DataFrame({"sex": list("fmfm"), "race": list("aabb")})
    found = otfair.four_fifths([1, 1, 0, 1], group=group, reference="f")
    assert list(found.tables) == ["sex", "race"]
    sex = found.tables["sex"].set_index("category")
    assert sex.loc["m", "impact_ratio"] == 2.0
    by_column = {"sex": "f", "race": "b"}
    race = otfair.four_fifths([1, 1, 0, 1], group=group, reference=by_column).tables["race"]
    assert race["impact_ratio"].to_list()[:2] == [2.0, 1.0]
    with pytest.raises(ValueError, match=r"`reference` has sex=b, which is no group; there are"):
        otfair.four_fifths([1, 1, 0, 1], group=group, reference={"sex": "b"})
    with pytest.raises(ValueError, match=r"`reference` is 'z', which no group is; they are 'f'"):
        otfair.four_fifths([1, 1, 0, 1], group=group, reference="z")


def test_bounds_use_groups_that_may_be_the_reference():
    decisions = [1, 1, 0, 0, 1, 0, 0, 0, 1, 0]
    group = ["a"] * 4 + ["b"] * 4 + [None] * 2
    table = otfair.four_fifths(decisions, group=group).tables["group"].set_index("category")
    # Least: 1 of 5 against 3 of 5. Most: 2 of 5 against 2 of 5.
    assert table.loc["b", ["lowest", "highest"]].to_list() == pytest.approx([1 / 3, 1.0])


def test_it_says_that_it_is_a_rule_of_thumb_of_us_employment_law():
    found = otfair.four_fifths([1, 0], group=["a", "b"])
    assert "rule of thumb of US employment law" in found.rule.about
    assert "means nothing elsewhere" in found.to_html()
