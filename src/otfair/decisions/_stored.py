"""What a file may hold of fair decisions: parts that fit one another."""

from __future__ import annotations

from typing import Any

import numpy as np

from otfair._io.checks import (
    brief,
    check_attributes,
    check_classes,
    check_fields,
    check_shapes,
    check_width,
    is_count,
    require,
)
from otfair._io.saved import NotStored
from otfair.decisions._groups import Block
from otfair.decisions._report import GroupRate
from otfair.decisions._rows import Row
from otfair.decisions._settings import KNOWN, threshold_of
from otfair.notions import as_notion
from otfair.tables import TableEncoder

KINDS = ("group", "continuous", "fixed")  # of rows
LARGEST_SEED = 2**32 - 1


def check_stored(state: Any) -> None:
    """Raise unless duals, rows, model of groups and classifier fit one another."""
    check_classes(state)
    if hasattr(state, "n_features_in_"):
        check_width(state)
    check_attributes(
        state, limits_met_="bool", confidence_="float", accuracy_="float",
        accuracy_before_="float", n_missing_sensitive_="int",
    )  # fmt: skip
    rows, blocks = state.rows_, state.blocks_
    _check_records(rows, Row, "rows_")
    _check_records(state.groups_, GroupRate, "groups_")
    if hasattr(state, "shares_"):
        rules = len(np.atleast_1d(state.shares_))
        check_shapes(state, shares_=(rules,), duals_=(rules, len(rows)))
        whole = (state.shares_ >= 0).all() and abs(state.shares_.sum() - 1) < 1e-9
        require(bool(whole), "shares_ are no shares of people")
    else:
        check_shapes(state, duals_=(len(rows),))
    if hasattr(state, "calibration_"):
        check_shapes(state, calibration_=(2 * len(rows) + 2,))
    for row in rows:
        require(row.kind in KINDS, f"rows_ has a row of the kind {brief(row.kind)}")
    require(isinstance(blocks, list), "blocks_ is no list")
    if blocks:
        encoder: Any = getattr(state, "encoder_", None)
        require(isinstance(encoder, TableEncoder), "encoder_ is no TableEncoder")
        _check_same(state, encoder, "encoder_")
        width = sum(len(column.mean) for column in encoder.columns_)
        for block in blocks:
            _check_block(block, len(rows), width)
    again = [name for name in ("retrained_", "prices_") if hasattr(state, name)]
    if again:
        require(len(again) == 2, f"{again[0]} is alone")
        check_shapes(state, prices_=(len(rows),))
    for name in ("estimator_", *again[:1]):
        classifier: Any = getattr(state, name, None)
        if not isinstance(classifier, NotStored):
            require(hasattr(classifier, "predict_proba"), f"{name} can't predict")
            _check_same(state, classifier, name)
            same = np.array_equal(classifier.classes_, state.classes_)
            require(same, f"{name} has other classes")


def check_loaded(model: Any) -> None:
    """Raise where settings, which decisions need, are not sound, or what they ask for is absent."""
    for name, values in KNOWN.items():
        require(getattr(model, name) in values, f"{name} is {brief(getattr(model, name))}")
    for name in ("use_sensitive", "randomize", "retrain"):
        require(type(getattr(model, name)) is bool, f"{name} is {brief(getattr(model, name))}")
    drawn = model.ties != "together" or hasattr(model, "shares_")
    if drawn:
        seed = getattr(model, "seed_", model.random_state)  # which files before had alone
        require(is_count(seed) and 0 <= seed <= LARGEST_SEED, f"random_state is {brief(seed)}")
        model.seed_ = seed
    require(0 < threshold_of(model) < 1, "its threshold is not between 0 and 1")
    if model.use_sensitive:
        require(hasattr(model, "calibration_"), "calibration_ is missing")
        if not isinstance(model.notion, NotStored):
            as_notion(model.notion)
    else:
        # Files hold no model of groups of one's own.
        require(model.group_estimator is None, "it has a `group_estimator`")
        require(bool(model.blocks_), "its model of groups is missing")


def _check_same(state: Any, part: Any, name: str) -> None:
    """Raise where a part takes other tables than the whole."""
    for known in ("n_features_in_", "feature_names_in_"):
        if hasattr(part, known) and hasattr(state, known):
            same = np.array_equal(getattr(part, known), getattr(state, known))
            require(same, f"{name} has other columns")


def _check_records(records: Any, kind: type, name: str) -> None:
    """Raise unless these are dataclasses of a kind, with plain values."""
    sound = isinstance(records, list) and all(type(record) is kind for record in records)
    require(sound and bool(records), f"{name} is no list of {kind.__name__}")
    for record in records:
        check_fields(record)


def _check_block(block: Any, rows: int, width: int) -> None:
    require(type(block) is Block and type(block.is_group) is bool, "blocks_ holds another kind")
    own = block.rows
    numbered = isinstance(own, tuple) and bool(own) and all(type(c) is int for c in own)
    require(numbered and all(0 <= c < rows for c in own), f"blocks_ has rows {brief(own)}")
    require(len(set(own)) == len(own), f"blocks_ has rows {brief(own)}")
    outputs = len(own) + 1 if block.is_group else 1
    require(block.is_group or len(own) == 1, "blocks_ has a number of several rows")
    check_shapes(block, coef=(outputs, width))
    check_shapes(block, infinite=block.is_group, intercept=(outputs,))
    # Who is in none of the groups that were there has a chance of zero; somebody is in one.
    sound = not np.isposinf(block.intercept).any() and np.isfinite(block.intercept).any()
    require(bool(sound), "blocks_ has an intercept that is no number")
