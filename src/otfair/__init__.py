"""Optimal transport of classifiers to fairness."""

import logging
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from otfair._public import *  # noqa: F403
    from otfair._public import __all__  # noqa: F401

__version__ = "0.1.0"

# What the library has to say goes to `logging`, and nowhere unless the user listens.
logging.getLogger(__name__).addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    """Import on first use: PyTorch takes seconds, in which a command must be able to be stopped."""
    public = name == "__all__" or (name.isidentifier() and not name.startswith("_"))
    if public and find_spec(f"{__name__}.{name}"):
        return import_module(f"{__name__}.{name}")
    if public:
        names = import_module(f"{__name__}._public")
        globals().update({known: getattr(names, known) for known in ("__all__", *names.__all__)})
    if name not in globals():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
