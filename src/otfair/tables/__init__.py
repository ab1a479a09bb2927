"""Tables in: files and data frames to columns, kinds, labels and numbers."""

from otfair.tables._columns import Column, Columns, as_columns, chosen_names, named, to_columns
from otfair.tables._copies import Copies, label_column, sensitive_column
from otfair.tables._encoder import EncodedColumn, TableEncoder
from otfair.tables._indexes import same_people
from otfair.tables._kinds import MAX_CATEGORICAL_INTEGERS, looks_categorical
from otfair.tables._labels import likely_positive, outcomes, positive_value, read_labels
from otfair.tables._read import Table, TableError, nearest, plain_text, read_table, shown
from otfair.tables._tree_codes import is_category, tree_matrix

__all__ = [
    "MAX_CATEGORICAL_INTEGERS",
    "Column",
    "Columns",
    "Copies",
    "EncodedColumn",
    "Table",
    "TableEncoder",
    "TableError",
    "as_columns",
    "chosen_names",
    "is_category",
    "label_column",
    "likely_positive",
    "looks_categorical",
    "named",
    "nearest",
    "outcomes",
    "plain_text",
    "positive_value",
    "read_labels",
    "read_table",
    "same_people",
    "sensitive_column",
    "shown",
    "to_columns",
    "tree_matrix",
]
