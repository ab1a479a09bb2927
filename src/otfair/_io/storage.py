"""One file of arrays and text that can't run code: safetensors, with JSON in its metadata.

`write` takes nested plain Python (None, numbers, text, lists, tuples, dicts with text for keys),
with arrays and the dataclasses of a closed table anywhere in it; `read` gives it back. Arrays
become tensors of the file, everything else is JSON. A JSON object whose one key begins with "$"
stands for what JSON lacks.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import safetensors.torch
import torch
from torch import Tensor

from otfair._io.checks import (
    brief,
    check_fields,
    check_parts,
    one_line,
    read_json,
    refuse_unknown,
    require,
)
from otfair._io.files import write_bytes

Known: TypeAlias = Mapping[str, type]  # the dataclasses that a file may hold, by name
FilePath: TypeAlias = str | os.PathLike[str]

FORMAT, VERSION = "otfair", 1
METADATA = ("format", "version", "content", "sha256")
STORABLE = {torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.bool}
STORABLE |= {getattr(torch, f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)}
LARGEST_HEADER = 100_000_000  # bytes; safetensors reads no more
LONGEST_RANGE = 1_000_000  # it is small in a file, and not where someone makes a list of it
DEEPEST = 100  # lists and dicts in one another; twenty pipelines in one another are not as deep


class UnstorableError(ValueError):
    """A value that is more than data, such as a function."""


def write(path: FilePath, content: Any, known: Known) -> None:
    """Write a file at once: whoever reads it sees the old one or the new one, never a part."""
    tensors: dict[str, Tensor] = {}
    text = json.dumps(pack(content, known, tensors), allow_nan=False)
    try:
        check_parts(text)
    except ValueError as error:
        raise ValueError(
            f"the model could not be read again: {error}. Shorten `history_`, which is most of it."
        ) from None
    metadata = {"format": FORMAT, "version": str(VERSION), "content": text}
    metadata["sha256"] = _digest(text, tensors)
    data = safetensors.torch.save(tensors, metadata)
    if (size := int.from_bytes(data[:8], "little")) > LARGEST_HEADER:
        raise ValueError(
            f"the model has {size} bytes of text, more than the {LARGEST_HEADER} that can be read "
            "again. Shorten `history_`, which is most of it."
        )
    write_bytes(Path(path), data)


def read(path: FilePath, known: Known) -> Any:
    """Read what `write` wrote; whatever else is there is a `ValueError`."""
    stored, tensors = _read(Path(path))
    with as_written(path):
        return unpack(stored, known, tensors)


def read_text(path: FilePath) -> Any:
    """Return the JSON of a file, of which nothing is made."""
    return _read(Path(path))[0]


def _read(path: Path) -> tuple[Any, dict[str, Tensor]]:
    """Return JSON and tensors.

    The text is looked at before the rest is read, so that a large foreign file costs nothing.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(8), "little")
        if not 0 < length <= min(size - 8, LARGEST_HEADER):
            raise _damaged(path, "it is no safetensors file, or only the beginning of one")
        metadata = _metadata(path, file.read(length))
        file.seek(0)
        data = file.read()
    with as_written(path):
        refuse_unknown("metadata", metadata, METADATA)
    text, digest = str(metadata.get("content")), metadata.get("sha256")
    try:
        tensors = safetensors.torch.load(data)
        matches = digest == _digest(text, tensors)
    except Exception as error:  # whatever the parser makes of it
        raise _damaged(path, one_line(str(error))) from error
    if not matches:
        raise _damaged(path, "its content does not match its checksum")
    with as_written(path):
        return read_json(text), tensors


