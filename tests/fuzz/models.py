"""Saved models that someone has tampered with, and whose checksum fits again."""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import safetensors.torch
import torch
from sklearn.pipeline import make_pipeline
from tests.fuzz.changes import change, change_characters, change_lines, get

import otfair
from otfair._io import storage
from otfair.saving._models import KNOWN, _describe

KINDS = ("xgboost", "lightgbm", "other")
CORPUS = json.loads(Path(__file__).with_name("corpus").joinpath("models", "edits.json").read_text())
N = 300
DOCUMENTED = (
    "is damaged, or was not written by otfair",
    "does not hold what otfair writes",
    "is not a model of otfair",
    "of the format, and this otfair reads",
    "which the file can't hold. Pass the one that was fitted",  # an estimator to be given back
    "of which the file holds the weights but not the code",
    "does not fit the weights of the file",
    "the model has no score for",  # numbers that overflow, said when they do
    "can't be given to",  # a module that the file no longer asks for
    "; the columns are",  # a notion of other columns than those that are given
)


@cache
def people() -> tuple[pd.DataFrame, np.ndarray, pd.DataFrame]:
    data = otfair.load_dataset("synthetic", n=N, seed=0)
    table = data.X[["income", "late_payments", "sector", "area"]].copy()
    table["late_payments"] = table["late_payments"].astype(float).where(np.arange(N) % 7 > 0)
    table["area"] = table["area"].astype(object)
    table["many"] = [f"c{i * 37 % 90}" for i in range(N)]
    table["sector"] = table["sector"].astype(object).where(np.arange(N) % 11 > 0, None)
    return table, data.y, data.sensitive_features[["sex"]]


def _net(width: int) -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(width, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))


@cache
def models(kind: str) -> list[Any]:
    """Return sound models, of which all cases are made."""
    return _others() if kind == "other" else _boosted(kind)


def _line() -> Any:
    return make_pipeline(otfair.TableEncoder(), otfair.OTFClassifier(alpha=0))


def _fair(model: Any, X: pd.DataFrame | None = None, **settings: Any) -> otfair.FairDecisions:
    table, y, sex = people()
    rule = otfair.FairDecisions(model, max_difference=0.1, cv=2, confidence=None, **settings)
    return rule.fit(table if X is None else X, y, sensitive_features=sex)


def _others() -> list[Any]:
    X, y, sex = people()
    stack = otfair.EqualizedOdds() & "demographic_parity"
    named = make_pipeline(
        otfair.TableEncoder().set_output(transform="pandas"),
        otfair.OTFClassifier(stack, alpha=0.2, max_iter=9),
    )
    net = otfair.OTFClassifier(alpha=0.1, module=_net, epochs=1, random_state=0)
    return [
        _line().fit(X, y),
        named.fit(X, y, otfclassifier__sensitive_features=sex),
        otfair.TableEncoder().fit(X),
        net.fit(X[["income"]].to_numpy() / 1e5, y, sensitive_features=sex),
        _fair(_line()),
        _fair(_line(), use_sensitive=True),
        _fair(_line(), target="scores", notion="equalized_odds"),
        _fair(otfair.ScoreColumn("p"), X.assign(p=np.linspace(0, 1, N))),
    ]


def _boosted(kind: str) -> list[Any]:
    X, y, sex = people()
    few = {"n_estimators": 3, "random_state": 0, "n_jobs": 1}
    trees = lambda **more: otfair.OTFBoostingClassifier(kind, **{"alpha": 0, **few, **more})
    deep = {"max_depth": 3, "max_cat_to_onehot": 1}
    if kind == "xgboost":
        pruned, forest = {"tree_method": "exact", "gamma": 3.0}, {"num_parallel_tree": 2}
    else:
        pruned = {"linear_tree": True, "max_depth": 2}
        forest = {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}
    return [
        trees(**deep).fit(X, y),
        trees(alpha=0.3, max_depth=2).fit(X, y, sensitive_features=sex),
        trees(early_stopping_rounds=2, **deep).fit(X, y),
        trees(**pruned).fit(X[["income", "late_payments"]], y),
        trees(**forest).fit(X, y),
        _fair(trees(**deep)),
    ]


@cache
def _stored(kind: str) -> list[tuple[str, dict[str, torch.Tensor]]]:
    found = []
    for model in models(kind):
        tensors: dict[str, torch.Tensor] = {}
        plain = storage.pack({"otfair": "0", "model": _describe(model)}, KNOWN, tensors)
        found.append((json.dumps(plain), tensors))
    return found


def prepare(kind: str) -> None:
    """Do what all cases of a kind share, before processes are forked."""
    for name in KINDS[:2] if kind == "corpus" else [kind]:
        _stored(name)


