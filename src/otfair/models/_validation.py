"""What classifiers accept: their settings, and the tables they are trained on."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import check_array, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from otfair._io.arrays import ArgumentError, Array, is_tensor, same_length
from otfair._io.settings import (
    EPSILONS,
    as_real,
    check_flag,
    check_real,
    check_scale,
    check_seed,
    check_whole,
    shown,
)
from otfair.geometry import Geometry
from otfair.losses import FairnessLoss, OTFLoss, loss_class
from otfair.metrics import CRITERIA
from otfair.notions import (
    Notion,
    People,
    Weigh,
    as_notion,
    attributes_of,
    check_weigh,
    known_people,
    parts_of,
)
from otfair.tables import EncodedColumn, two_classes

KNOWN = {"solver": ("lbfgs", "adam"), "mode": ("dataset", "batch")}
# Ends of settings, and whether these are among what a setting may be.
REALS: dict[str, tuple[float, float, str]] = {
    **dict.fromkeys(("alpha", "max_violation", "validation_fraction"), (0, 1, "[]")),
    "confidence": (0, 1 - 1e-9, "[]"),
    "new_people": (1e-100, np.inf, "[]"),
    "epsilon": (*EPSILONS, "[]"),
    "learning_rate": (1e-100, 1e100, "[]"),
    "tol": (0, np.inf, "[]"),
    "C": (1e-100, np.inf, "[]"),
    "stopping_fraction": (0, 1, "()"),
}
COUNTS = {
    "cv": 2,
    **dict.fromkeys(
        (
            "early_stopping_rounds",
            "n_estimators",
            "max_iter",
            "epochs",
            "batch_size",
            "receivers",
        ),
        1,
    ),
}
OPTIONAL = ("max_violation", "C", "early_stopping_rounds", "receivers")  # None is without
# Share of the weight that one person must leave to all others: with less, training is lost in
# rounding, and took minutes for forty people.
LEAST_REST = 1e-9


def read_weight(sample_weight: Array, X: Array) -> np.ndarray:
    """Return the weights, one by default, or raise where they are none, or their sum too large."""
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    with np.errstate(over="ignore"):
        total = weight.sum()
    if total > 1e300:
        raise ArgumentError("sample_weight", f"must sum to at most 1e300; the sum is {total:.3g}.")
    first = int(weight.argmax())
    rest = np.delete(weight, first).sum() / (total or 1.0)
    if 0 < rest < LEAST_REST:
        raise ArgumentError(
            "sample_weight",
            f"gives the person in row {first} all weight but {rest:.1g} of it, which is too little "
            "to learn from anybody else. Pass weights that are nearer to each other.",
        )
    return np.asarray(weight)


def check_number(name: str, value: Any) -> None:
    """Raise where a setting is no number in its range."""
    if name in COUNTS:
        check_whole(name, value, COUNTS[name])
    else:
        check_real(name, value, *REALS[name])


def check_balance(value: Any) -> None:
    """Raise where a `balance` is neither a factor nor found from the data."""
    each = list(value.values()) if isinstance(value, Mapping) else [value]
    sound = each and all(1e-100 <= (as_real(v) or 0.0) <= 1e100 for v in each)
    if not sound and not (isinstance(value, str) and value == "auto"):
        raise ValueError(
            '`balance` must be "auto", a positive number, or one for each attribute or group that '
            f"is weighed, from 1e-100 to 1e100; received {shown(value)}."
        )


def check_limits(limits: Mapping[Any, Any]) -> None:
    """Raise where limits of attributes are none, or no numbers in their range."""
    if not limits:
        raise ValueError("`max_violation` has no limits; name attributes, or pass one number.")
    for limit in limits.values():
        check_number("max_violation", limit)


def chosen_weigh(weigh: str | None, regularizer: str | FairnessLoss, people: People) -> Weigh:
    """Return what a penalty is summed over for these people."""
    if isinstance(regularizer, FairnessLoss):
        if weigh not in (None, regularizer.weigh):
            raise ValueError(
                f"`regularizer` was made with weigh={regularizer.weigh!r}, but `weigh` is "
                f"{weigh!r}; pass the same to both, or leave it out here."
            )
        return regularizer.weigh
    if weigh is not None:
        return weigh  # type: ignore[return-value]
    several = len(attributes_of(people)) > 1
    return "attributes" if several and regularizer == OTFLoss.name else "people"


def check_bounded(bounded: Any, regularizer: str | FairnessLoss) -> None:
    """Raise unless `bounded` is yes or no, and yes only for a cost that knows bounds."""
    check_flag("bounded", bounded)
    if bounded and isinstance(regularizer, OTFLoss) and not regularizer.bounded:
        raise ValueError(
            "`bounded` is True, but `regularizer` was made without; pass `bounded=True` to that "
            "OTFLoss, and leave it out here."
        )
    if bounded and not isinstance(regularizer, OTFLoss) and regularizer != OTFLoss.name:
        raise ValueError(
            f"`bounded` is True, but only the OTF cost moves scores; received the regularizer "
            f"{regularizer!r}. Leave `bounded` out, or pass regularizer={OTFLoss.name!r}."
        )


def set_balance(
    loss: FairnessLoss, balance: float | Mapping[str, float], people: People
) -> float | dict[str, float]:
    """Give a penalty the user's own factor, or one for each part of the people's rows."""
    names = [part.name for part in parts_of(people, loss.weigh)]
    if isinstance(balance, Mapping) and sorted(balance) != sorted(names):
        weighed = ", ".join(filter(None, names)) or "nothing"
        raise ValueError(
            f"`balance` has factors of {', '.join(map(str, balance))}, but what is weighed is "
            f"{weighed}; pass one for each, or one number."
        )
    loss.balances = balance
    return loss.balances


def check_common(estimator: Any) -> None:
    """Raise where a number is out of its range, or `geometry` and another setting clash."""
    check_seed(estimator.random_state)
    for name in (*REALS, *COUNTS):
        given = getattr(estimator, name, None)
        if name == "cv" and (hasattr(given, "split") or np.iterable(given)):
            continue  # splits of one's own
        if name == "max_violation" and isinstance(given, Mapping):
            check_limits(given)
        elif given is not None or (hasattr(estimator, name) and name not in OPTIONAL):
            check_number(name, given)
    check_balance(estimator.balance)
    check_weigh(estimator.weigh)
    check_bounded(estimator.bounded, estimator.regularizer)
    bounded = estimator.bounded or getattr(estimator.regularizer, "bounded", False)
    if bounded and estimator.receivers is not None:
        raise ValueError(
            "`bounded` is True, and what each person may receive is bounded for all of them, but "
            f"`receivers` is {estimator.receivers}; leave one of the two out."
        )
    if estimator.scale is not None and not isinstance(estimator.scale, str):
        check_scale(estimator.scale)
    own, loss = (estimator.cost, estimator.scale), estimator.regularizer
    if own != ("euclidean", "max"):
        asked = f"`cost` is {estimator.cost!r} and `scale` {estimator.scale!r}; leave these out"
        if estimator.geometry is not None:
            raise ValueError(f"`geometry` has a cost of its own, but {asked}, or the `geometry`.")
        if isinstance(loss, OTFLoss) and (loss.cost, loss.scale) != own:
            raise ValueError(
                f"`regularizer` was made with the cost {loss.cost!r} and the scale {loss.scale!r}, "
                f"but {asked}."
            )
    stops = getattr(estimator, "early_stopping_rounds", None) is not None
    if stops and isinstance(estimator.geometry, Geometry):
        raise ValueError(
            "`early_stopping_rounds` keeps people out of training, but `geometry` is of all of "
            "them; pass one of the two."
        )
    if estimator.criterion not in CRITERIA:
        known = ", ".join(CRITERIA)
        raise ValueError(f"unknown criterion {estimator.criterion!r}; pass one of {known}.")


def check_settings(estimator: Any) -> None:
    """Raise where a setting of an `OTFClassifier` makes no sense."""
    check_common(estimator)
    if not isinstance(estimator.regularizer, FairnessLoss):
        loss_class(estimator.regularizer)
    for name, known in KNOWN.items():
        if (value := getattr(estimator, name)) not in known:
            raise ValueError(f"unknown {name} {value!r}; pass one of {', '.join(known)}.")
    if estimator.mode == "batch" and (not estimator._by_adam or estimator.geometry is not None):
        raise ValueError(
            '`mode="batch"` needs `solver="adam"` or a `module`, as L-BFGS looks at all people '
            'at once, and takes no `geometry`. Leave `mode="dataset"`.'
        )
    if estimator.module is not None and not callable(estimator.module):
        raise ValueError(
            f"`module` must be a torch module, or a function of the number of features that makes "
            f"one; received {estimator.module!r}."
        )


def split_off(
    estimator: Any, share: str, rows: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Split rows by a share that is a setting; return those that stay, and those kept out."""
    size = getattr(estimator, share)
    try:
        kept, out = train_test_split(
            rows,
            test_size=size,
            random_state=check_random_state(estimator.random_state),
            stratify=labels[rows],
        )
    except ValueError as error:
        raise ValueError(
            f"`{share}` {size} of {len(rows)} people leaves too few on one side ({error}); pass a "
            "share further from 0 and 1."
        ) from None
    return np.sort(kept), np.sort(out)


