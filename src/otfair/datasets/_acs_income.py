"""ACSIncome: 332900 people of the American Community Survey of 2018, and as many to test on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from otfair.datasets._source import Parts, Source, codes_as_categories, to_parts
from otfair.tables import read_parquet

SEXES = {1: "Male", 2: "Female"}
RACES = (
    "White", "Black", "American Indian", "Alaska Native", "American Indian or Alaska Native",
    "Asian", "Pacific Islander", "Other", "Two or more",
)  # fmt: skip
CODES = ["COW", "MAR", "RELP"]
# The smallest code of each group, as in the survey's own dictionary.
OCCUPATIONS = {
    0: "management", 500: "business", 800: "finance", 1000: "computing", 1300: "engineering",
    1600: "science", 2000: "social services", 2100: "law", 2200: "education",
    2600: "arts and media", 3000: "medicine", 3600: "health support", 3700: "protection",
    4000: "food", 4200: "cleaning", 4300: "personal care", 4700: "sales", 5000: "office",
    6000: "farming", 6200: "construction", 6800: "extraction", 7000: "repair",
    7700: "production", 9000: "transport", 9800: "military",
}  # fmt: skip
PLACES = {
    0: "United States", 60: "US islands", 100: "Europe", 200: "Asia", 300: "Americas",
    400: "Africa", 500: "Oceania",
}  # fmt: skip
LEAST_SHARE = 0.002  # of the people of the training part who have a code; rarer ones are merged


def read(train: bytes, test: bytes, *, part: str, all_codes: bool) -> Parts:
    """Make the table of one part; which codes are rare, the part to train on decides for both."""
    everyone = _whole(train)
    table = everyone if part == "train" else _whole(test)
    X = codes_as_categories(table[["AGEP", "SCHL", "WKHP", "COW", "MAR", "RELP"]], CODES)
    for name, groups in (("OCCP", OCCUPATIONS), ("POBP", PLACES)):
        shares = everyone[name].value_counts(normalize=True).sort_index()
        X[name] = _merged(table[name], shares, {} if all_codes else groups)
    sensitive = pd.DataFrame(
        {
            "sex": pd.Categorical(table["SEX"].map(SEXES), list(SEXES.values())),
            "race": pd.Categorical.from_codes(table["RAC1P"], pd.Index(RACES)),
        }
    )
    return to_parts(X, table["PINCP"] == 1, sensitive)


def _whole(content: bytes) -> pd.DataFrame:
    """Return a part's table; the codes that it holds are whole numbers, though stored as floats."""
    return read_parquet(content, "ACSIncome").astype(np.int64)


def _merged(
    codes: pd.Series[int], shares: pd.Series[float], groups: Mapping[int, str]
) -> pd.Series[Any]:
    """Return codes as categories, where rare ones are "other" of their group, in their order."""
    names = {}
    for code, share in zip(shares.index.tolist(), shares):
        rare = groups and share < LEAST_SHARE
        group = groups[max(start for start in groups if start <= code)] if rare else ""
        names[code] = f"other, {group}" if rare else str(code)
    last = {name: code for code, name in names.items()}  # of the codes that a name stands for
    order = pd.CategoricalDtype(sorted(last, key=lambda name: last[name]))
    return codes.map(names).astype(order)


ACS_INCOME = Source.from_card("acs_income", read)
