"""The synthetic dataset: the unfairness found is the unfairness put in."""

import hashlib

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit

import otfair
from otfair import make_synthetic

GROUPS = ["sex=Female", "sex=Male", "origin=Local", "origin=Regional", "origin=Abroad"]


def test_named_columns_of_mixed_types():
    d = make_synthetic()
    assert d.X.shape == (4000, 10)
    kinds = {str(dtype) for dtype in d.X.dtypes}
    assert kinds == {"int64", "float64", "bool", "category"}
    assert d.X["education"].cat.ordered
    assert not set(d.X) & set(d.sensitive_features)
    assert d.sensitive_features["sex"].cat.categories.tolist() == ["Female", "Male"]
    assert d.sensitive_features["age"].between(21, 70).all()
    assert set(np.unique(d.y)) == {0, 1}
    assert not d.X.isna().any(axis=None)


def test_group_sizes():
    shares = (0.5, 0.45, 0.05)
    S = make_synthetic(n=50000, female_share=0.2, origin_shares=shares).sensitive_features
    # Five standard errors of a share are at most 0.012.
    assert (S["sex"] == "Female").mean() == pytest.approx(0.2, abs=0.012)
    found = S["origin"].value_counts(normalize=True)
    assert found[["Local", "Regional", "Abroad"]].tolist() == pytest.approx(shares, abs=0.012)


@pytest.mark.parametrize("seed", range(3))
def test_no_bias_no_unfairness(seed):
    n = 60000
    d = make_synthetic(n=n, direct_bias=0, proxy_bias=0, seed=seed)
    u = d.truth.unfairness
    # Every gap is chance, of the size that chance has: a gap of two means has the standard error
    # std / sqrt(n p (1 - p)), a correlation 1 / sqrt(n); for the weighted ones, fewer people count.
    assert (u["proxy"] == 0).all()
    assert (u["direct"] == 0).all()
    for name in GROUPS:
        column, group = name.split("=")
        p = (d.sensitive_features[column] == group).mean()
        assert abs(u.loc[name, "gap"]) < 5 * d.truth.scores.std() / np.sqrt(n * p * (1 - p))
    assert (u["pdp"] < 5 / np.sqrt(n)).all()
    assert (u["peo"] < 10 / np.sqrt(n)).all()
    np.testing.assert_array_equal(d.truth.scores, d.truth.unbiased_scores)
    np.testing.assert_array_equal(d.y, d.truth.unbiased_labels)


def test_direct_bias_is_the_gap_it_says():
    # Independent oracle: give all people the logit of one sex, then of the other.
    d = make_synthetic(n=60000, direct_bias={"sex": 0.8}, proxy_bias=0, female_share=0.3)
    merit = logit(d.truth.unbiased_scores)
    expected = np.mean(expit(merit + 0.8 * 0.3) - expit(merit - 0.8 * 0.7))
    u = d.truth.unfairness.loc["sex=Male"]
    assert u["direct"] == pytest.approx(expected, abs=0.005)
    assert u["proxy"] == 0
    assert u["gap"] == pytest.approx(expected, abs=0.015)
    # Logits differ by the bias, and by nothing else, between people of the two sexes.
    push = logit(d.truth.scores) - merit
    women = (d.sensitive_features["sex"] == "Female").to_numpy()
    np.testing.assert_allclose(push[women], -0.8 * 0.7, atol=1e-9)
    np.testing.assert_allclose(push[~women], 0.8 * 0.3, atol=1e-9)


def test_gap_is_the_difference_of_means():
    d = make_synthetic(n=3000, seed=4)
    women = (d.sensitive_features["sex"] == "Female").to_numpy()
    h = d.truth.scores
    u = d.truth.unfairness
    assert u.loc["sex=Female", "gap"] == pytest.approx(h[women].mean() - h[~women].mean())
    assert u.loc["sex=Female", "pdp"] == pytest.approx(abs(np.corrcoef(h, women)[0, 1]))
    ages = d.sensitive_features["age"].to_numpy()
    slope = np.polyfit(ages, h, 1)[0]
    assert u.loc["age", "gap"] == pytest.approx(slope * ages.std())
    parts = u["chance"] + u["proxy"] + u["direct"]
    np.testing.assert_allclose(parts, u["gap"], atol=1e-12)


def test_peo_of_the_truth_is_what_drawn_labels_show():
    d = make_synthetic(n=60000)
    for name in GROUPS:
        column, group = name.split("=")
        s = d.sensitive_features[column] == group
        drawn = [abs(np.corrcoef(d.truth.scores[d.y == l], s[d.y == l])[0, 1]) for l in (0, 1)]
        assert d.truth.unfairness.loc[name, "peo"] == pytest.approx(max(drawn), abs=0.02)


def test_peo_is_that_of_the_worse_label():
    d = make_synthetic(seed=3)
    h, u = d.truth.scores, d.truth.unfairness
    worse = set()
    for name in GROUPS:
        column, group = name.split("=")
        s = (d.sensitive_features[column] == group).to_numpy(dtype=float)
        by_label = []
        for weight in (1 - h, h):
            c = np.cov(h, s, aweights=weight)
            by_label.append(abs(c[0, 1]) / np.sqrt(c[0, 0] * c[1, 1]))
        assert u.loc[name, "peo"] == pytest.approx(max(by_label))
        worse.add(int(np.argmax(by_label)))
    assert worse == {0, 1}  # both labels are put to the test