def case(kind: str, seed: int) -> tuple[int, bytes]:
    """Return which model was tampered with, and the file."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    which = int(rng.integers(len(_stored(kind))))
    text, tensors = _stored(kind)[which]
    content, tensors = json.loads(text), dict(tensors)
    texts = list(_texts(content))
    for _ in range(int(rng.geometric(0.6))):
        if texts and rng.random() < 0.8:
            holder = texts[int(rng.integers(len(texts)))]
            if isinstance(holder.get("model_text_"), str):
                changed = _change_json_text if kind == "xgboost" else change_lines
                holder["model_text_"] = changed(holder["model_text_"], rng)
        elif tensors and rng.random() < 0.35:
            _change_tensors(tensors, rng)
        else:
            content = change(content, rng)
    return which, write(content, tensors)


def write(content: Any, tensors: dict[str, torch.Tensor]) -> bytes:
    """Return a file with a checksum that fits."""
    text = json.dumps(content)
    metadata = {"format": "otfair", "version": "1", "content": text}
    metadata["sha256"] = storage._digest(text, tensors)
    return safetensors.torch.save(tensors, metadata)


def edited(edit: dict[str, Any]) -> bytes:
    """Return a file whose booster has one value changed, as an edit of the corpus says."""
    text, tensors = _stored(edit["kind"])[0]
    content = json.loads(text)
    (holder,) = _texts(content)
    if edit["kind"] == "xgboost":
        model = json.loads(holder["model_text_"])
        get(model, edit["at"][:-1])[edit["at"][-1]] = edit["value"]
        holder["model_text_"] = json.dumps(model)
    else:
        lines = holder["model_text_"].split("\n")
        at = next(i for i, line in enumerate(lines) if line.startswith(edit["line"] + "="))
        lines[at] = f"{edit['line']}={edit['value']}"
        holder["model_text_"] = "\n".join(lines)
    return write(content, tensors)


def attempt(kind: str, seed: int) -> str:
    """Load the file and predict; return "predicted" or "refused", or raise what nobody foresaw."""
    if kind == "corpus":
        edit = CORPUS[seed]
        return use(edited(edit), models(edit["kind"])[0])
    which, data = case(kind, seed)
    return use(data, models(kind)[which])


def use(data: bytes, original: Any) -> str:
    """Use a file as the model that it was made of would be used."""
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
        Path(file.name).write_bytes(data)
        try:
            return _use(file.name, original)
        except ValueError as error:
            if any(words in str(error) for words in DOCUMENTED) and "\n" not in str(error):
                return "refused"
            raise


def _use(path: str, original: Any) -> str:
    X, _, sex = people()
    module = {"module": _net} if hasattr(original, "module_") else {}
    model = otfair.load_model(path, **module)
    rows = X[:40].copy()
    rows.loc[rows.index[:5], "area"] = "never seen"
    if hasattr(original, "module_"):
        rows = rows[["income"]].to_numpy() / 1e5
    elif (names := getattr(original, "feature_names_in_", None)) is not None:
        rows = rows.assign(p=0.3)[list(names)]
    names = [getattr(m, "feature_names_in_", None) for m in (model, original)]
    if type(model) is not type(original) or not np.array_equal(*names):
        return "predicted"  # sound, and something else
    if isinstance(model, otfair.TableEncoder):
        assert np.isfinite(np.asarray(model.transform(rows), dtype=float)).all(), "not finite"
        return "predicted"
    more = {}
    if isinstance(model, otfair.FairDecisions) and model.use_sensitive:
        more = {"sensitive_features": sex[:40]}
    scores, decided = model.predict_proba(rows, **more), model.predict(rows, **more)
    assert scores.shape == (40, 2)
    assert ((scores >= 0) & (scores <= 1)).all(), "no probabilities"
    assert decided.shape == (40,)
    assert set(decided) <= set(model.classes_), "no decisions"
    repr(model)
    if isinstance(model, otfair.OTFBoostingClassifier):
        assert np.isfinite(model.feature_importances_).all(), "importances"
    return "predicted"


def _texts(content: Any):
    """Yield what holds the text of a booster."""
    parts = content.values() if isinstance(content, dict) else content
    if isinstance(content, dict) and isinstance(content.get("model_text_"), str):
        yield content
    for part in parts:
        if isinstance(part, dict | list):
            yield from _texts(part)


def _change_json_text(text: str, rng: np.random.Generator) -> str:
    if rng.random() < 0.15:
        return change_characters(text, rng)
    try:
        content = json.loads(text)
        trees = content["learner"]["gradient_booster"]["model"]["trees"]
        if trees and rng.random() < 0.7:
            which = int(rng.integers(len(trees)))
            fields = list(trees[which])
            name = fields[int(rng.integers(len(fields)))]
            trees[which] = {**trees[which], **change({name: trees[which][name]}, rng)}
            return json.dumps(content)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return change_characters(text, rng)
    return json.dumps(change(content, rng))


# Changes of tensors


def _change_tensors(tensors: dict[str, torch.Tensor], rng: np.random.Generator) -> None:
    names = sorted(tensors)
    name, other = rng.choice(names), rng.choice(names)
    tensor, way = tensors[name].clone(), rng.random()
    if way < 0.5 and tensor.numel():
        new = rng.choice([np.nan, np.inf, -np.inf, 1e308, -1.0, 0.0, 1e-320])
        flat = tensor.reshape(-1)
        if flat.dtype != torch.float64:
            new = int(rng.integers(0, 2))
        flat[int(rng.integers(len(flat)))] = new
        tensors[name] = flat.reshape(tensor.shape)
    elif way < 0.6:
        tensors[name] = tensor.to(list(storage.STORABLE - {torch.bfloat16})[int(rng.integers(12))])
    elif way < 0.7:
        tensors[name] = tensor.reshape(1, *tensor.shape)
    elif way < 0.8:
        tensors[name] = tensor[: int(rng.integers(0, 2))] if tensor.ndim else tensor
    elif way < 0.9:
        tensors[name], tensors[other] = tensors[other].clone(), tensor
    else:
        del tensors[name]
