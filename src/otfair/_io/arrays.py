"""Arrays, tensors and tables in, float64 tensors out."""

from __future__ import annotations

import math
import os
from typing import Any, TypeAlias

import numpy as np
import torch
from scipy.sparse import issparse
from torch import Tensor

if hasattr(os, "register_at_fork"):
    # A forked process has none of the threads of its parent, on which OpenMP would wait for ever.
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))

EPS = float(np.finfo(np.float64).eps)
Array: TypeAlias = Any  # what the user holds: np.ndarray, Tensor, a pandas or polars object, a list


class ArgumentError(ValueError):
    """What is wrong with an argument, which it knows; other words may be put for its name."""

    def __init__(self, argument: str, problem: str) -> None:
        super().__init__(argument, problem)
        self.argument, self.problem = argument, problem

    def __str__(self) -> str:
        return f"`{self.argument}` {self.problem}"


def to_tensor(
    values: Array,
    name: str,
    *,
    ndim: int | None = None,
    device: torch.device | None = None,
    copy: bool = True,
) -> Tensor:
    """Return `values` as a finite float64 tensor, or say what is wrong with them.

    Without a copy, it may be the user's own memory: to read, and not to keep.
    """
    columns = getattr(values, "columns", None)
    if not isinstance(values, Tensor):
        if issparse(values):
            values = values.toarray()
        elif hasattr(values, "to_numpy"):
            values = values.to_numpy()
            if values.dtype.kind == "O":  # missing values of every kind become NaN
                values = np.frompyfunc(lambda v: np.nan if is_missing(v) else v, 1, 1)(values)
        try:
            read = np.array if copy else np.asarray
            values = read(values, dtype=np.float64, order="C")
            values = torch.from_numpy(values if values.flags.writeable else values.copy())
        except (TypeError, ValueError, OverflowError) as error:
            raise ArgumentError(
                name,
                f"must be numeric; it could not be read as numbers ({error}). "
                "Encode strings and categories first, for example with one-hot columns.",
            ) from None
    tensor: Tensor = values.detach().to(device=device, dtype=torch.float64)
    if ndim is not None and tensor.ndim != ndim:
        raise ArgumentError(
            name,
            f"must have {ndim} dimension(s); received shape {tuple(tensor.shape)}. "
            "Reshape it, for example with `.reshape(-1)` or `.reshape(len(x), -1)`.",
        )
    if not math.isfinite(tensor.sum()) and not bool(torch.isfinite(tensor).all()):
        bad = torch.nonzero(~torch.isfinite(tensor))
        first = tuple(bad[0].tolist())
        where = "" if columns is None else f" (column {columns[first[-1]]!r})"
        raise ArgumentError(
            name,
            f"must be finite; {len(bad)} of {tensor.numel()} entries are NaN or infinite, "
            f"the first at {first}{where}. Drop those people or impute the values.",
        )
    return tensor


def precision_of(values: Array) -> float:
    """Return the rounding error of numbers as the user holds them, at most that of float64."""
    if isinstance(values, Tensor):
        return float(torch.finfo(values.dtype).eps) if values.is_floating_point() else EPS
    values = values.to_numpy() if hasattr(values, "to_numpy") else values
    kind = getattr(values, "dtype", None)
    return float(np.finfo(kind).eps) if isinstance(kind, np.dtype) and kind.kind == "f" else EPS


def to_vector(
    values: Array, name: str, n: int, of: str = "person", device: torch.device | None = None
) -> Tensor:
    """Return `values` as a finite float64 tensor of n entries, or say what is wrong with them."""
    vector = to_tensor(values, name, device=device)
    if vector.shape != (n,):
        raise ArgumentError(
            name, f"must have one entry per {of}: {n}; received shape {tuple(vector.shape)}."
        )
    return vector


def check_weight(sample_weight: Array, n: int, device: torch.device | None = None) -> Tensor:
    """Return the weights as a tensor, one by default."""
    if sample_weight is None:
        return torch.ones(n, dtype=torch.float64, device=device)
    weight = to_vector(sample_weight, "sample_weight", n, device=device).clone()
    if bool((weight < 0).any()) or not 1e-150 <= float(weight.sum()) <= 1e300:
        raise ArgumentError(
            "sample_weight",
            "must be non-negative, not all zero (or nearly), and sum to at most 1e300; "
            f"the smallest is {float(weight.min()):.3g}, the sum {float(weight.sum()):.3g}.",
        )
    return weight


def to_index(
    values: Array,
    n: int,
    name: str,
    device: torch.device | None = None,
    task: str = "choose at least one of {n} people",
) -> Tensor:
    """Return indices of some of n people, given as integers or as one boolean per person."""
    index = torch.as_tensor(values if isinstance(values, Tensor) else np.array(values))
    whole = not index.is_floating_point() and index.ndim == 1
    if index.dtype is torch.bool:
        whole = index.shape == (n,)
        index = torch.nonzero(index.flatten()).squeeze(1)
    if not whole or not len(index) or int(index.min()) < -n or int(index.max()) >= n:
        raise ArgumentError(
            name,
            f"must {task.format(n=n)}, by integers below {n} or by one "
            f"boolean per person; received {index.dtype} of shape {tuple(index.shape)}.",
        )
    return index.to(device=device, dtype=torch.long)


def is_tensor(*values: Array) -> bool:
    """Whether any of the user's arguments is a torch tensor, so that results should be too."""
    return any(isinstance(value, Tensor) for value in values)


def like_input(tensor: Tensor, as_tensor: bool) -> Array:
    """Return a copy in the kind of array the user works with, theirs to overwrite."""
    return tensor.clone() if as_tensor else tensor.cpu().numpy().copy()


def is_missing(value: object) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(value != value)


def same_length(argument: str, received: int, n: int, of: str = "sensitive_features") -> None:
    """Raise unless an argument has one entry per person."""
    if received != n:
        raise ArgumentError(
            argument,
            f"has {received} entries but `{of}` has {n} people; "
            "pass one entry per person, in the same order.",
        )
