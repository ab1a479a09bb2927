"""Columns that tell what is audited: sensitive attribute, label or score under another name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import otfair
from otfair.auditing._features import choose_columns
from otfair.auditing._reading import read

N = 300
rng = np.random.default_rng(0)
SCORES = rng.random(N)
SEX = rng.choice(["f", "m"], N)
AGE = rng.integers(20, 70, N) + 0.5
LABELS = rng.integers(2, size=N)
TABLE = pd.DataFrame({"pay": rng.normal(size=N), "job": rng.choice(["cook", "clerk"], N)})
CODE = np.where(SEX == "f", 7, 3)


def chosen(X, keep=(), rows=N, scores=SCORES, sensitive=SEX, labels=LABELS):
    people = read(
        scores[:rows], X[:rows], sensitive[:rows], labels[:rows], None,
        continuous=(), categorical=(), positive_label=None,
    )  # fmt: skip
    return choose_columns(people, (), keep)


def with_gaps(values, every):
    out = np.asarray(values, dtype=object).copy()
    out[::every] = None
    return out


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (SEX, "sensitive attribute 'group' under another name"),
        (CODE, "sensitive attribute 'group' under another name"),
        (SEX == "f", "sensitive attribute 'group' under another name"),
        (np.where(SEX == "f", "woman", None), "sensitive attribute 'group' under another name"),
        (with_gaps(CODE, 10), "sensitive attribute 'group' under another name"),
        (LABELS, "the label under another name"),
        (np.where(LABELS == 1, "yes", "no"), "the label under another name"),
        (LABELS == 0, "the label under another name"),
        (SCORES, "scores themselves"),
        (1 - SCORES, "scores on another scale"),
        (SCORES * 100, "scores on another scale"),
        (with_gaps(SCORES * 100, 10), "scores on another scale"),
        ((SCORES > 0.5).astype(int), "a cut of the scores at 0.5, such as a decision"),
        (np.where(SCORES > 0.313, "granted", "refused"), "a cut of the scores at 0.31"),
        (SCORES.round(1), "a cut of the scores into 11 bands"),
        (np.array(["low", "mid", "high"])[(SCORES * 3).astype(int)], "into 3 bands"),
    ],
)
def test_copies_are_left_out_unless_they_are_named(values, reason):
    X = TABLE.assign(extra=values)
    found = chosen(X)
    assert reason in found.left_out["extra"]
    assert list(found.columns) == ["pay", "job"]
    assert found.notes == ()
    # One that is named is used, and it is said what it is.
    named = chosen(X, keep=["extra"])
    assert "extra" in named.columns
    (note,) = named.notes
    assert note.startswith("extra: ")
    assert reason in note
    assert note.endswith(", and used as it was named")


@pytest.mark.parametrize(
    "values",
    [
        np.where(rng.random(N) < 0.02, "m", SEX),  # nearly
        np.where(np.arange(N) == 5, 0.4, SCORES),
        SCORES + rng.normal(scale=1e-3, size=N),
        SCORES[::-1] < SCORES,
    ],
)
def test_what_is_only_like_it_stays(values):
    record = chosen(TABLE.assign(extra=values))
    assert record.left_out == {}
    assert record.notes == ()


def test_what_is_nearly_the_label_stays_with_a_note():
    nearly = np.where(np.arange(N) == 5, ~LABELS.astype(bool), LABELS.astype(bool))
    found = chosen(TABLE.assign(extra=nearly))
    assert found.left_out == {}
    (note,) = found.notes
    assert note.startswith("extra: alone it predicts the label with an AUC of 0.99")
    assert note.endswith("after the outcome; distances see it: drop it if it is one")


def test_a_column_that_scores_are_a_function_of_stays_with_a_note():
    # A model of one feature, of all different values or of some that repeat, in numbers or words.
    income = rng.normal(size=N)
    for values in (income, income.round(1), np.char.add("town ", (income.round(0)).astype(str))):
        numbers = pd.factorize(values)[0] if values.dtype.kind == "U" else values
        scores = 1 / (1 + np.exp(-numbers))
        record = chosen(TABLE.assign(income=values), scores=scores)
        assert "income" in record.columns
        assert record.notes == ("income: the scores are a function of this column alone",)


def test_a_column_that_tells_the_group_stays_with_a_note():
    town = np.where(SEX == "f", rng.choice(["a", "b"], N), rng.choice(["c", "d"], N))
    record = chosen(TABLE.assign(town=town))
    assert "town" in record.columns
    (note,) = record.notes
    assert note.startswith("town: it tells the sensitive attribute 'group', and distances see it")
    status = np.where(LABELS == 1, "paid", rng.choice(["late", "lost"], N))
    assert "it tells the label" in chosen(TABLE.assign(status=status)).notes[0]
    # Numbers of many values say nothing by being different for everybody.
    assert chosen(TABLE.assign(x=rng.permutation(N) * 1.5)).notes == ()


def test_a_number_is_known_on_another_scale():
    X = TABLE.assign(born=2026 - AGE, text=AGE.astype(str), whole=AGE // 10)
    record = chosen(X, sensitive=AGE)
    why = "the sensitive attribute 'group' under another name"
    assert record.left_out == {"born": why, "text": why}


def test_few_people_agree_by_chance():
    flags = {"code": CODE, "above": SCORES > 0.5, "line": SCORES * 3, "sex": SEX}
    few = chosen(TABLE.assign(**flags), rows=10)
    assert few.left_out == {"sex": "the sensitive attribute 'group' under another name"}
    assert chosen(TABLE.assign(**flags)).left_out.keys() == flags.keys()


def test_where_no_column_is_left_distances_are_ignored():
    found = otfair.audit(
        SCORES, pd.DataFrame({"id": np.arange(N), "same": 1}), sensitive_features=SEX,
        labels=LABELS, n_bootstrap=0,
    )  # fmt: skip
    assert found.features is None
    assert set(found.record.columns_left_out) == {"id", "same"}
    assert found.record.notes == (
        "no column is left to compare people by, so distances between them are ignored",
    )
    alone = otfair.audit(SCORES, sensitive_features=SEX, labels=LABELS, n_bootstrap=0)
    pd.testing.assert_frame_equal(found.summary(), alone.summary())
    assert "none: no column is left to compare people by" in found.to_html()
    assert "none: no features were passed" in alone.to_html()
    assert alone.record.notes == ()


def test_a_copy_changes_nothing():
    some = slice(0, 80)
    options = {"sensitive_features": SEX[some], "labels": LABELS[some], "n_bootstrap": 0}
    X = TABLE.assign(sex=SEX, code=CODE, paid=np.where(LABELS, "yes", "no"), above=SCORES > 0.5)
    found, plain = (otfair.audit(SCORES[some], x[some], **options) for x in (X, TABLE))
    pd.testing.assert_frame_equal(found.summary(), plain.summary())
    assert found.record.columns_used == ("pay", "job")
