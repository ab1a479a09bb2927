"""How unfair scores are: certainty of rates, tiny scores, and small groups."""

from __future__ import annotations

import numpy as np
import pytest

import otfair

N = 400
approx = pytest.approx


@pytest.fixture(scope="module")
def data():
    return otfair.load_dataset("synthetic", n=N)


def test_a_rate_at_an_end_is_not_certain():
    # A group of 40, all above the threshold: Wilson's interval begins at n / (n + z^2).
    wilson = 40 / (40 + 1.96**2)
    rng = np.random.default_rng(0)
    group = np.repeat(["a", "b"], [40, 360])
    h = np.where(group == "a", rng.uniform(0.6, 0.9, 400), rng.uniform(0.05, 0.95, 400))
    v = otfair.audit(h, sensitive_features=group, n_bootstrap=2000).findings[0].violation
    all_of_a = v.groups[0].rate
    assert (all_of_a.value, all_of_a.high) == (1, approx(1, abs=1e-3))
    assert all_of_a.low == approx(wilson, abs=0.01)
    decided = (h > 0.5) & (group == "b")
    v = otfair.audit(decided, sensitive_features=group, labels=decided).findings[0].violation
    none_of_a = v.groups[0]
    assert none_of_a.rate.high == approx(1 - wilson, abs=0.02)
    assert none_of_a.base_rate.high == approx(1 - wilson, abs=0.02)
    assert v.rate_ratio.value == 0
    assert 0.05 < v.rate_ratio.high < 0.3
    # All of both groups decided alike: the difference may still not be 0.
    fair = otfair.audit(0.6 + 0.1 * h, sensitive_features=group).findings[0].violation
    assert 0.03 < fair.rate_difference.high < 0.15


@pytest.mark.parametrize(("scale", "shift"), [(1e-7, 0.0), (1e-9, 0.0), (1e-7, 0.9)])
def test_scores_that_hardly_differ_are_as_unfair(data, scale, shift):
    options = {"sensitive_features": data.sensitive_features[["sex", "age"]], "labels": data.y}
    h = np.asarray(data.truth.scores)
    plain, tiny = (otfair.audit(x, n_bootstrap=20, **options) for x in (h, shift + scale * h))
    for a, b in zip(plain.violations, tiny.violations):
        for one, two in ((a.value.value, b.value.value), (a.value.high, b.value.high)):
            assert two == approx(one, rel=1e-5)
        assert b.chance == approx(a.chance, rel=1e-5)
        wide = [[g.mean_score.high - g.mean_score.low for g in v.groups] for v in (a, b)]
        assert wide[1] == approx(scale * np.array(wide[0]), rel=1e-5)


def test_equal_scores_within_a_label_are_fair(data):
    h = np.where(data.y == 1, 0.7, 0.1 + 1e-17)
    options = {"sensitive_features": data.sensitive_features[["sex", "age"]], "labels": data.y}
    fair = otfair.audit(h, notions="equalized_odds", n_bootstrap=20, **options)
    assert [(v.value.value, v.value.high, v.chance) for v in fair.violations] == [(0, 0, 0)] * 2


def test_a_group_of_one_says_next_to_nothing():
    h = np.linspace(0.1, 0.9, 60)
    a = otfair.audit(h, sensitive_features=["a"] * 59 + ["b"])
    alone = a.findings[0].violation.groups[1]
    assert alone.small
    assert alone.mean_score.high - alone.mean_score.low > 0.5
    assert alone.rate.high - alone.rate.low > 0.5
    heavy = otfair.audit(h, sensitive_features=["a"] * 59 + ["b"], sample_weight=[100] * 60)
    assert heavy.findings[0].violation.groups[1].rate == alone.rate  # one person all the same
