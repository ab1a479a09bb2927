"""The recipes: from the raw files of the four real datasets to features, labels and groups."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Parts = tuple[pd.DataFrame, NDArray[np.int64], pd.DataFrame]  # X, y, sensitive features

ADULT_COLUMNS = [
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
BANK_AGE_SPLIT = 38  # the median
DUTCH_ORDERED = ["age", "edu_level"]
DIABETES_CODES = ["admission_type_id", "discharge_disposition_id", "admission_source_id"]
DIABETES_DIAGNOSES = ["diag_1", "diag_2", "diag_3"]
DIABETES_IDENTIFIERS = ["encounter_id", "patient_nbr"]
DIABETES_MOSTLY_EMPTY = ["weight", "payer_code", "medical_specialty"]


def adult(train: bytes, test: bytes) -> Parts:
    """45222 people of the 1994 census of the United States."""
    # The test file opens with a comment line, and its labels end in a full stop.
    parts = [_read(test, names=ADULT_COLUMNS, skiprows=1), _read(train, names=ADULT_COLUMNS)]
    table = pd.concat(parts, ignore_index=True).drop(columns="fnlwgt").dropna()
    race = table["race"].where(table["race"] == "White", "Non-white")
    sensitive = pd.DataFrame({"sex": table["sex"], "race": race})
    y = table["income-per-year"].isin([">50K", ">50K."])
    return _parts(table.drop(columns=["sex", "race", "income-per-year"]), y, sensitive)


def bank(table_file: bytes, *, duration: bool) -> Parts:
    """41188 clients of a Portuguese bank; age is sensitive, in years and split at the median."""
    table = _read(table_file, sep=";")
    younger, older = f"<{BANK_AGE_SPLIT}", f">={BANK_AGE_SPLIT}"
    binned = np.where(table["age"] < BANK_AGE_SPLIT, younger, older)
    sensitive = pd.DataFrame({"age": table["age"], "age_binned": binned})
    dropped = ["age", "y"] if duration else ["age", "y", "duration"]
    return _parts(table.drop(columns=dropped), table["y"] == "yes", sensitive)


def dutch(table_file: bytes, *, ordered_as_numbers: bool) -> Parts:
    """60420 people of the Dutch census of 2001; all columns are category codes."""
    table = _read(table_file)
    X = table.drop(columns=["sex", "occupation"])
    codes = X.columns.difference(DUTCH_ORDERED if ordered_as_numbers else [])
    return _parts(_codes(X, codes), table["occupation"] == 1, table[["sex"]])


def diabetes(table_file: bytes, *, diagnoses: bool, ids_as_numbers: bool) -> Parts:
    """45715 hospital stays of patients with diabetes who were readmitted later."""
    table = _read(table_file, dtype=dict.fromkeys(DIABETES_DIAGNOSES, str))
    table = table.drop(columns=DIABETES_IDENTIFIERS + DIABETES_MOSTLY_EMPTY)
    table = table[table["readmitted"] != "NO"].dropna()
    X = table.drop(columns=["gender", "readmitted"])
    if not diagnoses:
        X = X.drop(columns=DIABETES_DIAGNOSES)
    if not ids_as_numbers:
        X = _codes(X, DIABETES_CODES)
    return _parts(X, table["readmitted"] == "<30", table[["gender"]])


def _read(content: bytes, **options: Any) -> pd.DataFrame:
    # Only `?` is missing: left to its defaults, pandas would also take the value `None` for a gap.
    table: pd.DataFrame = pd.read_csv(
        io.BytesIO(content),
        skipinitialspace=True,
        keep_default_na=False,
        na_values=["?"],
        low_memory=False,
        **options,
    )
    return table


def _codes(table: pd.DataFrame, columns: Any) -> pd.DataFrame:
    """Turn numeric codes into categories named by the code, in the order of the numbers."""
    as_category = {}
    for column in columns:
        codes, values = pd.factorize(table[column], sort=True)
        as_category[column] = pd.Categorical.from_codes(
            codes, pd.Index([str(value) for value in values])
        )
    return table.assign(**as_category)


def _parts(X: pd.DataFrame, y: pd.Series[bool], sensitive: pd.DataFrame) -> Parts:
    """Text as categories, rows numbered from 0, labels as 0 and 1."""
    return (
        _text_as_category(X).reset_index(drop=True),
        y.to_numpy().astype(np.int64),
        _text_as_category(sensitive).reset_index(drop=True),
    )


def _text_as_category(table: pd.DataFrame) -> pd.DataFrame:
    text = [c for c in table if not isinstance(table[c].dtype, pd.CategoricalDtype)]
    text = [c for c in text if not pd.api.types.is_numeric_dtype(table[c])]
    return table.astype(dict.fromkeys(text, "category"))
