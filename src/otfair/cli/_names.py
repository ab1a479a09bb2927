"""What options may be called: names that the library knows, here because asking it takes seconds.

Classes, and the cards of datasets, know their names; a test compares these with theirs.
"""

from __future__ import annotations

DATASETS = ("adult", "bank", "dutch", "diabetes", "acs_income", "synthetic")
EXPERIMENTS = ("adult", "bank", "dutch", "diabetes")  # datasets of the paper
NOTIONS = (
    "demographic_parity", "equalized_odds", "equal_opportunity", "predictive_equality",
    "conditional_parity", "predictive_parity",
)  # fmt: skip
WITH_CONTROL = ("conditional_parity",)  # notions that need columns to compare within
REGULARIZERS = ("otf", "norm", "correlation", "barycenter")
BOOSTERS = ("xgboost", "lightgbm")
CRITERIA = ("correlation", "difference")  # the first is the default
UNFAIRNESS = (  # that a curve may show
    "violation", "pdp", "peo", "dp_difference", "eo_difference", "pp_difference", "otf_cost",
)  # fmt: skip