@contextlib.contextmanager
def as_written(path: FilePath) -> Iterator[None]:
    """Turn the surprises of content that this library did not write into a `ValueError`."""
    surprises = (LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
    try:
        yield
    except (*surprises, ValueError) as error:
        reason = one_line(str(error))  # whatever the file has put into it
        if isinstance(error, surprises):
            reason = f"{type(error).__name__}: {reason}"
        raise ValueError(
            f"`{path}` does not hold what otfair writes ({reason}). Save the model again, with the "
            "version of otfair that is to load it."
        ) from error


def pack(value: Any, known: Known, tensors: dict[str, Tensor], where: str = "") -> Any:
    """Turn a value into JSON, adding its arrays to `tensors` under the name of their place."""
    for name, kind in known.items():
        if type(value) is kind:
            parts = {f.name: getattr(value, f.name) for f in fields(kind)}
            return {f"${name}": pack(parts, known, tensors, where)}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": str(float(value))}
    if isinstance(value, Tensor):
        return {"$tensor": _add(value, tensors, where)}
    if isinstance(value, np.ndarray):
        return _pack_array(value, known, tensors, where)
    if isinstance(value, range) and _is_short(value):
        return {"$range": [value.start, value.stop, value.step]}
    if isinstance(value, dict) and all(isinstance(k, str) and k[:1] != "$" for k in value):
        return {k: pack(v, known, tensors, f"{where}.{k}".strip(".")) for k, v in value.items()}
    is_index = isinstance(value, pd.Index) and not isinstance(value, pd.MultiIndex)
    if is_index or type(value) in (list, tuple):
        items = [pack(v, known, tensors, f"{where}.{i}") for i, v in enumerate(value)]
        return items if type(value) is list else {"$index" if is_index else "$tuple": items}
    raise UnstorableError(
        f"`{where}` is of the type {type(value).__name__}, which a file without code can't hold."
    )


def unpack(stored: Any, known: Known, tensors: dict[str, Tensor], depth: int = 0) -> Any:
    """Turn JSON and tensors back into what `pack` was given.

    Tensors are taken out of the dict: each is used once, so that what is made of a file is about
    as large as the file.
    """
    require(depth <= DEEPEST, f"its lists are in one another more than {DEEPEST} times")
    inner = partial(unpack, known=known, tensors=tensors, depth=depth + 1)
    if isinstance(stored, list):
        return [inner(v) for v in stored]
    if not isinstance(stored, dict):
        return stored
    if not any(name.startswith("$") for name in stored):
        return {name: inner(v) for name, v in stored.items()}
    require(len(stored) == 1, f"it holds the names {brief(sorted(stored))} together")
    ((tag, inside),) = stored.items()
    if tag in ("$tensor", "$array"):
        there = isinstance(inside, str) and inside in tensors
        require(there, f"it lacks {brief(inside)}, or uses it twice")
        tensor = tensors.pop(inside)
        return tensor.clone() if tag == "$tensor" else np.array(tensor.numpy())
    name = tag[1:]
    # A list or dict in the file itself: a range of it could be of any length.
    if name in known and isinstance(inside, dict):
        record = known[name](**inner(inside))
        check_fields(record)
        return record
    if name in _FROM_LIST and isinstance(inside, list):
        return _FROM_LIST[name](inner(inside))
    if tag == "$float" and inside in ("nan", "inf", "-inf"):
        return float(inside)
    raise ValueError(f"it holds a {brief(name)} that this version can't read")


def _range(value: list[Any]) -> range:
    made = range(*value)
    require(_is_short(made), f"it holds a range of more than {LONGEST_RANGE} numbers")
    return made


def _is_short(value: range) -> bool:
    return not value[LONGEST_RANGE:]  # the length of a range may be no number that `len` knows


def _text(value: list[Any]) -> np.ndarray:
    width, items = value
    sound = isinstance(items, list) and {str} >= set(map(type, items))
    sound = sound and type(width) is int and width >= 1 and _is_packed(width, items)
    require(sound, f"it holds texts of {brief(width)} characters each")
    return np.array(items, dtype=f"<U{width}")


def _is_packed(width: int, items: list[str]) -> bool:
    """Whether an array of text is not mostly padding: a small file must not make a large array."""
    return width * len(items) <= 256 + 16 * sum(map(len, items))


_FROM_LIST: dict[str, Callable[[list[Any]], Any]] = {
    "tuple": tuple,
    "index": pd.Index,
    "range": _range,
    "text": _text,
    # Item by item, or tuples would become a second axis.
    "objects": lambda value: np.fromiter(value, object, len(value)),
}


def _pack_array(value: np.ndarray, known: Known, tensors: dict[str, Tensor], where: str) -> Any:
    if value.dtype.kind == "U" and value.ndim == 1:
        items = value.tolist()
        for width in (value.dtype.itemsize // 4, max([1, *map(len, items)])):
            if _is_packed(width, items):
                return {"$text": [width, items]}
    if value.dtype.kind == "O" and value.ndim == 1:
        return {"$objects": pack(list(value), known, tensors, where)}
    try:
        tensor = torch.from_numpy(np.array(value, dtype=value.dtype.newbyteorder("="), order="C"))
    except TypeError:
        raise _unstorable(where, value.dtype) from None
    return {"$array": _add(tensor, tensors, where)}


def _unstorable(where: str, dtype: Any) -> UnstorableError:
    return UnstorableError(f"`{where}` is an array of {dtype}, which can't be stored.")


def _add(tensor: Tensor, tensors: dict[str, Tensor], where: str) -> str:
    if tensor.dtype not in STORABLE or tensor.layout is not torch.strided:
        raise _unstorable(where, f"{tensor.dtype}, {tensor.layout}")
    while where in tensors or not where:
        where += "'"
    tensors[where] = tensor.detach().cpu().contiguous().clone()  # no memory in common
    return where


def _digest(text: str, tensors: Mapping[str, Tensor]) -> str:
    """Checksum of everything: a bit that flips in a weight is noticed."""
    digest = hashlib.sha256(text.encode(errors="surrogatepass"))
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _metadata(path: Path, header: bytes) -> dict[str, Any]:
    """Metadata of a file of this format and version."""
    try:
        metadata = read_json(header.decode()).get("__metadata__") or {}
        received, version = metadata.get("format"), metadata.get("version")
    except (ValueError, AttributeError, RecursionError) as error:
        raise _damaged(path, "its header is no JSON") from error
    if received != FORMAT:
        raise ValueError(
            f"`{path}` is not a model of otfair: its format is {brief(received)}, not "
            f"{FORMAT!r}. Pass a file that `save_model` wrote."
        )
    if not (isinstance(version, str) and version.isdecimal() and len(version) < 9):
        raise _damaged(path, f"its version is {brief(version)}")
    if int(version) != VERSION:
        raise ValueError(
            f"`{path}` has version {version} of the format, and this otfair reads version "
            f"{VERSION}. Upgrade otfair, or save the model with the version that is installed here."
        )
    return dict(metadata)


def _damaged(path: Path, reason: str) -> ValueError:
    return ValueError(
        f"`{path}` is damaged, or was not written by otfair ({reason}). Copy or save it again."
    )
