"""Metrics of Dask collections are those of one machine."""

import numpy as np
import pytest
from partitions import people

import otfair

GROUPS = ["sex", "race"]


def sides(both, columns, *more):
    return [
        (side["h"], side[columns], *(side[c] for c in more)) for side in (both.here, both.there)
    ]


def test_violations_are_the_same(workers):
    both = people(300)
    for metric, columns, more in (
        (otfair.pdp_violation, [*GROUPS, "age"], ()),
        (otfair.pdp_violation, GROUPS, ("w",)),
        (otfair.peo_violation, GROUPS, ("y", "w")),
        (otfair.predictive_parity_violation, GROUPS, ("y",)),
    ):
        a, b = (metric(*given) for given in sides(both, columns, *more))
        assert b == pytest.approx(a, rel=1e-10)
        assert a > 0
    a, b = (
        otfair.mean_score_difference(h, S, "equalized_odds", y)
        for h, S, y in sides(both, GROUPS, "y")
    )
    assert b == pytest.approx(a, rel=1e-10)


def test_differences_of_decisions_are_the_same(workers):
    both = people(300)
    for metric in (
        otfair.equalized_odds_difference,
        otfair.predictive_parity_difference,
        otfair.false_omission_difference,
    ):
        a, b = (
            metric(h, S, y, sample_weight=w, threshold=0.6)
            for h, S, y, w in sides(both, GROUPS, "y", "w")
        )
        assert b == pytest.approx(a, rel=1e-12)
        assert a > 0
    a, b = (otfair.demographic_parity_difference(*given) for given in sides(both, ["sex"]))
    assert b == pytest.approx(a, rel=1e-12)


def test_scores_that_are_no_numbers_are_refused(workers):
    there = people(30).there
    with pytest.raises(ValueError, match="must be finite"):
        otfair.pdp_violation(there["h"] * np.nan, there["sex"])
