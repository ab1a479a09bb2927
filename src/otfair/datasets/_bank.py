"""Bank Marketing: a Portuguese bank, 2008 to 2010."""

from __future__ import annotations

import numpy as np
import pandas as pd

from otfair.datasets._files import UCI, DataFile
from otfair.datasets._source import Choice, Parts, Source, read_csv, to_parts

AGE_SPLIT = 38  # the median


def read(table_file: bytes, *, duration: bool) -> Parts:
    """41188 clients of a Portuguese bank; age is sensitive, in years and split at the median."""
    table = read_csv(table_file, sep=";")
    younger, older = f"<{AGE_SPLIT}", f">={AGE_SPLIT}"
    binned = np.where(table["age"] < AGE_SPLIT, younger, older)
    sensitive = pd.DataFrame({"age": table["age"], "age_binned": binned})
    dropped = ["age", "y"] if duration else ["age", "y", "duration"]
    return to_parts(table.drop(columns=dropped), table["y"] == "yes", sensitive)


BANK = Source(
    name="bank",
    label="takes up a term deposit",
    sensitive=("age", "age_binned"),
    experiments=(("age_binned",), ("age",)),
    recipe=read,
    rows=41188,
    text=(
        "Bank Marketing (a Portuguese bank, 2008 to 2010): does a client who is called take up "
        "a term deposit? Every row is kept; `unknown` is a category of its own. Sensitive: "
        "age in years, and age_binned, split at its median of 38."
    ),
    licence="CC BY 4.0",
    citation=(
        "Moro, S., Rita, P. and Cortez, P. (2014). Bank Marketing. UCI Machine Learning "
        "Repository. doi:10.24432/C5K306"
    ),
    files=(
        DataFile(
            name="bank-additional-full.csv",
            size=5834924,
            sha256="74adfc578bf77a7ff4bb1ba4a9f8709d9e3c6907342959c2c8416847e0afb4d8",
            urls=(f"{UCI}/ml/machine-learning-databases/00222/bank-additional.zip",),
        ),
    ),
    choices=(
        Choice(
            option="duration",
            default=True,
            reason=(
                "The length of the call is known only once it is over, so a model for use must "
                "do without it (`duration=False`). It is kept by default because published "
                "results on this table include it, and this loader serves comparison first."
            ),
        ),
    ),
)
