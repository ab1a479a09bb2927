"""Adult: 45222 people of the 1994 census of the United States."""

from __future__ import annotations

import pandas as pd

from otfair.datasets._source import Parts, Source, read_csv, to_parts

COLUMNS = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
    "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week",
    "native-country", "income-per-year",
]  # fmt: skip


def read(train: bytes, test: bytes) -> Parts:
    """Make the table of the two files; people who miss a value are left out."""
    # The test file opens with a comment line, and its labels end in a full stop.
    parts = [read_csv(test, names=COLUMNS, skiprows=1), read_csv(train, names=COLUMNS)]
    table = pd.concat(parts, ignore_index=True).drop(columns="fnlwgt").dropna()
    race = table["race"].where(table["race"] == "White", "Non-white")
    sensitive = pd.DataFrame({"sex": table["sex"], "race": race})
    y = table["income-per-year"].isin([">50K", ">50K."])
    return to_parts(table.drop(columns=["sex", "race", "income-per-year"]), y, sensitive)


ADULT = Source.from_card("adult", read)
