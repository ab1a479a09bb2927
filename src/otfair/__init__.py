"""Optimal transport of classifiers to fairness."""

import logging
import pkgutil
from typing import Any

import lazy_loader

__version__ = "0.1.0"

# Names and rooms are imported on first use, as `__init__.pyi` lists them: PyTorch takes seconds, in
# which a command must be able to be stopped.
_load, __dir__, _known = lazy_loader.attach_stub(__name__, __file__)
__all__ = sorted(set(_known) - {room.name for room in pkgutil.iter_modules(__path__)})

# What the library has to say goes to `logging`, and nowhere unless the user listens.
logging.getLogger(__name__).addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    if name not in _known:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = _load(name)  # to be found there next time
    return value
