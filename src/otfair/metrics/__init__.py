"""How unfair scores and decisions are."""

from otfair.metrics._scorers import (
    FairnessScorer,
    demographic_parity_difference_scorer,
    equalized_odds_difference_scorer,
    make_fair_scorer,
    pdp_scorer,
    peo_scorer,
)
from otfair.metrics._violations import (
    DifferenceOf,
    ViolationOf,
    demographic_parity_difference,
    equalized_odds_difference,
    pdp_violation,
    peo_violation,
    read_groups,
    violation,
)

__all__ = [
    "DifferenceOf",
    "FairnessScorer",
    "ViolationOf",
    "demographic_parity_difference",
    "demographic_parity_difference_scorer",
    "equalized_odds_difference",
    "equalized_odds_difference_scorer",
    "make_fair_scorer",
    "pdp_scorer",
    "pdp_violation",
    "peo_scorer",
    "peo_violation",
    "read_groups",
    "violation",
]
