"""The demonstration's parts; the whole of it is run by `test_cli.py`."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from otfair import exact_otf, pdp_violation
from otfair.cli.demo import Judge, Row, _at_half, _comparison, _explanation


def row(method: str, pdp: float, auc: float) -> Row:
    return Row(method, 0.5, auc, pdp, 0.0, 0.0, 0.0, np.empty(0))


def test_aucs_are_read_off_the_lines_between_models_at_half_the_violation():
    rows = [
        row("unconstrained", 0.4, 0.9),
        row("Norm", 0.3, 0.8),
        row("OTF", 0.1, 0.84),
        row("Norm", 0.1, 0.6),
    ]
    assert _at_half(rows) == pytest.approx([0.7, 0.86])


@pytest.mark.slow
def test_the_comparison_says_how_sure_it_is():
    rng = np.random.default_rng(0)
    people = pd.DataFrame(
        {"sex": rng.choice(["f", "m"], 400), "origin": rng.choice(list("ab"), 400)}
    )
    judge = Judge(rng.normal(size=(400, 1)), rng.integers(2, size=400), people)
    # Scores of sex, label and chance; OTF's are chance alone, Norm's keep the label.
    bias, label = (people["sex"] == "m").to_numpy() * 0.2, judge.y * 0.2
    chance = 0.3 * rng.random(400)
    models = {"unconstrained": bias + label, "Norm": label, "OTF": 0 * label}
    rows = judge.resampled(
        [replace(row(m, 0, 0), scores=0.1 + h + chance) for m, h in models.items()], np.arange(400)
    )
    assert rows[0].pdp == pytest.approx(pdp_violation(rows[0].scores, people))
    found = re.search(
        r"OTF and .*difference of (\S+) \((\S+) to (\S+) in 95 %", _comparison(rows, judge)
    )
    assert found is not None
    difference, low, high = map(float, found.groups())
    assert low < difference < high < 0
    assert high - low < 0.2


def test_distances_are_told_as_the_audit_tells_them():
    # One person gives to another who is 1 away, until each group's mean score is 0.4.
    people = pd.DataFrame({"sex": list("fmm")})
    judge = Judge(np.array([[0.0], [1.0], [5.0]]), np.array([0, 1, 1]), people)
    assert judge.typical() == pytest.approx(4 / 5)  # of distances 1, 4 and 5
    exact, moved = exact_otf(np.array([0.8, 0.2, 0.2]), judge.geometry, judge.constraints), 0.4
    assert exact.transport_cost == pytest.approx(moved / 5)
    told = _explanation(exact, judge.typical())
    assert f"{100 * moved / 1.2:.1f} % of all score must move to other people" in told
    assert "on average to somebody 25 % as different as two people picked at random" in told


def test_the_gap_is_the_largest_of_any_column():
    people = pd.DataFrame({"sex": list("ffmm"), "origin": ["a", "b", "c", "c"]}, index=[7, 3, 5, 1])
    judge = Judge(np.arange(4.0)[:, None], np.array([0, 1, 0, 1]), people)

    class Model:
        alpha_ = 0.0

        def predict_proba(self, X):
            scores = np.array([0.1, 0.5, 0.2, 0.4])
            return np.column_stack([1 - scores, scores])

    judged = judge.row("OTF", Model())
    assert judge.group_means(judged.scores).round(9).to_dict() == {
        ("sex", "f"): 0.3,
        ("sex", "m"): 0.3,
        ("origin", "a"): 0.1,
        ("origin", "b"): 0.5,
        ("origin", "c"): 0.3,
    }
    assert judged.gap == pytest.approx(0.4)
    assert judged.auc == pytest.approx(1.0)
