"""Saved models that someone has tampered with, and whose checksum fits again."""

from __future__ import annotations

import copy
import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from sklearn.pipeline import make_pipeline

import otfair
from otfair._io import storage
from otfair.saving._models import KNOWN, _describe

KINDS = ("xgboost", "lightgbm", "other")
CORPUS = json.loads(Path(__file__).with_name("corpus").joinpath("models", "edits.json").read_text())
N = 300
HOSTILE: list[Any] = [
    None, True, False, 0, 1, -1, 2, 7, 255, 65536, 99_999_999, 2**31 - 1, 2**31, -(2**31), 2**32 - 1, 2**63, 10**30,
    0.5, -1.5, 1e-300, 1e38, 1e39, 1e300, -1e308, float("nan"), float("inf"), -float("inf"),
    "", "0", "-1", "x", "os.system", "\x1b[31m", "é" * 50, "9" * 400, "nan", "1e400", "\ud800", "[0.5]",
    [], {}, [[]], ["x", 1], [0] * 3000, {"x": 1}, {"$tuple": 3}, {"$range": [0, 10**12]}, {"$float": "nan"},
    {"$float": "x" * 100}, {"$array": "absent"}, {"$text": [10**9, ["a"]]}, {"$objects": [1, [2]]}, {"$NotStored": {}},
]  # fmt: skip
TOKENS = [str(v) for v in HOSTILE if isinstance(v, int | float | str)] + [
    "-0",
    "1e5",
    "0x10",
    "2 2",
]
DOCUMENTED = (
    "is damaged, or was not written by otfair",
    "does not hold what otfair writes",
    "is not a model of otfair",
    "of the format, and this otfair reads",
    "which the file can't hold. Pass the one that was fitted",  # an estimator to be given back
    "of which the file holds the weights but not the code",
    "does not fit the weights of the file",
    "the model has no score for",  # numbers that overflow, said when they do
)


