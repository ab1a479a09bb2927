"""Files that are to be read: whether they are there, and what to say where they are not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path


def is_there(path: Path) -> bool:
    """Whether there is anything; what can't be looked at may be, and reading it will tell."""
    try:
        path.stat()
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        return True
    return True


def say_missing(path: Path) -> str:
    """Say that there is no such file, and which one may be meant."""
    others = [p.name for p in path.parent.glob("*")] if path.parent.is_dir() else []
    hint = nearest(path.name, others) or nearest(path.stem, {Path(b).stem: b for b in others})
    return f"there is no file {path}{hint or '. Check its path.'}"


def nearest(name: str, names: Iterable[str] | Mapping[str, str]) -> str:
    """Return ", did you mean 'x'?" for the nearest name, or what stands for it, or nothing."""
    called = names if isinstance(names, Mapping) else {n: n for n in names}
    folded = {n.casefold(): shown for n, shown in called.items()}
    close = get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return f", did you mean {folded[close[0]]!r}?" if close else ""
