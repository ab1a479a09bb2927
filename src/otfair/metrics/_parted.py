"""Metrics of people on Dask's workers, from small tables of their distinct combinations.

Maths: docs/scaling.md. A figure is a function of sums over people of one combination of sensitive
values and label, so that each partition sends these sums, and the figure is computed as always.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from otfair._io.arrays import Array
from otfair.distributed import read_parts
from otfair.notions import Tally, join, tally

DECIDED = "otfair: decided"  # a column of such tables


def score_table(scores: Array, sensitive: Array, labels: Array, weight: Array) -> dict[str, Any]:
    """Return scores on workers as a small table: arguments of a metric of scores.

    Two people stand for each combination of a partition, and have its sums of scores and squares.
    """
    given = {"scores": scores, "sensitive_features": sensitive, "labels": labels}
    found = read_parts(given | {"sample_weight": weight}).gather(_with_moments)
    whole = join([own for own, _, _ in found])
    mean, wide = (np.concatenate([part[k] for part in found]) for k in (1, 2))
    twice = np.tile(np.arange(len(mean)), 2)
    out = {
        "scores": np.concatenate([mean + wide, mean - wide]),
        "sensitive_features": whole.sensitive.iloc[twice].reset_index(drop=True),
        "sample_weight": whole.weight[twice] / 2,
    }
    if whole.labels is None:
        return out
    return out | {"labels": whole.labels.iloc[twice].reset_index(drop=True)}


def decided_table(
    scores: Array, sensitive: Array, labels: Array, weight: Array, threshold: float
) -> dict[str, Any]:
    """Return decisions on workers as a small table: arguments of a metric of decisions."""
    given = {"scores": scores, "sensitive_features": sensitive, "labels": labels}
    rows = read_parts(given | {"sample_weight": weight})
    whole = join(rows.gather(_with_decisions, threshold))
    out = {
        "scores": whole.sensitive[DECIDED].to_numpy(),
        "sensitive_features": whole.sensitive.drop(columns=DECIDED),
        "sample_weight": whole.weight,
    }
    return out if whole.labels is None else out | {"labels": whole.labels}


def _with_moments(rows: dict[str, Any]) -> tuple[Tally, np.ndarray, np.ndarray]:
    """Return a tally, and mean and standard deviation of the scores of each combination."""
    weight = rows.get("sample_weight")
    own, codes = tally(rows["sensitive_features"], rows.get("labels"), weight)
    w = np.ones(len(codes)) if weight is None else np.asarray(weight, dtype=np.float64)
    h, safe = _column(rows["scores"]), np.where(own.weight > 0, own.weight, 1.0)
    mean = np.bincount(codes, w * h, len(safe)) / safe
    spread = np.bincount(codes, w * (h - mean[codes]) ** 2, len(safe)) / safe
    return own, mean, np.sqrt(spread)


def _with_decisions(rows: dict[str, Any], threshold: float) -> Tally:
    sensitive = rows["sensitive_features"]
    frame = sensitive.to_frame() if isinstance(sensitive, pd.Series) else sensitive
    if not isinstance(frame, pd.DataFrame):
        array = np.asarray(frame)
        array = array[:, None] if array.ndim == 1 else array
        names = ["group"] if array.shape[1] == 1 else [f"group{j}" for j in range(array.shape[1])]
        frame = pd.DataFrame(array, columns=names)
    decided = _column(rows["scores"]) > threshold
    frame = frame.assign(**{DECIDED: decided.astype(np.float64)})
    return tally(frame, rows.get("labels"), rows.get("sample_weight"))[0]


def _column(scores: Any) -> np.ndarray:
    h = np.asarray(scores, dtype=np.float64).reshape(len(scores))
    if not np.isfinite(h).all():
        raise ValueError("`scores` must be finite numbers; some are NaN or infinite.")
    return h