@cache
def people() -> otfair.Dataset:
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
    X, y, sex = people()
    line = lambda **more: make_pipeline(
        otfair.TableEncoder(), otfair.OTFClassifier(alpha=0, **more)
    )
    rule = {"max_difference": 0.1, "cv": 2, "confidence": None}
    if kind == "other":
        scored = X.assign(p=np.linspace(0, 1, N))
        fair = lambda model, X=X, **more: otfair.FairDecisions(model, **rule, **more).fit(
            X, y, sensitive_features=sex
        )
        return [
            line().fit(X, y),
            make_pipeline(otfair.TableEncoder().set_output(transform="pandas"), otfair.OTFClassifier(otfair.EqualizedOdds() & "demographic_parity", alpha=0.2, max_iter=9)).fit(X, y, otfclassifier__sensitive_features=sex),
            otfair.TableEncoder().fit(X),
            otfair.OTFClassifier(alpha=0.1, module=_net, epochs=1, random_state=0).fit(X[["income"]].to_numpy() / 1e5, y, sensitive_features=sex),
            fair(line()),
            fair(line(), use_sensitive=True),
            fair(line(), target="scores", notion="equalized_odds"),
            fair(otfair.ScoreColumn("p"), scored),
        ]  # fmt: skip
    few = {"n_estimators": 3, "random_state": 0, "n_jobs": 1}
    trees = lambda **more: otfair.OTFBoostingClassifier(kind, **few, **more)
    deep = {"max_depth": 3, "max_cat_to_onehot": 1}
    own = (
        [{"tree_method": "exact", "gamma": 3.0}, {"num_parallel_tree": 2}]
        if kind == "xgboost"
        else [{"linear_tree": True, "max_depth": 2}, {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}]
    )  # fmt: skip
    return [
        trees(alpha=0, **deep).fit(X, y),
        trees(alpha=0.3, max_depth=2).fit(X, y, sensitive_features=sex),
        trees(alpha=0, early_stopping_rounds=2, **deep).fit(X, y),
        trees(alpha=0, **own[0]).fit(X[["income", "late_payments"]], y),
        trees(alpha=0, **own[1]).fit(X, y),
        otfair.FairDecisions(trees(alpha=0, **deep), **rule).fit(X, y, sensitive_features=sex),
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
    for _ in range(1 + int(rng.geometric(0.6))):
        if texts and rng.random() < 0.8:
            holder = texts[int(rng.integers(len(texts)))]
            if isinstance(holder.get("model_text_"), str):
                change = _change_json_text if kind == "xgboost" else _change_lines
                holder["model_text_"] = change(holder["model_text_"], rng)
        elif tensors and rng.random() < 0.35:
            _change_tensors(tensors, rng)
        else:
            content = _change(content, rng)
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
        _get(model, edit["at"][:-1])[edit["at"][-1]] = edit["value"]
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
    assert scores.shape == (40, 2) and ((scores >= 0) & (scores <= 1)).all(), "no probabilities"
    assert len(decided) == 40 and set(decided) <= set(model.classes_), "no decisions"
    repr(model)
    if isinstance(model, otfair.OTFBoostingClassifier):
        assert np.isfinite(model.feature_importances_).all(), "importances"
    return "predicted"


# Changes of JSON


def _texts(content: Any):
    """Yield what holds the text of a booster."""
    parts = content.values() if isinstance(content, dict) else content
    if isinstance(content, dict) and isinstance(content.get("model_text_"), str):
        yield content
    for part in parts:
        if isinstance(part, dict | list):
            yield from _texts(part)


def _places(content: Any, place=()):
    yield place
    if isinstance(content, dict | list):
        for key in list(content) if isinstance(content, dict) else range(len(content)):
            yield from _places(content[key], (*place, key))


def _get(content: Any, place: tuple) -> Any:
    for key in place:
        content = content[key]
    return content


def _near(value: Any, rng: np.random.Generator) -> Any:
    """Return something hostile of the kind that was there, or anything."""
    if rng.random() < 0.4:
        if type(value) is int:
            return value + int(rng.choice([-1, 1, 2, 5, -7, 1000, 2**31, 2**62]))
        if type(value) is float:
            return float(rng.choice([-value, value * 1e40, value * 1e300, -1e308, 1e-45]))
        if isinstance(value, str) and value:
            cut = int(rng.integers(len(value)))
            return str(
                rng.choice([value[:cut], value * 2, value + "\n", "-" + value, value.upper()])
            )
    return copy.deepcopy(HOSTILE[int(rng.integers(len(HOSTILE)))])


def _change(content: Any, rng: np.random.Generator) -> Any:
    """Change JSON at a random place, in a random way."""
    places = list(_places(content))
    place = places[int(rng.integers(len(places)))]
    if not place:
        return content
    holder, key, way = _get(content, place[:-1]), place[-1], rng.random()
    if way < 0.45:
        holder[key] = _near(holder[key], rng)
    elif way < 0.6:
        del holder[key]
    elif way < 0.7:
        other = places[int(rng.integers(1, len(places)))]
        if not isinstance(_get(content, other), dict | list) or other[: len(place)] != place:
            holder[key] = copy.deepcopy(_get(content, other))
    elif way < 0.8:
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        other = keys[int(rng.integers(len(keys)))]
        holder[key], holder[other] = holder[other], holder[key]
    elif way < 0.9:
        if isinstance(holder, list):
            holder[key:key] = [copy.deepcopy(holder[key])] * int(rng.choice([1, 2, 500]))
        else:
            holder[f"{key}{rng.choice(['_', ' ', '2'])}"] = holder.pop(key)
    elif way < 0.95:
        for _ in range(int(rng.choice([1, 50, 900]))):
            holder[key] = [holder[key]] if rng.random() < 0.5 else {"x": holder[key]}
    else:
        part = holder[key]
        if isinstance(part, list):
            rng.shuffle(part)
        elif isinstance(part, dict):
            part.clear()
    return content


def _change_json_text(text: str, rng: np.random.Generator) -> str:
    if rng.random() < 0.15:
        return _change_characters(text, rng)
    try:
        content = json.loads(text)
        trees = content["learner"]["gradient_booster"]["model"]["trees"]
        if trees and rng.random() < 0.7:
            which = int(rng.integers(len(trees)))
            fields = list(trees[which])
            name = fields[int(rng.integers(len(fields)))]
            trees[which] = {**trees[which], **_change({name: trees[which][name]}, rng)}
            return json.dumps(content)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return _change_characters(text, rng)
    return json.dumps(_change(content, rng))


def _change_lines(text: str, rng: np.random.Generator) -> str:
    """Change the lines of LightGBM's format, most often those of a tree."""
    if rng.random() < 0.1:
        return _change_characters(text, rng)
    lines = text.split("\n")
    some = [i for i, line in enumerate(lines) if line and (rng.random() < 0.05 or line[:1] != "[")]
    if not some:
        return text + "x"
    at, way = some[int(rng.integers(len(some)))], rng.random()
    if way < 0.6:
        name, equals, rest = lines[at].partition("=")
        tokens = rest.split(" ")
        k, kind = int(rng.integers(len(tokens))), rng.random()
        if kind < 0.6:
            tokens[k] = str(rng.choice(TOKENS))
        elif kind < 0.7:
            del tokens[k]
        elif kind < 0.8:
            tokens[k:k] = [tokens[k]] * int(rng.choice([1, 2, 3000]))
        elif kind < 0.9:
            rng.shuffle(tokens)
        else:
            tokens[k] = str(int(rng.integers(-9, 9)))
        lines[at] = name + equals + " ".join(tokens)
    elif way < 0.7:
        del lines[at]
    elif way < 0.8:
        lines[at:at] = [lines[at]] * int(rng.choice([1, 300]))
    elif way < 0.9:
        other = some[int(rng.integers(len(some)))]
        lines[at], lines[other] = lines[other], lines[at]
    else:
        del lines[at : at + int(rng.integers(1, 40))]
    return "\n".join(lines)


def _change_characters(text: str, rng: np.random.Generator) -> str:
    at, width = int(rng.integers(len(text) + 1)), int(rng.choice([1, 3, 50, 1000]))
    part = text[at : at + width]
    new = ["", part * 2, part[::-1], "\x00", "-", "9", " ", "\n", "{" * 2000, "[" * 100_000]
    return text[:at] + new[int(rng.integers(len(new)))] + text[at + width :]


# Changes of tensors


def _change_tensors(tensors: dict[str, torch.Tensor], rng: np.random.Generator) -> None:
    names = sorted(tensors)
    name, other = rng.choice(names), rng.choice(names)
    tensor, way = tensors[name].clone(), rng.random()
    if way < 0.5 and tensor.numel():
        new = rng.choice([np.nan, np.inf, -np.inf, 1e308, -1.0, 0.0, 1e-320])
        flat = tensor.reshape(-1)
        if not flat.is_floating_point():
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
