"""A raw file: what it must contain, where it lies, whether it is sound, and how it is fetched."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from otfair.datasets._download import DatasetError, store, transfer

ENVIRONMENT_VARIABLE = "OTFAIR_DATA_HOME"


@dataclass(frozen=True, kw_only=True)
class DataFile:
    """One raw file. Size and digest are of the uncompressed content, however it is stored.

    One pair of figures therefore checks the plain file, the ``.gz``, a download and a zip member.
    """

    name: str
    size: int  # bytes
    sha256: str
    # Tried in order; from a `.zip` only the member called `name` is read.
    urls: Sequence[str] = ()
    source: str = ""  # whom to ask where there is no open download


def resolve_home(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Folder of the raw files: the argument, the environment variable, or the platform's cache."""
    # `make` exports the variable empty where there is no data folder: that means "not set".
    chosen = (
        data_home or os.environ.get(ENVIRONMENT_VARIABLE) or platformdirs.user_cache_dir("otfair")
    )
    return Path(chosen).expanduser().absolute()


def find(file: DataFile, home: Path) -> Path | None:
    """Path of the plain file if there is one, else of the ``.gz``, else None."""
    candidates = (home / file.name, home / f"{file.name}.gz")
    return next((path for path in candidates if path.is_file()), None)


def load_bytes(file: DataFile, home: Path, *, download: bool = True) -> bytes:
    """Return verified content, fetched first if it is not there and `download` allows it."""
    path = find(file, home)
    if path is None and download:
        path = fetch(file, home)
    if path is None:
        raise DatasetError(f"`{file.name}` is not in {home}.\n{remedy(file, home)}")
    return read(file, path)


def read(file: DataFile, path: Path) -> bytes:
    """Content of a stored file, plain or ``.gz``; an error unless it is the known one."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as content:
            # One byte more than expected is enough to know that the file is another one, so that
            # a compressed file can't fill the memory.
            data = content.read(file.size + 1)
        problem = mismatch(file, data)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        problem = f"it is cut off or not a gzip file ({error})"
    except OSError as error:
        problem = f"it can't be read ({error})"
    if problem is not None:
        raise DatasetError(
            f"{path} is damaged or another version: {problem}.\n"
            f"Remove it. {remedy(file, path.parent)} "
            "`otfair.download_dataset` replaces damaged files that have a public home."
        )
    return data


def mismatch(file: DataFile, data: bytes) -> str | None:
    """Say how content differs from what the table says of it; None if it does not."""
    if len(data) > file.size:
        return f"it has more than the expected {file.size} bytes"
    if len(data) < file.size:
        return f"it has {len(data)} bytes of the expected {file.size}"
    digest = hashlib.sha256(data).hexdigest()
    if digest != file.sha256:
        return f"its sha256 is {digest}, expected {file.sha256}"
    return None


def remedy(file: DataFile, home: Path) -> str:
    """Say what to put where, and where to get it."""
    source = file.source or "Public home: " + " or ".join(file.urls) + "."
    return (
        f"Put `{file.name}` (or `{file.name}.gz`; {file.size} bytes uncompressed, sha256 "
        f"{file.sha256}) into {home}, or point `data_home` or {ENVIRONMENT_VARIABLE} to the folder "
        f"that has it. {source}"
    )


def fetch(file: DataFile, home: Path, *, progress: bool = True, backoff: float = 1.0) -> Path:
    """Download one file from the first of its homes that serves it, and store it in `home`.

    `backoff` is the number of seconds before the first retry; it doubles with each.
    """
    failures: list[str] = []
    for url in file.urls:
        try:
            data = transfer(url, name=file.name, size=file.size, progress=progress, backoff=backoff)
        except DatasetError as error:
            failures.append(f"{url}: {error}")
            continue
        problem = mismatch(file, data)
        if problem is None:
            return store(data, home / file.name)
        failures.append(f"{url}: the file is another one than expected, {problem}")
    reasons = "".join(f"- {failure}\n" for failure in failures)
    raise DatasetError(
        f"There is no sound `{file.name}` in {home}, and it could not be downloaded.\n{reasons}"
        f"{remedy(file, home)}"
    )
