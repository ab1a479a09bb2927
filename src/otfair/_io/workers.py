"""Work in processes that end when the one that started them does, even if it was killed."""

from __future__ import annotations

import os
import pickle
import threading
import time
from collections.abc import Callable
from typing import Any

from joblib import delayed

_parents: set[int] = set()  # that a thread of this process watches


def delayed_with_parent(work: Callable[..., Any], *given: Any) -> Any:
    """Return a call for `joblib.Parallel`, which watches this process from where it is made."""
    # Packed, so that to read it, which imports what takes seconds, is watched as well.
    return delayed(_watched)(pickle.dumps((work, given)), os.getpid())


def _watched(packed: bytes, parent: int) -> Any:
    if os.getpid() != parent and parent not in _parents:
        _parents.add(parent)
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    work, given = pickle.loads(packed)
    return work(*given)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)
