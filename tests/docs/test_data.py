"""What docs/data.md says of its tables: by facts that tests check, by the data and by runs."""

from __future__ import annotations

import gzip
import re

import pandas as pd
import pytest
from page_scripts import BENCHMARKS, cells, page, says, short
from tests.datasets.test_load import FACTS
from tests.datasets.test_load import test_encoded_width as checked

from otfair.datasets import _acs_income

WIDTHS = {  # name and options that are not the default: encoded columns, checked against the data
    (name, *options): width for name, options, width in checked.pytestmark[0].args[1]
}


def row_of(name: str) -> list[str]:
    """Return the cells of a dataset's line in the first table."""
    line = next(x for x in page("data").splitlines() if re.match(rf"\| `{name}` \| \d", x))
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.parametrize("name", FACTS)
def test_people_shares_and_columns(name):
    people, positives, _, columns = FACTS[name]
    _, count, positive, sensitive, width = row_of(name)
    assert set(re.findall(r"\d+", count)) == {str(people)}
    assert positive.endswith(f": {positives / people:.3f}")
    assert int(width) == WIDTHS[(name,)]
    said = [float(x) for x in re.findall(r"\b0\.\d+", sensitive)]
    rates = []
    for groups in columns.values():
        found = sorted(rate for _, rate in groups.values())
        rates += found if len(found) == 2 else [found[0], found[-1]]
    assert sorted(said) == pytest.approx(sorted(rates), abs=5.51e-4)  # facts have four digits


def test_columns_of_other_options():
    lines = re.findall(r"^\| (\w+): `(\w+)` \| .*? \| (\d+) \|", page("data"), re.MULTILINE)
    assert len(lines) == 5
    for name, option, width in lines:
        assert int(width) == WIDTHS[(name, option)]
    both = WIDTHS[("diabetes", "diagnoses", "ids_as_numbers")]
    says("data", f"With both options of diabetes turned there are {both} columns")
    more = WIDTHS[("diabetes", "diagnoses")] - WIDTHS[("diabetes",)]
    says("data", f"{more} dummies, most of them of rare codes")
    size = 8 * FACTS["diabetes"][0] * WIDTHS[("diabetes", "diagnoses")]
    says("data", f"Diabetes with its diagnoses takes {round(size / 1e6, -1):.0f} MB")


def test_rows_with_a_gap_in_adult(data_home):
    gaps = 0
    for path in (*data_home.glob("adult.data*"), *data_home.glob("adult.test*")):
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
        gaps += sum("?" in line for line in text.splitlines())
    says("data", f"without the {gaps} rows that have a gap")


def test_figures_that_the_tests_of_the_loaders_have():
    # tests/datasets/test_load.py asserts these of the data.
    says("data", "would leave 173 rows")
    says("data", "There are 529 occupations and 223 places of birth")
    says("data", f"the survey's {len(_acs_income.OCCUPATIONS)} groups of occupations")
    says("data", f"fewer than {100 * _acs_income.LEAST_SHARE:g} % of the people have")


def test_encodings_of_occupations():
    runs = pd.read_csv(BENCHMARKS / "acs_encoding.csv").sort_values("share", ascending=False)
    rows = cells(page("data"), "encoding")
    assert len(rows) == len(runs)
    for (title, *row), run in zip(rows, runs.itertuples()):
        line = "not tried" if pd.isna(run.logistic) else short(run.logistic)
        assert row == [str(run.columns), line, short(run.onehot), short(run.in_order)]
        if 0 < run.share < 1:
            assert f"of {100 * run.share:g} %" in title
    places = len(_acs_income.PLACES)
    assert f"{len(_acs_income.OCCUPATIONS)} groups, {places} parts of the world" in rows[0][0]
    by = runs.set_index("share")
    models = by[["logistic", "onehot", "in_order"]]
    assert (models.idxmin() == 1.0).all()
    assert by["columns"][0.0] == pytest.approx(3 * by["columns"][0.002], rel=0.1)
    assert 0 < (models.loc[0.0] - models.loc[0.002]).max() < 1e-3
    says("data", "all codes take three times the columns and gain less than .001")
    (day,), (train,), (test,) = (set(runs[c]) for c in ("date", "train", "test"))
    says("data", f"learn from {train} people", f"on {test} of the other", f"seed 0, {day}")
