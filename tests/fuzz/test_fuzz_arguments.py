"""Settings at the edge: an error that names them, or numbers that are finite."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from fuzz import arguments

from otfair._io.settings import check_epsilon, check_real, check_seed, check_whole, shown


@pytest.mark.slow
def test_no_setting_breaks_a_call(fuzz_cases):
    cases = [arguments.case(seed) for seed in range(fuzz_cases)]
    failed = [f"{case}: {why}" for case in cases if (why := arguments.failure(case))]
    assert not failed, "\n".join(failed)


# What once failed, and how.
CORPUS = [
    ("OTFClassifier", {"epsilon": 1e-300}),  # OverflowError
    ("OTFClassifier", {"C": 10**400}),  # OverflowError
    ("OTFClassifier", {"new_people": 10**5000}),  # OverflowError
    ("OTFClassifier adam", {"balance": 1e200}),  # blamed the learning rate
    ("OTFBoostingClassifier xgboost", {"scale": len}),  # a TypeError of Python's
    ("relaxed_otf", {"epsilon": 1e-150}),  # not finite, without a word
    ("adjusted_otf", {"epsilon": 1e308}),
    ("smooth_otf", {"max_evaluations": float}),  # a TypeError of Python's
    ("make_fair_scorer", {"price": np.longdouble("1e4000")}),  # not finite, without a word
    ("CorrelationLoss", {"smoothing": 10**400}),  # OverflowError
    ("NormLoss", {"smoothing": 5e-324}),
    ("audit", {"n_bootstrap": "nan"}),  # a TypeError of Python's
    ("audit", {"receivers": Decimal("NaN")}),  # decimal.InvalidOperation
    ("FairDecisions", {"cost_false_positive": 1e-300, "cost_false_negative": 1e300}),
    ("tradeoff_curve", {"test_size": 10**5000}),  # a number that Python does not write
    ("tradeoff_curve", {"random_state": np.False_}),
    ("neighbour_gap", {"sample_weight": [1e308] * arguments.N}),  # RuntimeWarning of overflow
]


@pytest.mark.parametrize(("name", "settings"), CORPUS, ids=range(len(CORPUS)))
def test_what_once_failed(name, settings):
    (call,) = (call for call in arguments.CALLS if call.name == name)
    assert arguments.failure(arguments.Case(-1, call, settings)) is None


@pytest.mark.parametrize("value", [0, -0.0, 1e-300, 5e-324, 1e308, math.inf, math.nan, "1", True])
def test_an_error_has_the_name_the_value_and_the_range(value):
    with pytest.raises(ValueError, match=r"`epsilon` must .*; received ") as raised:
        check_epsilon(value)
    assert repr(value) in str(raised.value)
    with pytest.raises(ValueError, match=r"`share` must lie in \(2, 3\); received "):
        check_real("share", value, 2, 3, "()")


@pytest.mark.parametrize("value", [np.float32(0.5), np.float16(0.5), 0.5, np.float64(0.5)])
def test_numbers_of_numpy_are_numbers(value):
    assert check_real("share", value, 0, 1) == 0.5
    assert type(check_real("share", value, 0, 1)) is float
    assert type(check_whole("count", np.int8(3), 1)) is int


def test_whole_numbers():
    for value in (True, 1.0, "1", Decimal(1), 0, 2**31, 10**5000, None):
        with pytest.raises(ValueError, match="`count` must be at least 1, a whole number up to 21"):
            check_whole("count", value, 1)


def test_values_are_shown_however_long():
    assert shown(10**5000) == "a whole number of 16610 bits"
    assert len(shown(list(range(10**5)))) < 100
    for seed in (-1, 2**32, "a", 0.5):
        with pytest.raises(ValueError, match="`random_state` must be None, a whole number"):
            check_seed(seed)