def chosen_columns(given: Any, names: Sequence[str], blocks: Sequence[Sequence[int]]) -> list[int]:
    """Return the encoded columns of `cost_features`, each once, in their order.

    `names` are those of the encoded columns, if they have any; the name of a column from before
    `TableEncoder` stands for all that came of it. `blocks` are the encoded columns of each column
    that a position or a mask speaks of.
    """
    count, head = len(blocks), "`cost_features` must name columns, or give positions or a mask"
    if isinstance(given, str) or _is_position(given):
        given = [given]
    try:
        given = list(given)
    except TypeError:
        raise ValueError(f"{head}; received {given!r}. Pass a list of columns.") from None
    if given and all(isinstance(item, (bool, np.bool_)) for item in given):
        if len(given) != count:
            raise ValueError(f"{head} of all {count} columns of X; received {len(given)} entries.")
        given = np.flatnonzero(given).tolist()
    by_name: dict[str, list[int]] = {}
    for position, name in enumerate(names):
        for known in _known_as(name):
            by_name.setdefault(known, []).append(position)
    chosen: set[int] = set()
    for item in given:
        if isinstance(item, str) and item in by_name:
            chosen.update(by_name[item])
        elif _is_position(item) and -count <= int(item) < count:
            chosen.update(blocks[int(item)])
        elif isinstance(item, str):
            has = list(dict.fromkeys(_known_as(name)[0] for name in names)) or (
                f"no names, only the positions below {count}; for names, pass a data frame, or in "
                'a pipeline call `set_output(transform="pandas")`'
            )
            raise ValueError(f"`cost_features` names {item!r}; X has {has}.")
        else:
            raise ValueError(
                f"`cost_features` names {item!r}; X has {count} columns. Pass positions from "
                f"{-count} to {count - 1}, or names."
            )
    if not chosen:
        raise ValueError("`cost_features` chooses no column; name those by which people are alike.")
    return sorted(chosen)


