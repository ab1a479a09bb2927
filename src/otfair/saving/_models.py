"""Save trained models and load them again, without ever running code from a file.

The file (`storage.py`) holds settings and what was learnt. What is code, such as a torch module or
a function, stays out of it and is given back by the user.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, Self, cast

import numpy as np
import torch
from sklearn import config_context
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted
from torch import nn

from otfair.notions import STORED_NOTIONS
from otfair.saving._storage import FilePath, Known, UnstorableError, as_written, pack, read, write

ROUTED = ("fit", "score")  # methods that take more than X and y, by scikit-learn's routing
# Not `memory`: a cache belongs to a machine, and what it holds are pickles.
PIPELINE_SETTINGS, EMPTY_STEPS = ("verbose", "transform_input"), (None, "passthrough")
OUTPUTS = ("default", "pandas", "polars")  # of `set_output`


@dataclass(frozen=True)
class NotStored:
    """Stands for a setting that a file can't hold, and says so wherever it is used."""

    setting: str
    kind: str  # name of its type

    def __repr__(self) -> str:
        return (
            f"<{self.setting}: {self.kind}, which a saved model can't hold; set it by "
            f"`load(..., {self.setting}=...)` or `set_params({self.setting}=...)`>"
        )

    def _refuse(self, *_: Any) -> NoReturn:
        raise ValueError(f"`{self.setting}` is missing: {self!r}.")

    __call__ = __iter__ = _refuse  # of a function, of columns
    shape = property(_refuse)  # of a geometry


class SaveMixin:
    """Gives an estimator `save` and `load`."""

    def save(self, path: FilePath) -> None:
        """Save to one file, from which no code is ever run; see `save_model`.

        Parameters
        ----------
        path : the file, such as ``"model.safetensors"``; an earlier one is replaced.
        """
        save_model(path, self)

    @classmethod
    def load(cls, path: FilePath, **settings: Any) -> Self:
        """Load what `save` wrote; see `load_model`.

        Parameters
        ----------
        path : the file.
        settings : settings that the file can't hold, such as ``module=...``.
        """
        model = _read(path)
        if type(model) is not cls:
            raise ValueError(
                f"`{path}` holds another class: received {type(model).__name__}, expected "
                f"{cls.__name__}. Load it by `otfair.load_model(path)`."
            )
        return cast("Self", _given(model, settings, path))


def save_model(path: FilePath, model: Any) -> None:
    """Save a fitted classifier, encoder, or pipeline of them to one file.

    The file is safetensors with JSON in it: loading it never runs code, and other programs can
    read it. It is written at once, so that a failure leaves an earlier file as it was.

    Settings that are code or large data (a `LinearNotion`, a torch module, a geometry, a
    `RandomState`) are left out; `load_model` takes them back. The weights of a module are saved.

    Parameters
    ----------
    path : the file, such as ``"model.safetensors"``.
    model : an `OTFClassifier`, an `OTFBoostingClassifier` (whose trees are kept in the booster's
        own format), a `TableEncoder`, or a scikit-learn `Pipeline` of these.

    Examples
    --------
    >>> import otfair, tempfile
    >>> from sklearn.pipeline import make_pipeline
    >>> data = otfair.load_dataset("synthetic", n=200)
    >>> model = make_pipeline(otfair.TableEncoder(), otfair.OTFClassifier(alpha=0))
    >>> model = model.fit(data.X, data.y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     otfair.save_model(f"{folder}/model.safetensors", model)
    ...     again = otfair.load_model(f"{folder}/model.safetensors")
    >>> bool((again.predict_proba(data.X) == model.predict_proba(data.X)).all())
    True
    """
    from otfair import __version__

    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"`{path}` is a folder; name a file in it: model.safetensors.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder `{path.parent}`; make it first.")
    write(path, {"otfair": __version__, "model": _describe(model)}, _known())


def load_model(path: FilePath, **settings: Any) -> Any:
    """Load what `save_model` wrote. Its predictions are the same, bit for bit.

    Parameters
    ----------
    path : the file.
    settings : settings that the file can't hold. A torch module must be given, as ``module=...``
        (the module that was trained, or the function that makes it; the weights come from the
        file). Others are needed to `fit` again only. In a pipeline they are named by the step:
        ``otfclassifier__module=...``.

    Examples
    --------
    >>> import numpy as np, otfair, tempfile, torch
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    >>> trained = otfair.OTFClassifier(alpha=0, module=net, epochs=3).fit(X, X[:, 0] > 0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     trained.save(f"{folder}/model.safetensors")
    ...     again = otfair.load_model(f"{folder}/model.safetensors", module=net)
    >>> bool((again.predict_proba(X) == trained.predict_proba(X)).all())
    True
    """
    return _given(_read(path), settings, path)


def _read(path: FilePath) -> Any:
    content = read(path, _known())
    with as_written(path):
        return _restore(content["model"])


