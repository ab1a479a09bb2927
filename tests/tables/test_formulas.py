"""Text that spreadsheets would run, made harmless."""

from __future__ import annotations

import pandas as pd
import pytest

from otfair.tables._formulas import harmless, without_formulas


@pytest.mark.parametrize(
    "text",
    ["=1+1", "=cmd|' /C calc'!A0", "+cmd|x", "-cmd|x", "-2+3", "@SUM(A1)", "+1-1", "--1+1",
     " =1", "-x",
     "+49 30 1234", "＝1+1", "=", "@",
     "\ufeff=1+1", "\u200b=1+1"],
)  # fmt: skip
def test_formulas_have_an_apostrophe_before_them(text):
    assert harmless(text) == f"'{text}"
    assert harmless(harmless(text)) == harmless(text)


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("\t=1+1", "'\t'=1+1"),
        ("\r=1+1", "'\r'=1+1"),
        ("\tplain", "'\tplain"),
        ("a;=1+1", "a;'=1+1"),  # where a semicolon is the separator
        ("a\n=1+1", "a\n'=1+1"),
    ],
)
def test_formulas_behind_what_may_begin_a_cell(text, safe):
    assert harmless(text) == safe


@pytest.mark.parametrize(
    "text", ["", "-5", "+5", "-1.5e-3", "-1,234.5", "-5 %", "-", "--", "a=b", "a-b", "x@y.org",
             "'=1", "0=1"]
)  # fmt: skip
def test_what_runs_nothing_stays_as_it_is(text):
    assert harmless(text) == text


def test_text_and_names_of_a_table():
    frame = pd.DataFrame(
        {
            "=1+1": [-1, 2],
            "text": pd.Categorical(["=2", "'=2"]),  # two values that come to be one
            "objects": pd.Series([["=3"], "@x"], dtype=object),
            "gaps": pd.Series([None, "+y"], dtype=object),
            "flag": [True, False],
        }
    ).set_axis([5, 7])
    out, changed = without_formulas(frame)
    assert changed == 4
    assert list(out) == ["'=1+1", "text", "objects", "gaps", "flag"]
    assert out["text"].tolist() == ["'=2", "'=2"]
    assert out["objects"].tolist() == [["=3"], "'@x"]
    assert out["gaps"].isna().tolist() == [True, False]
    assert out["'=1+1"].tolist() == [-1, 2]
    assert out.index.tolist() == [5, 7]
