"""Work during which a kind of warning is not heard."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_FILTERS = threading.RLock()


@contextmanager
def without(kind: type[Warning]) -> Iterator[None]:
    """Hear no warnings of a kind; filters are the whole process's, so one thread at a time."""
    with _FILTERS, warnings.catch_warnings():
        warnings.simplefilter("ignore", kind)
        yield
