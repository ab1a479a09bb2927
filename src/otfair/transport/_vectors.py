"""Arrays with one entry or column per person, as the solvers hold them: NumPy's or tensors.

NumPy's for a batch on a CPU, as its calls cost least, and tensors for more people, as they work on
all cores, and on other devices.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

Vector: TypeAlias = Any  # of either kind
MAX_BATCH = 8192  # people in NumPy's arrays


def solver_array(tensor: Tensor) -> Vector:
    """Return a tensor as solvers hold it."""
    small = tensor.device.type == "cpu" and tensor.shape[-1] <= MAX_BATCH
    return tensor.numpy() if small else tensor


def array_module(array: Vector) -> Any:
    """Return the module of an array's functions, of which those that both name alike are used."""
    return np if isinstance(array, np.ndarray) else torch


def convert_like(values: np.ndarray, array: Vector) -> Vector:
    """Return numbers, one per type, in the kind of an array of people."""
    return values if array_module(array) is np else torch.as_tensor(values, device=array.device)


def to_numpy(array: Vector) -> np.ndarray:
    """Return an array of either kind as NumPy's."""
    return array if isinstance(array, np.ndarray) else np.asarray(array.cpu().numpy())