def encoded_columns(given: Any, columns: Sequence[EncodedColumn]) -> list[int]:
    """Return the encoded columns of `cost_features` that name columns before encoding."""
    ends = np.cumsum([0, *(len(column.mean) for column in columns)]).tolist()
    names = [name for column in columns for name in column.outputs]
    return chosen_columns(given, names, [range(a, b) for a, b in pairwise(ends)])


def _is_position(item: Any) -> bool:
    return isinstance(item, numbers.Integral) and not isinstance(item, bool)


def _known_as(name: str) -> list[str]:
    """Return the names by which an encoded column is known, from the shortest to its own."""
    parts = name.removesuffix(" is missing").split("=")
    return list(dict.fromkeys([*("=".join(parts[:k]) for k in range(1, len(parts) + 1)), name]))


def read_training_data(
    estimator: Any, X: Array, y: Array, sample_weight: Array
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Validate a table; returns features, labels as 0 and 1, and weights; sets `classes_`."""
    try:
        X, y = validate_data(estimator, detached(X), detached(y), dtype=np.float64)
    except ValueError:
        _refuse_text_and_gaps(detached(X))
        raise
    check_classification_targets(y)
    estimator.classes_, labels = two_classes(y)
    return X, labels, read_weight(sample_weight, X)


def _refuse_text_and_gaps(X: Array) -> None:
    """Raise where a table that scikit-learn refuses has the shape of one, and should be encoded."""
    read = partial(check_array, X, ensure_all_finite=False)
    try:
        read(dtype=None)
    except ValueError:
        return
    try:
        values = read(dtype=np.float64)
    except ValueError as error:
        raise ValueError(
            f"`X` must be numeric ({error}). Encode text and categories first: "
            "`make_pipeline(TableEncoder(), OTFClassifier(...))`."
        ) from None
    if np.isnan(values).any():
        raise ValueError(
            "`X` contains NaN. Impute or drop those people; `TableEncoder` takes tables with "
            "missing values: `make_pipeline(TableEncoder(), OTFClassifier(...))`."
        ) from None


def detached(values: Array) -> Array:
    """Return a tensor without its gradient, where NumPy can read it; other values as they are."""
    return values.detach().cpu() if is_tensor(values) else values


def read_people(
    notion: Notion | str, sensitive_features: Array, labels: np.ndarray, weight: Array, needed: bool
) -> People | None:
    """Type the people by a notion; none without `sensitive_features`, which a penalty needs."""
    if sensitive_features is not None:
        people = known_people(as_notion(notion), sensitive_features, labels, weight)
        same_length("sensitive_features", len(people.types), len(labels), "X")
        return people
    if needed:
        raise ValueError(
            "`sensitive_features` are missing; pass `fit(X, y, sensitive_features=...)`, or set "
            "`alpha=0` for a model without fairness."
        )
    return None
