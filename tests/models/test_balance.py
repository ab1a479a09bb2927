"""Factors that leave the same share of each part, found where the shares are known functions."""

from __future__ import annotations

import numpy as np
import pytest

from otfair.models._balance import EVENINGS, PART_HALVINGS, even_out


class Shares:
    """Shares of parts that meet: the logit of each is linear in the logarithms of all factors."""

    def __init__(self, slope, offset) -> None:
        self.slope, self.offset, self.calls = np.array(slope), np.array(offset), 0

    def __call__(self, factors: dict[str, float]) -> dict[str, float]:
        self.calls += 1
        logits = self.offset - self.slope @ np.log(list(factors.values()))
        return dict(zip(factors, (1 / (1 + np.exp(-logits))).tolist()))


def test_parts_that_do_not_meet_are_halved_at_once():
    shares = Shares(np.eye(2), [1.0, -0.5])  # left is 1 / (1 + factor / unit)
    found = even_out(shares, {"a": 1.0, "b": 1.0}, 0.5)
    assert list(found.values()) == pytest.approx(np.exp([1.0, -0.5]), rel=0.1)
    assert shares.calls <= 3


@pytest.mark.parametrize("seed", range(8))
def test_parts_that_meet_are_halved_too(seed):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(2, 6))
    shares = Shares(
        np.diag(rng.uniform(0.7, 2, p)) + rng.uniform(0, 0.3, (p, p)), rng.normal(size=p)
    )
    found = shares(even_out(shares, dict.fromkeys("abcdef"[:p], 1.0), 0.5))
    assert shares.calls <= PART_HALVINGS + 1
    np.testing.assert_allclose(list(found.values()), 0.5, atol=0.031)


def test_without_an_aim_shares_are_even_and_the_product_of_factors_stays():
    shares = Shares([[1.0, 0.3], [0.2, 1.2]], [2.0, 0.5])
    start = {"a": 2.0, "b": 3.0}
    found = even_out(shares, start)
    assert shares.calls <= EVENINGS
    assert np.prod(list(found.values())) == pytest.approx(6.0)
    assert np.ptp(list(shares(found).values())) < 0.07
    assert np.ptp(list(shares(start).values())) > 0.2


def test_factors_that_leave_even_shares_stay():
    shares = Shares(np.eye(2), [0.1, 0.0])
    assert even_out(shares, {"a": 1.0, "b": 1.0}) == {"a": 1.0, "b": 1.0}
    assert shares.calls == 1


def test_a_part_without_a_violation_moves_with_the_others():
    shares = Shares([[1.0]], [1.0])
    found = even_out(lambda factors: shares({"a": factors["a"]}), {"a": 1.0, "fair": 5.0}, 0.5)
    assert found["fair"] / 5 == pytest.approx(found["a"])
    assert found["a"] == pytest.approx(np.e, rel=0.1)


def test_a_part_that_the_others_halve_does_not_run_away():
    # Whatever its own factor, b is nearly fair: the search ends, and a is halved.
    def shares(factors: dict[str, float]) -> dict[str, float]:
        return {"a": 1 / (1 + factors["a"]), "b": 0.0}

    found = even_out(shares, {"a": 8.0, "b": 1.0}, 0.5)
    assert np.isfinite(list(found.values())).all()
    assert all(factor > 0 for factor in found.values())


@pytest.mark.parametrize("aim", [0.5, None])
def test_shares_that_no_factor_changes_end_the_search(aim):
    found = even_out(lambda factors: {"a": 0.9, "b": 0.2}, {"a": 1.0, "b": 2.0}, aim)
    assert np.isfinite(list(found.values())).all()
