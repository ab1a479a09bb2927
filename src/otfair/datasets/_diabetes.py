"""Diabetes in 130 hospitals of the United States, 1999 to 2008: 45715 stays of patients."""

from __future__ import annotations

from otfair.datasets._source import Parts, Source, codes_as_categories, read_csv, to_parts

CODES = ["admission_type_id", "discharge_disposition_id", "admission_source_id"]
DIAGNOSES = ["diag_1", "diag_2", "diag_3"]
IDENTIFIERS = ["encounter_id", "patient_nbr"]
MOSTLY_EMPTY = ["weight", "payer_code", "medical_specialty"]


def read(table_file: bytes, *, diagnoses: bool, ids_as_numbers: bool) -> Parts:
    """Make the table of the stays of patients who were readmitted later."""
    table = read_csv(table_file, dtype=dict.fromkeys(DIAGNOSES, str))
    table = table.drop(columns=IDENTIFIERS + MOSTLY_EMPTY)
    table = table[table["readmitted"] != "NO"].dropna()
    X = table.drop(columns=["gender", "readmitted"])
    if not diagnoses:
        X = X.drop(columns=DIAGNOSES)
    if not ids_as_numbers:
        X = codes_as_categories(X, CODES)
    return to_parts(X, table["readmitted"] == "<30", table[["gender"]])


DIABETES = Source.from_card("diabetes", read)
