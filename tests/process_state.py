"""What is shared by all code of a process; without our package, whose import is tested with it."""

from __future__ import annotations

import locale
import logging
import os
import random
import signal
import sys
import warnings

import matplotlib as mpl
import numpy as np
import pandas as pd
import sklearn
import torch


def state() -> dict[str, object]:
    """Return what is shared by all code of a process."""
    return {
        "threads": torch.get_num_threads(),
        "interop threads": torch.get_num_interop_threads(),
        "dtype": torch.get_default_dtype(),
        "gradients": torch.is_grad_enabled(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "torch's random numbers": torch.get_rng_state().tolist(),
        "numpy's random numbers": str(np.random.get_state()),  # noqa: NPY002
        "random numbers": random.getstate(),
        "numpy's errors": np.geterr(),
        "numpy's printing": str(np.get_printoptions()),
        "warnings": list(warnings.filters),
        "how warnings are shown": warnings.showwarning,
        "logging": (logging.root.level, list(logging.root.handlers), logging.root.manager.disable),
        "matplotlib": dict.copy(mpl.rcParams),
        "pandas": pd.get_option("display.max_rows"),
        "scikit-learn": sklearn.get_config(),
        "environment": dict(os.environ),
        "signals": {s: signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)},
        "path": list(sys.path),
        "hooks": (sys.excepthook, sys.displayhook),
        "folder": os.getcwd(),  # noqa: PTH109
        "locale": locale.setlocale(locale.LC_ALL),
        "recursion": sys.getrecursionlimit(),
    }
