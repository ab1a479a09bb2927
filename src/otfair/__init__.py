"""Optimal transport of classifiers to fairness."""

import logging

import lazy_loader

__version__ = "0.1.0"

# Names and rooms are imported on first use, as `__init__.pyi` lists them: PyTorch takes seconds, in
# which a command must be able to be stopped.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

# What the library has to say goes to `logging`, and nowhere unless the user listens.
logging.getLogger(__name__).addHandler(logging.NullHandler())
