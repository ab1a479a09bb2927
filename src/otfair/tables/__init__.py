"""Tables in: files and data frames to columns, kinds, labels and numbers."""

from otfair._io.inputs import nearest
from otfair.tables._budget import TableError
from otfair.tables._checksum import checksum
from otfair.tables._columns import (
    Column,
    Columns,
    as_columns,
    chosen_names,
    named,
    one_below,
    same_people,
    to_columns,
    to_frame,
    to_series,
)
from otfair.tables._copies import Known, explain_copy, known_column
from otfair.tables._encoded_column import EncodedColumn
from otfair.tables._encoder import TableEncoder, tree_matrix
from otfair.tables._formulas import without_formulas
from otfair.tables._kinds import (
    MAX_CODES,
    MAX_GROUPS,
    Kind,
    chosen_kinds,
    is_number,
    is_whole,
    kind_of,
    looks_categorical,
    sensitive_kinds,
    type_name,
)
from otfair.tables._labels import (
    binary_labels,
    known_labels,
    label_names,
    label_values,
    likely_positive,
    outcomes,
    positive_value,
    read_labels,
    read_two_classes,
    two_classes,
)
from otfair.tables._leaks import foretells
from otfair.tables._numbers import percentages
from otfair.tables._parquet import read_parquet
from otfair.tables._read import Table, read_table
from otfair.tables._rows import known_rows, take_rows
from otfair.tables._suitability import MANY_VALUES, Reason, Why, unsuited
from otfair.tables._text import listed, plain_text, shown
