"""Text as numbers: how decimals and thousands are written, and what is too long to be one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from otfair.tables import _numbers

LINES = np.arange(2, 5)


def typed(texts, decimal, lines):
    return _numbers.typed(*pd.factorize(np.array(texts, dtype=object)), decimal, lines)


@pytest.mark.parametrize("decimal", [".", ","])
def test_numbers_are_read_alike_with_either_sign(decimal):
    texts = ["1.5", "-.25", "2e-3"]
    column, remark = typed(([t.replace(".", decimal) for t in texts]), decimal, LINES)
    assert column.tolist() == [1.5, -0.25, 0.002]
    assert remark == ""


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("texts", [["1,234", "2,500", "900"], ["1,234", "12,500.75", "1,234,567"]])
def test_thousands_are_no_decimals(texts, decimal):
    # A thousands separator read as a decimal sign would make 1234 and 900 of 1.234 and 900.
    swap = str.maketrans(".,", ",." if decimal == "," else ".,")
    written = [text.translate(swap) for text in texts]
    column, remark = typed((written), decimal, LINES)
    assert column.tolist() == written
    assert remark == (
        f"values such as {written[0]!r} (line 2) have separators of thousands; remove these to "
        "have numbers"
    )


def test_percentages_are_said_to_be_so():
    remark = typed((["48%", "7%"]), ".", np.array([2, 3]))[1]
    assert remark == "values such as '48%' (line 2) are percentages; remove the % to have numbers"


def test_points_where_commas_were_announced_are_told():
    column, remark = typed((["0.5", "0.25", "1,5"]), ",", LINES)
    assert column.tolist() == ["0.5", "0.25", "1,5"]
    assert remark == (
        "values such as '0.5' (line 2) have a decimal point; leave `--decimal ,` out to have "
        "numbers"
    )


@pytest.mark.parametrize("digits", [17, 5000])
def test_whole_numbers_too_long_for_a_float_stay_text(digits):
    long = "9" * digits
    assert typed(([long, "7", "8"]), ".", LINES)[0].tolist() == [long, "7", "8"]
