"""What a file holds of one estimator: its settings and what it learnt, never code.

A class says itself what that is, so that nothing here knows any of them. What is code, such as a
torch module or a function, stays out of the file and is given back by the user.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
import torch
from sklearn import config_context
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted
from torch import nn

from otfair._io.checks import brief, refuse_unknown, require
from otfair._io.storage import (
    FilePath,
    Known,
    UnstorableError,
    as_written,
    pack,
    read_text,
    write,
)

PARTS = ("class", "settings", "fitted", "nested", "routing", "output")  # of one estimator
ROUTED = ("fit", "predict", "predict_proba", "decision_function", "score")  # they may take more


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

    __call__ = __iter__ = take = _refuse  # of a function, of columns, of a geometry
    shape = property(_refuse)  # of a geometry


class SaveMixin:
    """Gives an estimator `save` and `load`; a class states what a file may hold of it."""

    _fitted: ClassVar[tuple[str, ...]]  # what `fit` sets
    _nested: ClassVar[tuple[str, ...]] = ()  # estimators that `fit` sets
    _stored_types: ClassVar[Known] = {}  # dataclasses in its settings, or in what it learnt
    _takes_more: ClassVar[bool] = False  # settings that are not its own but a booster's

    @staticmethod
    def _check_fitted(state: Any) -> None:
        """Raise unless what `fit` is said to have set is sound, estimators within included.

        A text that others are to read may be replaced by what was understood of it.
        """

    def _check_loaded(self) -> None:
        """Raise where a setting that a prediction needs is not sound."""

    def _set_fitted(self, state: dict[str, Any]) -> None:
        """Take what a file says that `fit` set."""
        vars(self).update(state)

    def save(self, path: FilePath) -> None:
        """Save to one file, from which no code is ever run; see `save_model`.

        Parameters
        ----------
        path : str or path-like
            The file, such as ``"model.safetensors"``; an earlier one is replaced.
        """
        if "_fitted" not in vars(type(self)):
            raise ValueError(
                f"can't save a {type(self).__module__}.{type(self).__name__}: what a subclass adds "
                "is not known. Save a model of the class itself."
            )
        from otfair import save_model  # it knows what estimators within may be

        save_model(path, self)

    @classmethod
    def load(cls, path: FilePath, **settings: Any) -> Self:
        """Load what `save` wrote; see `load_model`.

        Parameters
        ----------
        path : str or path-like
            The file.
        **settings : object
            Settings that the file can't hold, such as ``module=...``.

        Returns
        -------
        object
            The model.
        """
        with as_written(path):
            name = read_text(path)["model"]["class"]
            require(isinstance(name, str) and name.isidentifier(), f"it is a {brief(name)}")
        if name != cls.__name__:
            raise ValueError(
                f"`{path}` holds another class: received {name}, expected {cls.__name__}. Load it "
                "by `otfair.load_model(path)`."
            )
        from otfair import load_model  # it knows what estimators within may be

        model: Self = load_model(path, **settings)
        return model


def known_types(*classes: type[SaveMixin]) -> Known:
    """Return the dataclasses that a file of these classes can hold, by the name they have there."""
    types = {name: kind for cls in classes for name, kind in cls._stored_types.items()}
    return {**types, "NotStored": NotStored}


def write_model(path: FilePath, description: dict[str, Any], known: Known) -> None:
    """Write the description of a model to a file, of which the folder must be there."""
    from otfair import __version__

    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"`{path}` is a folder; name a file in it: model.safetensors.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder `{path.parent}`; make it first.")
    write(path, {"otfair": __version__, "model": description}, known)


def describe(model: Any, describe_part: Callable[[Any], Any]) -> dict[str, Any]:
    """Return what is to be stored of an estimator; the function describes those within it."""
    cls, held = type(model), vars(model)
    check_is_fitted(model, msg="This %(name)s is not fitted yet; call `fit` before saving it.")
    known = known_types(cls)
    settings = {n: _storable(n, v, known) for n, v in model.get_params(deep=False).items()}
    fitted = {n: getattr(model, n) for n in cls._fitted if hasattr(model, n)}
    if "module_" in fitted:
        settings["module"] = NotStored("module", type(fitted["module_"]).__name__)
        fitted["module_"] = dict(fitted["module_"].state_dict())
    parts = {n: getattr(model, n) for n in cls._nested if hasattr(model, n)}
    try:
        cls._check_fitted(SimpleNamespace(**fitted, **parts))
    except (ValueError, AttributeError) as error:
        raise NotFittedError(
            f"This {cls.__name__} is not fitted whole ({error}); `fit` it again, with the "
            "versions of packages that this otfair knows."
        ) from None
    request = held.get("_metadata_request")
    return {
        "class": cls.__name__,
        "settings": settings,
        "fitted": fitted,
        "nested": {n: _storable_part(model, n, part, describe_part) for n, part in parts.items()},
        "routing": {} if request is None else request._serialize(),
        "output": held.get("_sklearn_output_config", {}).get("transform"),
    }


def _storable(name: str, value: Any, known: Known) -> Any:
    """Return a setting, or what stands for it."""
    try:
        pack(value, known, {}, name)
    except UnstorableError:
        return NotStored(name, type(value).__name__)
    return value


def _storable_part(model: Any, name: str, part: Any, describe_part: Callable[[Any], Any]) -> Any:
    """Return the description of an estimator within, or what stands for one that is a setting."""
    try:
        return describe_part(part)
    except UnstorableError as error:
        if name.removesuffix("_") in model.get_params(deep=False):
            return NotStored(name.removesuffix("_"), type(part).__name__)
        raise ValueError(
            f"this {type(model).__name__} can't be saved, as a file can't hold its `{name}`: "
            f"{error}"
        ) from None


def restore(cls: Any, stored: dict[str, Any], restore_part: Callable[[Any], Any]) -> Any:
    """Make the estimator that was described; the function makes those within it.

    The weights of a module stay a dict for now.
    """
    refuse_unknown("parts", stored, PARTS)
    settings = _settings(cls, stored["settings"])
    refuse_unknown("fitted attributes", stored["fitted"], cls._fitted)
    within = stored.get("nested", {})  # files of earlier versions have none
    refuse_unknown("estimators", within, cls._nested)
    parts = {n: s if isinstance(s, NotStored) else restore_part(s) for n, s in within.items()}
    state = SimpleNamespace(**stored["fitted"], **parts)
    cls._check_fitted(state)
    model = cls(**settings)
    model._set_fitted(vars(state))
    for name, part in parts.items():
        if isinstance(getattr(model, name.removesuffix("_"), None), NotStored):
            setattr(model, name.removesuffix("_"), part)
    model._check_loaded()
    _set_routing(model, stored["routing"])
    if (output := stored["output"]) is not None:
        require(output in ("default", "pandas", "polars"), f"its output is {brief(output)}")
        model.set_output(transform=output)
    return model


def _set_routing(model: Any, routing: Any) -> None:
    """Ask for metadata as a file says."""
    refuse_unknown("routed methods", routing, ROUTED)
    with config_context(enable_metadata_routing=True):
        for method in ROUTED:
            if requests := routing.get(method):
                getattr(model, f"set_{method}_request")(**requests)


def _settings(cls: Any, found: Any) -> dict[str, Any]:
    """Return the settings that a file holds, if they are such as an estimator of a class has."""
    require(isinstance(found, dict), "its settings have no names")
    more = [n for n in found if cls._takes_more and n.isidentifier() and n.strip("_") == n]
    refuse_unknown("settings", found, (*cls._get_param_names(), *more))
    for name, value in found.items():
        if isinstance(value, NotStored):
            named = value.setting == name and str(value.kind).isidentifier()
            require(named, f"its setting {brief(name)} is no setting that a file can't hold")
    return dict(found)


def complete(parts: dict[str, Any], given: dict[str, Any], path: FilePath) -> None:
    """Give estimators the settings that a file can't hold, and fill modules with their weights.

    `parts` are the estimators of a model, each by the prefix that its settings have.
    """
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
        for name in part._nested:
            if isinstance(vars(part).get(name), NotStored):
                setattr(part, name, _given_back(part, name.removesuffix("_"), prefix))


def _given_back(part: Any, setting: str, prefix: str) -> Any:
    """Return the fitted estimator that a file does not hold, given as a setting."""
    given, name = getattr(part, setting), f"{prefix}{setting}"
    fix = f"Pass the one that was fitted, as `{name}=...`."
    if isinstance(given, NotStored):
        raise ValueError(f"the {setting} is a {given.kind}, which the file can't hold. {fix}")
    try:
        check_is_fitted(given)
    except (NotFittedError, TypeError):
        raise ValueError(f"`{name}` must be fitted; received {given!r}. {fix}") from None
    for known in ("classes_", "n_features_in_", "feature_names_in_"):
        if not (hasattr(given, known) and hasattr(part, known)):
            continue
        received, expected = getattr(given, known), getattr(part, known)
        if not np.array_equal(received, expected):
            raise ValueError(
                f"`{name}` is not the one of the file: its {known} is {received!r}, and was "
                f"{expected!r}. {fix}"
            )
    return given


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
        reason = " ".join(str(error).split())  # of many lines
        raise ValueError(f"`{name}` does not fit the weights of the file: {reason} {fix}") from None
    for key, value in module.state_dict().items():
        trained = getattr(weights[key], "dtype", None)
        if isinstance(value, torch.Tensor) and value.dtype != trained:
            raise ValueError(
                f"`{name}` does not fit the weights of the file: its {key} is of {value.dtype}, "
                f"and was trained as {trained}. {fix}"
            )
    return module
