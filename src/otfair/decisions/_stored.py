"""What a file may hold of fair decisions: parts that fit one another."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from otfair._io.saved import NotStored, check_shapes, check_width, require
from otfair.decisions._groups import Block
from otfair.decisions._report import GroupRate
from otfair.decisions._rows import Row
from otfair.tables import TableEncoder

KINDS = ("group", "continuous", "fixed")  # of rows
PLAIN = {"str": str, "int": int, "float": float, "bool": bool}  # types of fields, by their name


def check_stored(state: Any) -> None:
    """Raise unless duals, rows, model of groups and classifier fit one another."""
    check_shapes(state, classes_=(2,))
    if hasattr(state, "n_features_in_"):
        check_width(state)
    rows, blocks = state.rows_, state.blocks_
    _check_records(rows, Row, "rows_")
    _check_records(state.groups_, GroupRate, "groups_")
    check_shapes(state, duals_=(len(rows),))
    if hasattr(state, "calibration_"):
        check_shapes(state, calibration_=(2 * len(rows) + 2,))
    for row in rows:
        require(row.kind in KINDS, f"rows_ has a row of the kind {row.kind!r}")
    require(isinstance(blocks, list), "blocks_ is no list")
    if blocks:
        encoder: Any = getattr(state, "encoder_", None)
        require(isinstance(encoder, TableEncoder), "encoder_ is no TableEncoder")
        width = sum(len(column.mean) for column in encoder.columns_)
        for block in blocks:
            _check_block(block, len(rows), width)
    classifier = getattr(state, "estimator_", None)
    sound = isinstance(classifier, NotStored) or hasattr(classifier, "predict_proba")
    require(sound, "estimator_ can't predict")


def _check_records(records: Any, kind: type, name: str) -> None:
    """Raise unless these are dataclasses of a kind, with plain values."""
    sound = isinstance(records, list) and all(type(record) is kind for record in records)
    require(sound and bool(records), f"{name} is no list of {kind.__name__}")
    for record in records:
        for field in fields(kind):
            value = getattr(record, field.name)
            wanted = PLAIN[str(field.type)]
            sound = isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool))
            require(sound, f"{name} has {field.name} {value!r}")


def _check_block(block: Any, rows: int, width: int) -> None:
    require(type(block) is Block and type(block.is_group) is bool, "blocks_ holds another kind")
    own = block.rows
    numbered = isinstance(own, tuple) and bool(own) and all(type(c) is int for c in own)
    require(numbered and all(0 <= c < rows for c in own), f"blocks_ has rows {own!r}")
    outputs = len(own) + 1 if block.is_group else 1
    require(block.is_group or len(own) == 1, "blocks_ has a number of several rows")
    check_shapes(block, coef=(outputs, width), intercept=(outputs,))
    require(not np.isnan(block.intercept).any(), "blocks_ has an intercept that is no number")
