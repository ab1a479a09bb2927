"""The Dutch census of 2001: 60420 people."""

from __future__ import annotations

from otfair.datasets._source import Parts, Source, codes_as_categories, read_csv, to_parts

ORDERED = ["age", "edu_level"]


def read(table_file: bytes, *, ordered_as_numbers: bool) -> Parts:
    """Make the table, all of whose columns are category codes."""
    table = read_csv(table_file)
    X = table.drop(columns=["sex", "occupation"])
    codes = X.columns.difference(ORDERED if ordered_as_numbers else [])
    return to_parts(codes_as_categories(X, codes), table["occupation"] == 1, table[["sex"]])


DUTCH = Source.from_card("dutch", read)