@pytest.mark.parametrize("attribute", ["sex", "origin", "age"])
@pytest.mark.parametrize("kind", ["direct", "proxy"])
def test_each_bias_touches_its_own_attribute(attribute, kind):
    other = {"direct": "proxy_bias", "proxy": "direct_bias"}[kind]
    gaps = []
    for strength in (0.5, 1.0, 2.0):
        d = make_synthetic(n=20000, **{f"{kind}_bias": {attribute: strength}, other: 0.0})
        u = d.truth.unfairness[kind].abs()
        own = u[[name.startswith(attribute) for name in u.index]]
        gaps.append(own.max())
        assert u.drop(own.index).max() < 0.012  # chance alone
    # More bias, more unfairness: from plain to strong.
    assert gaps == sorted(gaps)
    assert gaps[0] > 0.02
    assert gaps[2] > 2 * gaps[0]


def test_proxies_tell_the_group_only_under_proxy_bias():
    def mean_age_by_history(d):
        long = d.X["credit_history_years"] > 9
        ages = d.sensitive_features["age"]
        return ages[long].mean() - ages[~long].mean()

    assert mean_age_by_history(make_synthetic(n=20000, proxy_bias=1)) > 4
    assert abs(mean_age_by_history(make_synthetic(n=20000, proxy_bias=0))) < 1


def test_scores_are_the_probabilities_of_labels():
    d = make_synthetic(n=60000, label_noise=0.1)
    h = d.truth.scores
    assert h.min() >= 0.1
    assert h.max() <= 0.9
    tenths = pd.cut(h, np.linspace(0.1, 0.9, 9), include_lowest=True)
    table = pd.DataFrame({"h": h, "y": d.y}).groupby(tenths, observed=True).mean()
    np.testing.assert_allclose(table["y"], table["h"], atol=0.03)


def test_scores_depend_on_the_visible_table_only():
    # Two people alike in every column have the same score.
    d = make_synthetic(n=30000, seed=2)
    table = pd.concat([d.X, d.sensitive_features], axis=1)
    keys = [
        "late_payments",
        "education",
        "purpose",
        "has_guarantor",
        "sector",
        "area",
        "sex",
        "origin",
    ]
    numbers = table.drop(columns=keys)
    design = np.column_stack(
        [
            np.log(numbers[["income", "loan_amount"]]),
            numbers[["debt_ratio", "credit_history_years", "age"]],
            table["late_payments"],
            pd.get_dummies(table[keys[1:]].astype(str)),
        ]
    ).astype(float)
    # The logit is linear in the columns, so a regression must reproduce it exactly.
    target = logit(d.truth.scores)
    fitted = design @ np.linalg.lstsq(design, target, rcond=None)[0]
    np.testing.assert_allclose(fitted, target, atol=1e-6)


def test_same_seed_same_people_and_more_are_added_after_them():
    small, large = make_synthetic(n=100, seed=7), make_synthetic(n=300, seed=7)
    pd.testing.assert_frame_equal(small.X, large.X.head(100))
    np.testing.assert_array_equal(small.y, large.y[:100])
    assert not make_synthetic(n=100, seed=8).X.equals(small.X)


def test_people_do_not_change_with_the_bias():
    # Same luck under every bias: what differs between two datasets is the bias alone.
    none, strong = make_synthetic(direct_bias=0, proxy_bias=0), make_synthetic(direct_bias=2)
    pd.testing.assert_frame_equal(none.sensitive_features, strong.sensitive_features)
    np.testing.assert_array_equal(none.y, strong.truth.unbiased_labels)
    assert none.X["income"].equals(strong.X["income"])


def test_values_are_pinned():
    # Figures in examples and reports must survive new versions of NumPy and pandas.
    d = make_synthetic(n=1000)
    text = pd.concat([d.X, d.sensitive_features], axis=1).assign(y=d.y).to_csv(index=False)
    assert hashlib.sha256(text.encode()).hexdigest() == (
        "9a7f8367fe7429c0599fe708b83de126693794a53cbc1795bdb9e591a1c7c121"
    )


def test_load_dataset_passes_parameters_on():
    a = otfair.load_dataset("synthetic", n=50, label_noise=0.2, seed=3)
    b = make_synthetic(n=50, label_noise=0.2, seed=3)
    pd.testing.assert_frame_equal(a.X, b.X)
    np.testing.assert_array_equal(a.y, b.y)
    assert "label noise 0.2" in a.description


@pytest.mark.parametrize(
    ("parameters", "error", "said"),
    [
        ({"rows": 5}, TypeError, "no parameter `rows`.*n, female_share"),
        ({"n": 0}, ValueError, "`n` must be at least 1; got 0"),
        ({"n": 10.5}, TypeError, "`n` must be a whole number; got 10.5"),
        ({"seed": -1}, ValueError, "`seed` must be at least 0"),
        ({"female_share": 1.0}, ValueError, "`female_share`.*received 1.0"),
        ({"origin_shares": (0.5, 0.5)}, ValueError, "`origin_shares` must be three"),
        ({"origin_shares": (0.5, 0.4, 0.2)}, ValueError, "sum to 1"),
        ({"label_noise": 0.5}, ValueError, "`label_noise`.*received 0.5"),
        ({"direct_bias": {"gender": 1}}, ValueError, "names gender; the attributes are sex"),
        ({"proxy_bias": float("nan")}, ValueError, "`proxy_bias` must lie in"),
    ],
)
def test_wrong_parameters(parameters, error, said):
    with pytest.raises(error, match=said):
        otfair.load_dataset("synthetic", **parameters)


def test_a_group_without_people_has_no_row():
    d = make_synthetic(n=5, seed=1, origin_shares=(0.998, 0.001, 0.001))
    assert "origin=Abroad" not in d.truth.unfairness.index
    assert not d.truth.unfairness.isna().any(axis=None)
