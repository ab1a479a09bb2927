"""Adult: the census of the United States, 1994."""

from __future__ import annotations

import pandas as pd

from otfair.datasets._files import UCI, DataFile
from otfair.datasets._source import Parts, Source, read_csv, to_parts

COLUMNS = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income-per-year",
]


def read(train: bytes, test: bytes) -> Parts:
    """45222 people of the 1994 census of the United States."""
    # The test file opens with a comment line, and its labels end in a full stop.
    parts = [read_csv(test, names=COLUMNS, skiprows=1), read_csv(train, names=COLUMNS)]
    table = pd.concat(parts, ignore_index=True).drop(columns="fnlwgt").dropna()
    race = table["race"].where(table["race"] == "White", "Non-white")
    sensitive = pd.DataFrame({"sex": table["sex"], "race": race})
    y = table["income-per-year"].isin([">50K", ">50K."])
    return to_parts(table.drop(columns=["sex", "race", "income-per-year"]), y, sensitive)


ADULT = Source(
    name="adult",
    label="income above 50000 dollars, 1994",
    sensitive=("sex", "race"),
    experiments=(("sex", "race"),),
    recipe=read,
    rows=45222,
    text=(
        "Adult (census income, United States, 1994): does a person earn more than 50000 "
        "dollars a year? Test part, then training part, without the 3620 rows that have a "
        "missing value. Sensitive: sex, and race as White or Non-white. `fnlwgt` is a sampling "
        "weight of the census, not a trait of a person, and is left out."
    ),
    licence="CC BY 4.0",
    citation=(
        "Becker, B. and Kohavi, R. (1996). Adult. UCI Machine Learning Repository. "
        "doi:10.24432/C5XW20"
    ),
    files=(
        DataFile(
            name="adult.data",
            size=3974305,
            sha256="5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
            urls=(
                f"{UCI}/ml/machine-learning-databases/adult/adult.data",
                f"{UCI}/static/public/2/adult.zip",
            ),
        ),
        DataFile(
            name="adult.test",
            size=2003153,
            sha256="a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
            urls=(
                f"{UCI}/ml/machine-learning-databases/adult/adult.test",
                f"{UCI}/static/public/2/adult.zip",
            ),
        ),
    ),
)
