"""The raw files: what they must contain, where they lie, and whether they are sound."""

from __future__ import annotations

import gzip
import hashlib
import logging
import os
import zlib
from dataclasses import dataclass
from pathlib import Path

import pooch

from otfair.datasets._download import DatasetError, store, transfer

logger = logging.getLogger(__name__)

ENVIRONMENT_VARIABLE = "OTFAIR_DATA_HOME"
UCI = "https://archive.ics.uci.edu"


@dataclass(frozen=True, kw_only=True)
class DataFile:
    """One raw file. Size and digest are of the uncompressed content, however it is stored.

    One pair of figures therefore checks the plain file, the ``.gz``, a download and a zip member.
    """

    name: str
    size: int  # bytes
    sha256: str
    # Tried in order; from a `.zip` only the member called `name` is read.
    urls: tuple[str, ...] = ()
    source: str = ""  # whom to ask where there is no open download


DATA_FILES: dict[str, tuple[DataFile, ...]] = {
    "adult": (
        DataFile(
            name="adult.data",
            size=3974305,
            sha256="5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
            urls=(
                f"{UCI}/ml/machine-learning-databases/adult/adult.data",
                f"{UCI}/static/public/2/adult.zip",
            ),
        ),
        DataFile(
            name="adult.test",
            size=2003153,
            sha256="a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
            urls=(
                f"{UCI}/ml/machine-learning-databases/adult/adult.test",
                f"{UCI}/static/public/2/adult.zip",
            ),
        ),
    ),
    "bank": (
        DataFile(
            name="bank-additional-full.csv",
            size=5834924,
            sha256="74adfc578bf77a7ff4bb1ba4a9f8709d9e3c6907342959c2c8416847e0afb4d8",
            urls=(f"{UCI}/ml/machine-learning-databases/00222/bank-additional.zip",),
        ),
    ),
    "dutch": (
        DataFile(
            name="dutch.csv",
            size=2316287,
            sha256="c0e1df7e2ca07fa84aa99b5565c7b782a381e2fab377648a6d920174d04ce090",
            source=(
                "There is no open download of this file: IPUMS-International licenses the census "
                "to each user. Ask for the reduced table of Le Quy et al. (doi:10.1002/widm.1452; "
                "their repository github.com/tailequy/fairness_dataset keeps it under "
                "experiments/data), or request the Dutch Virtual Census of 2001 at "
                "https://international.ipums.org; its checksum will tell whether the two agree."
            ),
        ),
    ),
    "diabetes": (
        DataFile(
            name="diabetic_data.csv",
            size=19159383,
            sha256="0689e7ec031237dc63031b938805c48377748761a3b26acab621567afa24df97",
            urls=(
                f"{UCI}/ml/machine-learning-databases/00296/dataset_diabetes.zip",
                f"{UCI}/static/public/296/diabetes+130-us+hospitals+for+years+1999-2008.zip",
            ),
        ),
    ),
    "synthetic": (),
}


def list_datasets() -> list[str]:
    """Names that `load_dataset` knows.

    Examples
    --------
    >>> from otfair.datasets import list_datasets
    >>> list_datasets()
    ['adult', 'bank', 'dutch', 'diabetes', 'synthetic']
    """
    return list(DATA_FILES)


def locate_dataset(name: str, data_home: str | os.PathLike[str] | None = None) -> dict[str, Path]:
    """Find the raw files of a dataset, without reading them or using the network.

    Parameters
    ----------
    name
        One of `list_datasets`.
    data_home
        The folder to look in. By default the environment variable ``OTFAIR_DATA_HOME``, else the
        platform's cache folder for ``otfair``.

    Returns
    -------
    dict
        File name to path, for the files that exist (the path may end in ``.gz``).

    Examples
    --------
    >>> from otfair.datasets import locate_dataset
    >>> locate_dataset("adult", data_home="no/such/folder")
    {}
    """
    home = resolve_home(data_home)
    found = ((file.name, find(file, home)) for file in files_of(name))
    return {file_name: path for file_name, path in found if path is not None}


def verify_dataset(name: str, data_home: str | os.PathLike[str] | None = None) -> dict[str, Path]:
    """Read the raw files of a dataset and compare them with their known sha256.

    Parameters
    ----------
    name, data_home
        As for `locate_dataset`.

    Returns
    -------
    dict
        File name to path, for every file of the dataset.

    Raises
    ------
    DatasetError
        If a file is missing or damaged. The message lists all of them, and says what to put where.

    Examples
    --------
    >>> from otfair.datasets import verify_dataset
    >>> try:
    ...     verify_dataset("adult", data_home="no/such/folder")
    ... except OSError as error:
    ...     print(error)
    `adult.data` is not in ...no/such/folder.
    Put `adult.data` (or `adult.data.gz`; 3974305 bytes uncompressed, sha256 5b0026...
    """
    home = resolve_home(data_home)
    paths: dict[str, Path] = {}
    problems: list[str] = []
    for file in files_of(name):
        path = find(file, home)
        if path is None:
            problems.append(f"`{file.name}` is not in {home}.\n{remedy(file, home)}")
            continue
        try:
            read(file, path)
        except DatasetError as error:
            problems.append(str(error))
        paths[file.name] = path
    if problems:
        raise DatasetError("\n".join(problems))
    return paths


def download_dataset(
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    *,
    progress: bool = True,
) -> dict[str, Path]:
    """Fetch the raw files of a dataset that are missing or damaged.

    A file is written only once its sha256 is right, and then in one step, so that an interrupted
    download leaves nothing behind and several processes may ask for the same file.

    Parameters
    ----------
    name, data_home
        As for `locate_dataset`; the folder is made if need be.
    progress
        Show a progress bar on standard error.

    Returns
    -------
    dict
        File name to path, for every file of the dataset.

    Raises
    ------
    DatasetError
        If a file can't be fetched. The message says which file to put where.

    Examples
    --------
    The generated dataset has no files:

    >>> from otfair.datasets import download_dataset
    >>> download_dataset("synthetic")
    {}
    """
    home = resolve_home(data_home)
    paths: dict[str, Path] = {}
    for file in files_of(name):
        path = find(file, home)
        if path is not None:
            try:
                read(file, path)
            except DatasetError as error:
                logger.warning("Fetching %s again: %s", file.name, str(error).partition("\n")[0])
                path = None
        paths[file.name] = path or fetch(file, home, progress=progress)
    return paths


def resolve_home(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Folder of the raw files: the argument, the environment variable, or the platform's cache."""
    # `make` exports the variable empty where there is no data folder: that means "not set".
    chosen = data_home or os.environ.get(ENVIRONMENT_VARIABLE) or pooch.os_cache("otfair")
    return Path(chosen).expanduser().absolute()


def files_of(name: str) -> tuple[DataFile, ...]:
    """Raw files of a dataset; a name that is not known is an error."""
    if name not in DATA_FILES:
        raise ValueError(f"Unknown dataset {name!r}. Choose one of: {', '.join(DATA_FILES)}.")
    return DATA_FILES[name]


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
