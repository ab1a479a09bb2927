"""Boosted trees on the rows of Dask collections, by `xgboost.dask`: what the client does.

Maths: docs/scaling.md, "Boosted trees". What workers do is in `_boosting_workers.py`.
"""

from __future__ import annotations

import copy
import importlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from otfair._io.arrays import Array
from otfair.distributed import Parts, read_parts
from otfair.models._balance import Balance
from otfair.models._boosting_workers import (
    PART,
    ROW,
    Brief,
    WorkerObjective,
    brief,
    chosen_rows,
    judge,
    read,
    receivers,
    rows_of,
    tree_part,
)
from otfair.models._judging import Judgement
from otfair.models._trust import Losses
from otfair.models.boosters import Booster, XGBoost

if TYPE_CHECKING:
    from otfair.models._boosting_classifier import OTFBoostingClassifier

MOST = 2**24  # whole numbers that XGBoost's floats tell apart
TOLD = "otfair_told"  # attribute of a booster that comes from a worker


def fit_on_dask(model: OTFBoostingClassifier, given: dict[str, Array]) -> Trained:
    """Train on the partitions of Dask collections; nothing with a number per row comes back."""
    if model.booster != XGBoost.name:
        raise ValueError(
            f'only booster="xgboost" trains on Dask; received {model.booster!r}. Pass tables that '
            "fit one machine, such as `X.compute()`."
        )
    if model.max_violation is not None or model.geometry is not None:
        name = "max_violation" if model.max_violation is not None else "geometry"
        raise ValueError(f"`{name}` is for one machine; on Dask leave it None.")
    parts = read_parts(given)
    client = parts.client
    everybody = client.submit(read, model, list(parts.futures), pure=False)
    found: Brief = client.submit(brief, everybody, pure=False).result()
    places = _places_of(client, parts)
    trees = [
        client.submit(
            tree_part, found.model, part, client.submit(rows_of, everybody, k, pure=False),
            pure=False, workers=[place], allow_other_workers=True,
        )
        for k, (part, place) in enumerate(zip(parts.futures, places))
    ]  # fmt: skip
    with _published(client, everybody if model.alpha else None) as names_of:
        objective = None
        if names_of:
            settings = copy.copy(model)
            settings.balance = found.balance
            objective = WorkerObjective(settings._objective(), np.array(parts.starts), names_of)
        booster, told = _train(client, found, list(zip(trees, places)), model, objective)
    judged = client.submit(judge, everybody, booster.to_text(), booster.offset, pure=False)
    judgement, losses = judged.result()
    balance = told.get("balance", found.balance)
    return Trained(found.model, found.missing, booster, balance, told["history"], judgement, losses)


@dataclass(frozen=True)
class Trained:
    """What came of training."""

    model: OTFBoostingClassifier  # which knows its columns and classes, and no more
    missing: int  # people without a sensitive value
    booster: Booster
    balance: Balance
    history: list[float]
    judgement: Judgement
    losses: Losses | None  # of people who said when to stop


@contextmanager
def _published(client: Any, everybody: Any) -> Iterator[list[str]]:
    """Let workers find who is trained on, and who is kept out, by name, while they train."""
    if everybody is None:
        yield []
        return
    which = ("kept", "out")
    futures = [client.submit(receivers, everybody, some, pure=False) for some in which]
    # Before training, which leaves workers no thread to make them.
    importlib.import_module("distributed").wait(futures)
    names = [f"otfair-{some}-{uuid4().hex}" for some in which]
    client.publish_dataset(**dict(zip(names, futures)))
    try:
        yield names
    finally:
        for name in names:
            client.unpublish_dataset(name)


