"""Save trained models and pipelines of them, without ever running code from a file.

What a file holds of one estimator is said by its class (`_io/saved.py`); here are the classes that
a file can choose among, and pipelines.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from sklearn.pipeline import Pipeline

from otfair._io.checks import brief, refuse_unknown, require
from otfair._io.saved import (
    NotStored,
    SaveMixin,
    complete,
    describe,
    known_types,
    restore,
    write_model,
)
from otfair._io.storage import FilePath, UnstorableError, as_written, read
from otfair.decisions import FairDecisions
from otfair.models import OTFBoostingClassifier, OTFClassifier, ScoreColumn
from otfair.tables import TableEncoder

# Everything that a file can make; it can't name anything else.
CLASSES: dict[str, type[SaveMixin]] = {
    cls.__name__: cls
    for cls in (OTFClassifier, OTFBoostingClassifier, FairDecisions, ScoreColumn, TableEncoder)
}
KNOWN = known_types(*CLASSES.values())  # the dataclasses that a file can hold
# Not `memory`: a cache belongs to a machine, and what it holds are pickles.
PIPELINE_SETTINGS, EMPTY_STEPS = ("verbose", "transform_input"), (None, "passthrough")


def save_model(path: FilePath, model: Any) -> None:
    """Save a fitted classifier, fair decisions, an encoder, or a pipeline of them to one file.

    The file is safetensors with JSON in it: loading it never runs code, and other programs can
    read it. It is written at once, so that a failure leaves an earlier file as it was.

    Settings that are code or large data (a `LinearNotion`, a torch module, a geometry, a
    `RandomState`) are left out; `load_model` takes them back. The weights of a module are saved.
    Of `FairDecisions` around a classifier that is not of this library the rule is saved, and the
    classifier is given back in the same way.

    Parameters
    ----------
    path : str or path-like
        The file, such as ``"model.safetensors"``.
    model : OTFClassifier, OTFBoostingClassifier, FairDecisions, TableEncoder or Pipeline
        What was trained; a scikit-learn `Pipeline` is one of the others. Boosted trees are kept in
        the booster's own format.

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
    write_model(path, _describe(model), KNOWN)


def load_model(path: FilePath, **settings: Any) -> Any:
    """Load what `save_model` wrote (see there). Its predictions are the same, bit for bit.

    Parameters
    ----------
    path : str or path-like
        The file.
    **settings : object
        Settings that the file can't hold, in a pipeline as ``otfclassifier__module=...``. A torch
        `module` must be given (the one that was trained, or the function that makes it; the weights
        come from the file), and so must the fitted `estimator` of `FairDecisions` where it is of
        another library; others are needed to `fit` again only.

    Returns
    -------
    OTFClassifier, OTFBoostingClassifier, FairDecisions, TableEncoder or Pipeline
        The model.
    """
    content = read(path, KNOWN)
    with as_written(path):
        refuse_unknown("keys", content, ("otfair", "model"))
        model = _restore(content["model"])
    complete(dict(_parts(model)), settings, path)
    return model


def _describe(model: Any) -> dict[str, Any]:
    """Return what is to be stored of a model."""
    if type(model) is Pipeline:
        settings = {n: v for n, v in model.get_params(deep=False).items() if n in PIPELINE_SETTINGS}
        steps = [[n, s if s in EMPTY_STEPS else _describe(s)] for n, s in model.steps]
        return {"class": "Pipeline", "settings": settings, "steps": steps}
    if type(model) not in CLASSES.values():
        raise UnstorableError(
            f"can't save a {type(model).__module__}.{type(model).__name__}; received {model!r}. "
            f"What can be saved is {', '.join(CLASSES)}, and a Pipeline of these."
        )
    return describe(model, _describe)


def _restore(stored: dict[str, Any]) -> Any:
    """Make the model that was described; the weights of a module stay a dict for now."""
    if (name := stored["class"]) in CLASSES:
        return restore(CLASSES[name], stored, _restore)
    if name != "Pipeline":
        raise ValueError(f"it is a {brief(name)}, not one of {', '.join(CLASSES)}, Pipeline")
    refuse_unknown("parts", stored, ("class", "settings", "steps"))
    refuse_unknown("settings", stored["settings"], PIPELINE_SETTINGS)
    steps = [(n, s if s in EMPTY_STEPS else _restore(s)) for n, s in stored["steps"]]
    names = [name for name, _ in steps]
    named = bool(steps) and all(isinstance(n, str) and n and "__" not in n for n in names)
    require(named and len(set(names)) == len(names), "its steps have no names")
    _check_steps([step for _, step in steps])
    return Pipeline(steps, **stored["settings"])


def _check_steps(steps: list[Any]) -> None:
    """Raise unless each step of a pipeline takes what the one before it gives."""
    parts = [step for step in steps if step not in EMPTY_STEPS]
    last = bool(parts) and parts[-1] is steps[-1]
    require(last or all(hasattr(s, "transform") for s in parts), "a step can't transform")
    for before, after in pairwise(parts):
        require(hasattr(before, "transform"), "a step can't transform")
        names = before.get_feature_names_out()
        fits = getattr(after, "n_features_in_", len(names)) == len(names)
        require(fits, "a step takes other columns than the one before it gives")
        wanted = getattr(after, "feature_names_in_", None)
        output = vars(before).get("_sklearn_output_config", {}).get("transform")
        if wanted is not None and output in ("pandas", "polars"):  # arrays have no names
            require(list(wanted) == list(names), "a step takes columns of other names")


def _parts(model: Any, prefix: str = "") -> list[tuple[str, Any]]:
    """Return the estimators of a model, each with the prefix of its settings."""
    if isinstance(model, Pipeline):
        steps = [(n, s) for n, s in model.steps if s not in EMPTY_STEPS]
        return [part for n, s in steps for part in _parts(s, f"{prefix}{n}__")]
    within = [(n, s) for n in model._nested if (s := vars(model).get(n)) is not None]
    stored = [(n.removesuffix("_"), s) for n, s in within if not isinstance(s, NotStored)]
    return [(prefix, model), *(p for n, s in stored for p in _parts(s, f"{prefix}{n}__"))]
