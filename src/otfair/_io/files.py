"""Files that others see whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path


def unfinished_path(target: Path) -> Path:
    """Return a path in the same folder for what is to become `target`."""
    # A name of its own for each writer; the same folder, so that the last step is atomic; the same
    # suffix, by which some writers choose a format.
    name = f".{target.stem}.{os.getpid()}-{secrets.token_hex(4)}.part{target.suffix}"
    return target.absolute().with_name(name)


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Yield the path of a new file, which becomes `target` at the end if nothing goes wrong.

    Where `target` is a link, what it points to is replaced, and not the link.
    """
    with contextlib.suppress(FileNotFoundError):
        target.stat()  # raises OSError for a loop of links, which `resolve` does not everywhere
    target = target.resolve()
    if target.exists() and not target.is_file():
        raise OSError(f"{target} is a folder, a device or a pipe; name a file")
    part = unfinished_path(target)
    try:
        part.touch(exist_ok=False)
        if target.exists():
            shutil.copymode(target, part)  # what others may not read stays so
        yield part
        with part.open("r+b") as file:
            os.fsync(file.fileno())
        part.replace(target)
    except OSError as error:
        if error.filename == str(part):
            error.filename = str(target)  # which the user knows
        raise
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


def write_bytes(target: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    with replacing(target) as part:
        part.write_bytes(data)
