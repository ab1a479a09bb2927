"""Diabetes in 130 hospitals of the United States, 1999 to 2008."""

from __future__ import annotations

from otfair.datasets._files import UCI, DataFile
from otfair.datasets._source import Choice, Parts, Source, codes_as_categories, read_csv, to_parts

CODES = ["admission_type_id", "discharge_disposition_id", "admission_source_id"]
DIAGNOSES = ["diag_1", "diag_2", "diag_3"]
IDENTIFIERS = ["encounter_id", "patient_nbr"]
MOSTLY_EMPTY = ["weight", "payer_code", "medical_specialty"]


def read(table_file: bytes, *, diagnoses: bool, ids_as_numbers: bool) -> Parts:
    """45715 hospital stays of patients with diabetes who were readmitted later."""
    table = read_csv(table_file, dtype=dict.fromkeys(DIAGNOSES, str))
    table = table.drop(columns=IDENTIFIERS + MOSTLY_EMPTY)
    table = table[table["readmitted"] != "NO"].dropna()
    X = table.drop(columns=["gender", "readmitted"])
    if not diagnoses:
        X = X.drop(columns=DIAGNOSES)
    if not ids_as_numbers:
        X = codes_as_categories(X, CODES)
    return to_parts(X, table["readmitted"] == "<30", table[["gender"]])


DIABETES = Source(
    name="diabetes",
    label="readmitted within 30 days",
    sensitive=("gender",),
    experiments=(("gender",),),
    recipe=read,
    rows=45715,
    text=(
        "Diabetes in 130 hospitals of the United States, 1999 to 2008: is a patient who comes "
        "back readmitted within 30 days (1) or later (0)? Without patients who did not come "
        "back, and without rows that miss race or a diagnosis. `None` in max_glu_serum and "
        "A1Cresult means that the test was not made: a value, not a gap. Identifiers and the "
        "mostly empty weight, payer_code and medical_specialty are left out. A patient can "
        "have several rows (27994 patients). Sensitive: gender."
    ),
    licence="CC BY 4.0",
    citation=(
        "Clore, J., Cios, K., DeShazo, J. and Strack, B. (2014). Diabetes 130-US Hospitals for "
        "Years 1999-2008. UCI Machine Learning Repository. doi:10.24432/C5230J"
    ),
    files=(
        DataFile(
            name="diabetic_data.csv",
            size=19159383,
            sha256="0689e7ec031237dc63031b938805c48377748761a3b26acab621567afa24df97",
            urls=(
                f"{UCI}/ml/machine-learning-databases/00296/dataset_diabetes.zip",
                f"{UCI}/static/public/296/diabetes+130-us+hospitals+for+years+1999-2008.zip",
            ),
        ),
    ),
    choices=(
        Choice(
            option="diagnoses",
            default=False,
            reason=(
                "diag_1 to diag_3 hold 608, 614 and 653 codes, most of them rare. As "
                "standardised dummies they would be 1875 of 2020 columns, and because a rare "
                "dummy is large once standardised they would decide alone who is similar to "
                "whom. They are left out by default; `diagnoses=True` keeps them."
            ),
        ),
        Choice(
            option="ids_as_numbers",
            default=False,
            reason=(
                "admission_type_id, discharge_disposition_id and admission_source_id number "
                "unrelated cases (1 emergency, 2 urgent, 6 not stated), so 1 is no nearer to 2 "
                "than to 6. They are categories; `ids_as_numbers=True` keeps the bare numbers."
            ),
        ),
    ),
)