@dataclass(frozen=True)
class _Kind:
    """A class that can be saved: what `fit` sets, and a check of what a file says it did."""

    cls: type
    fitted: tuple[str, ...]
    check: Callable[[Any], None]
    takes_more: bool = False  # settings that are not its own but a booster's


@cache
def _kinds() -> dict[str, _Kind]:
    """Everything that a file can make, by the name it has there. Later layers, hence imported late.

    A file chooses among these; it can't name anything else.
    """
    from otfair.models import OTFBoostingClassifier, OTFClassifier
    from otfair.tables._encoder import TableEncoder

    trees = ("classes_", "columns_", "model_text_", "offset_")
    line, net = ("coef_", "intercept_"), ("module_",)
    columns, scale = ("n_features_in_", "feature_names_in_"), ("_mean", "_spread")
    told = ("alpha_", "balance_", "violation_", "n_iter_", "converged_", "history_")
    return {
        "OTFClassifier": _Kind(
            OTFClassifier, (*columns, "classes_", *line, *net, *scale, *told), _check_classifier
        ),
        "OTFBoostingClassifier": _Kind(
            OTFBoostingClassifier, (*columns, *trees, *told), _check_boosting, takes_more=True
        ),
        "TableEncoder": _Kind(TableEncoder, (*columns, "columns_"), _check_encoder),
    }


@cache
def _known() -> Known:
    """Return the dataclasses that a file can hold."""
    from otfair.tables._encoder import _Column

    return {**STORED_NOTIONS, "Column": _Column, "NotStored": NotStored}


def _describe(model: Any) -> dict[str, Any]:
    """Return what is to be stored of a model."""
    if type(model) is Pipeline:
        settings = {n: v for n, v in model.get_params(deep=False).items() if n in PIPELINE_SETTINGS}
        steps = [[n, s if s in EMPTY_STEPS else _describe(s)] for n, s in model.steps]
        return {"class": "Pipeline", "settings": settings, "steps": steps}
    name = next((name for name, kind in _kinds().items() if type(model) is kind.cls), None)
    if name is None:
        raise ValueError(
            f"can't save a {type(model).__module__}.{type(model).__name__}; received {model!r}. "
            f"What can be saved is {', '.join(_kinds())}, and a Pipeline of these."
        )
    check_is_fitted(model, msg="This %(name)s is not fitted yet; call `fit` before saving it.")
    held = vars(model)
    settings = {n: _storable(n, v) for n, v in model.get_params(deep=False).items()}
    fitted = {n: held[n] for n in _kinds()[name].fitted if n in held}
    if "module_" in fitted:
        settings["module"] = NotStored("module", type(fitted["module_"]).__name__)
        fitted["module_"] = dict(fitted["module_"].state_dict())
    try:
        _kinds()[name].check(SimpleNamespace(**fitted))
    except (ValueError, AttributeError) as error:
        raise NotFittedError(
            f"This {name} is not fitted whole ({error}); `fit` it again."
        ) from None
    request = held.get("_metadata_request")
    return {
        "class": name,
        "settings": settings,
        "fitted": fitted,
        "routing": {} if request is None else request._serialize(),
        "output": held.get("_sklearn_output_config", {}).get("transform"),
    }


def _storable(name: str, value: Any) -> Any:
    """Return a setting, or what stands for it."""
    try:
        pack(value, _known(), {}, name)
    except UnstorableError:
        return NotStored(name, type(value).__name__)
    return value


def _restore(stored: dict[str, Any]) -> Any:
    """Make the model that was described; the weights of a module stay a dict for now."""
    name, settings = stored["class"], stored["settings"]
    kind = _kinds().get(name)
    if kind is None and name != "Pipeline":
        raise ValueError(f"it is a {name!r}, not one of {', '.join(_kinds())}, Pipeline")
    allowed = PIPELINE_SETTINGS if kind is None else kind.cls._get_param_names()  # type: ignore[attr-defined]
    more = settings if kind is not None and kind.takes_more else ()
    _refuse_unknown("settings", settings, (*allowed, *more))
    if kind is None:
        steps = [(n, s if s in EMPTY_STEPS else _restore(s)) for n, s in stored["steps"]]
        named = bool(steps) and all(isinstance(name, str) for name, _ in steps)
        _require(named, "its steps have no names")
        return Pipeline(steps, **settings)
    _refuse_unknown("fitted attributes", stored["fitted"], kind.fitted)
    kind.check(SimpleNamespace(**stored["fitted"]))
    model = kind.cls(**settings)
    vars(model).update(stored["fitted"])
    with config_context(enable_metadata_routing=True):
        for method in ROUTED:
            if requests := stored["routing"].get(method):
                getattr(model, f"set_{method}_request")(**requests)
    if (output := stored["output"]) is not None:
        _require(output in OUTPUTS, f"its output is {output!r}")
        model.set_output(transform=output)
    return model