def _places_of(client: Any, parts: Parts) -> list[str]:
    """Return the worker that is to train on each part: who has it, unless others have none."""
    workers = list(client.ncores())
    held = client.who_has(list(parts.futures))
    places = [next(iter(held[future.key]), workers[0]) for future in parts.futures]
    while True:
        load = dict.fromkeys(workers, 0)
        for place, size in zip(places, parts.sizes):
            load[place] = load.get(place, 0) + size
        most, least = max(load, key=load.__getitem__), min(load, key=load.__getitem__)
        own = [k for k, place in enumerate(places) if place == most]
        smallest = min(own, key=parts.sizes.__getitem__)
        if load[least] + parts.sizes[smallest] >= load[most]:
            return places
        places[smallest] = least


def _train(
    client: Any,
    found: Brief,
    trees: Sequence[tuple[Any, str]],
    model: OTFBoostingClassifier,
    objective: WorkerObjective | None,
) -> tuple[Booster, dict[str, Any]]:
    """Train by `xgboost.dask`; return the booster, and what its workers tell."""
    xgboost, on_dask = XGBoost.package(), importlib.import_module("xgboost.dask")
    rows = model._rows_like(found.model)
    described = {
        "feature_names": rows.allowed_names("[]<\\"),
        "feature_types": ["c" if category else "q" for category in rows.categories],
        "enable_categorical": True,
    }

    def matrix(which: str, counts: list[int]) -> Any:
        arrays = _arrays(trees, which, counts, len(rows.names))
        return on_dask.DaskDMatrix(client, **arrays, **described)

    params = XGBoost.with_defaults(model._booster_params(found.seed))
    params = {"objective": "binary:logistic", "verbosity": 1, **found.start, **params}
    data = matrix("kept", found.kept)
    if objective is not None and "base_score" not in params:
        probe = on_dask.train(client, {**params, "max_depth": 1}, data, num_boost_round=1)
        learnt = json.loads(probe["booster"].save_config())["learner"]["learner_model_param"]
        params["base_score"] = float(learnt["base_score"].strip("[]"))
    callbacks: list[Any] = []
    more: dict[str, Any] = {}
    if model.early_stopping_rounds is not None:
        stop = xgboost.callback.EarlyStopping(rounds=model.early_stopping_rounds, save_best=True)
        callbacks.append(stop)
        more = {"evals": [(matrix("out", found.out), "kept_out")], "verbose_eval": False}
        more |= {"custom_metric": None if objective is None else objective.metric}
    if objective is not None:
        callbacks.append(_keeper(xgboost, objective))
    rounds = {"num_boost_round": model.n_estimators, "obj": objective, "callbacks": callbacks}
    booster = on_dask.train(client, params, data, **rounds, **more)["booster"]
    told = booster.attr(TOLD)
    booster.set_attr(**{TOLD: None})
    return XGBoost(booster), {"history": []} if told is None else json.loads(told)


def _keeper(xgboost: Any, objective: WorkerObjective) -> Any:
    """Return a callback by which a booster brings home what its worker's objective has seen."""

    class Keeper(xgboost.callback.TrainingCallback):  # type: ignore[misc]
        own: WorkerObjective  # of this callback: a class is the same for all that a worker reads

        def after_training(self, model: Any) -> Any:
            model.set_attr(**{TOLD: json.dumps(self.own.told)})
            return model

    keeper = Keeper()
    keeper.own = objective
    return keeper


def _arrays(
    trees: Sequence[tuple[Any, str]], which: str, counts: list[int], p: int
) -> dict[str, Any]:
    """Return rows as Dask arrays, a chunk for each partition that has some."""
    array, dask = importlib.import_module("dask.array"), importlib.import_module("dask")
    if max(counts) >= MOST or len(counts) >= MOST:
        raise ValueError(f"a partition has {max(counts)} rows; pass ones of less than {MOST}.")
    out = {}
    for name in ("data", "label", "weight", PART, ROW):
        chunks = []
        for (tree, place), count in zip(trees, counts):
            with dask.annotate(workers=[place], allow_other_workers=True):
                chosen = dask.delayed(chosen_rows, pure=False)(tree, which, name)
                shape = (count, p) if name == "data" else (count,)
                if count:
                    chunks.append(array.from_delayed(chosen, shape, dtype=np.float64))
        out[name] = array.concatenate(chunks)
    return out
