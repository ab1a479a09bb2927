"""Bank Marketing: 41188 clients of a Portuguese bank, 2008 to 2010."""

from __future__ import annotations

import numpy as np
import pandas as pd

from otfair.datasets._source import Parts, Source, read_csv, to_parts

AGE_SPLIT = 38  # the median


def read(table_file: bytes, *, duration: bool) -> Parts:
    """Make the table; age is sensitive, in years and split at the median."""
    table = read_csv(table_file, sep=";")
    binned = np.where(table["age"] < AGE_SPLIT, f"<{AGE_SPLIT}", f">={AGE_SPLIT}")
    sensitive = pd.DataFrame({"age": table["age"], "age_binned": binned})
    dropped = ["age", "y"] if duration else ["age", "y", "duration"]
    return to_parts(table.drop(columns=dropped), table["y"] == "yes", sensitive)


BANK = Source.from_card("bank", read)