def _given(model: Any, given: dict[str, Any], path: FilePath) -> Any:
    """Return a model with the settings that a file can't hold, and weights in their module."""
    parts = dict(_parts(model))
    absent = {
        prefix + name: part
        for prefix, part in parts.items()
        for name, value in part.get_params(deep=False).items()
        if isinstance(value, NotStored)
    }
    if wrong := sorted(set(given) - set(absent)):
        raise ValueError(
            f"{wrong} can't be given to `{path}`, which lacks {sorted(absent) or 'no setting'}. "
            "Change other settings after loading, by `set_params`."
        )
    for name, value in given.items():
        absent[name].set_params(**{name.rpartition("__")[2]: value})
    for prefix, part in parts.items():
        if isinstance(weights := vars(part).get("module_"), dict):
            part.module_ = _filled(part, weights, f"{prefix}module")
    return model


def _parts(model: Any, prefix: str = "") -> list[tuple[str, Any]]:
    """Return the estimators of a model, each with the prefix of its settings."""
    if not isinstance(model, Pipeline):
        return [(prefix, model)]
    steps = [(n, s) for n, s in model.steps if s not in EMPTY_STEPS]
    return [part for n, s in steps for part in _parts(s, f"{prefix}{n}__")]


def _filled(part: Any, weights: dict[str, Any], name: str) -> nn.Module:
    """Return the user's module with the weights of the file."""
    fix = f"Pass the module that was trained, or the function that makes it, as `{name}=...`."
    module = part.module
    if isinstance(module, nn.Module):
        module = copy.deepcopy(module)
    elif callable(module) and not isinstance(module, NotStored):
        with torch.random.fork_rng(devices=[]):
            module = module(part.n_features_in_)
    else:
        kind = module.kind if isinstance(module, NotStored) else "torch module"
        raise ValueError(
            f"the classifier is a {kind}, of which the file holds the weights but not the code; "
            f"received {module!r}. {fix}"
        )
    if not isinstance(module, nn.Module):
        raise ValueError(f"`{name}` made {module!r}, which is not a torch module. {fix}")
    try:
        module.load_state_dict(weights)
    except RuntimeError as error:
        raise ValueError(f"`{name}` does not fit the weights of the file: {error}. {fix}") from None
    for key, value in module.state_dict().items():
        trained = getattr(weights[key], "dtype", None)
        if isinstance(value, torch.Tensor) and value.dtype != trained:
            raise ValueError(
                f"`{name}` does not fit the weights of the file: its {key} is of {value.dtype}, "
                f"and was trained as {trained}. {fix}"
            )
    return module


def _require(sound: bool, otherwise: str) -> None:
    if not sound:
        raise ValueError(otherwise)


def _refuse_unknown(what: str, names: Any, known: Any) -> None:
    _require(isinstance(names, dict), f"its {what} have no names")
    if unknown := sorted(set(names) - set(known)):
        raise ValueError(f"it has the {what} {unknown}, which this version does not know")


def _check_shapes(state: Any, **shapes: tuple[int, ...]) -> None:
    for name, shape in shapes.items():
        value = getattr(state, name, None)
        if not isinstance(value, np.ndarray) or value.shape != shape:
            raise ValueError(f"{name} is not an array of shape {shape}")
        number = name not in ("classes_", "feature_names_in_")
        _require(value.dtype == np.float64 or not number, f"{name} is of {value.dtype}")


def _check_width(state: Any) -> int:
    width = state.n_features_in_
    _require(type(width) is int and width > 0, f"n_features_in_ is {width!r}")
    if hasattr(state, "feature_names_in_"):
        _check_shapes(state, feature_names_in_=(width,))
        names = state.feature_names_in_
        _require(all(isinstance(n, str) for n in names), f"feature_names_in_ are {names}")
    return int(width)


def _check_classifier(state: Any) -> None:
    width = _check_width(state)
    _check_shapes(state, classes_=(2,), _mean=(width,), _spread=(width,))
    if hasattr(state, "module_"):
        _require(isinstance(state.module_, dict), "module_ holds no weights")
    else:
        _check_shapes(state, coef_=(1, width), intercept_=(1,))


def _check_boosting(state: Any) -> None:
    _check_encoder(state)
    _check_shapes(state, classes_=(2,))
    _require(isinstance(state.model_text_, str), "model_text_ is no text")
    _require(isinstance(state.offset_, float), f"offset_ is {state.offset_!r}")


def _check_encoder(state: Any) -> None:
    width, columns = _check_width(state), state.columns_
    _require(isinstance(columns, list) and len(columns) == width, "its columns do not match")
    for column in columns:
        is_column = isinstance(column, _known()["Column"])
        _require(is_column and type(column.missing) is bool, "it has a column of another kind")
        levels = () if column.levels is None else column.levels
        text = isinstance(levels, tuple) and all(isinstance(v, str) for v in (column.name, *levels))
        _require(text, f"the values of column {column.name!r} are not text")
        outputs = len(column.outputs)
        _check_shapes(column, mean=(outputs,), scale=(outputs,))
