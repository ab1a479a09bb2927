"""The public functions: list, locate, verify, download and load datasets."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

from otfair.datasets._acs_income import ACS_INCOME
from otfair.datasets._adult import ADULT
from otfair.datasets._bank import BANK
from otfair.datasets._dataset import Dataset
from otfair.datasets._diabetes import DIABETES
from otfair.datasets._download import DatasetError
from otfair.datasets._dutch import DUTCH
from otfair.datasets._files import fetch, find, load_bytes, read, resolve_home
from otfair.datasets._source import Source
from otfair.datasets._synthetic import SYNTHETIC

logger = logging.getLogger(__name__)

# A new dataset is a file with its `Source`, and its card; it is imported and listed here.
SOURCES = {source.name: source for source in (ADULT, BANK, DUTCH, DIABETES, ACS_INCOME, SYNTHETIC)}


def source_of(name: str) -> Source:
    """Return what is known about a dataset; a name that is not known is an error."""
    if name not in SOURCES:
        raise ValueError(f"Unknown dataset {name!r}. Choose one of: {', '.join(SOURCES)}.")
    return SOURCES[name]


def list_datasets() -> list[str]:
    """Names that `load_dataset` knows.

    Returns
    -------
    list of str
        The names.

    Examples
    --------
    >>> from otfair.datasets import list_datasets
    >>> list_datasets()
    ['adult', 'bank', 'dutch', 'diabetes', 'acs_income', 'synthetic']
    """
    return list(SOURCES)


def locate_dataset(name: str, data_home: str | os.PathLike[str] | None = None) -> dict[str, Path]:
    """Find the raw files of a dataset, without reading them or using the network.

    Parameters
    ----------
    name : str
        One of `list_datasets`.
    data_home : str or path, default=None
        Folder of the raw files. By default the environment variable ``OTFAIR_DATA_HOME``, else
        the platform's cache folder for ``otfair``.

    Returns
    -------
    dict
        File name to path, for the files that exist (the path may end in ``.gz``).
    """
    home = resolve_home(data_home)
    found = ((file.name, find(file, home)) for file in source_of(name).files)
    return {file_name: path for file_name, path in found if path is not None}


def verify_dataset(name: str, data_home: str | os.PathLike[str] | None = None) -> dict[str, Path]:
    """Read the raw files of a dataset and compare them with their known sha256.

    If some are missing or damaged, a `DatasetError` lists them all, and says what to put where.

    Parameters
    ----------
    name : str
        One of `list_datasets`.
    data_home : str or path, default=None
        Folder of the raw files, as for `locate_dataset`.

    Returns
    -------
    dict
        File name to path, for every file of the dataset.

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
    problems = []
    for file in source_of(name).files:
        try:
            load_bytes(file, home, download=False)
        except DatasetError as error:
            problems.append(str(error))
    if problems:
        raise DatasetError("\n".join(problems))
    return locate_dataset(name, home)


def download_dataset(
    name: str, data_home: str | os.PathLike[str] | None = None, *, progress: bool = True
) -> dict[str, Path]:
    """Fetch the raw files of a dataset that are missing or damaged.

    A file is written only once its sha256 is right, and then in one step, so that an interrupted
    download leaves nothing behind and several processes may ask for the same file. Where one can't
    be fetched, a `DatasetError` says which file to put where.

    Parameters
    ----------
    name : str
        One of `list_datasets`.
    data_home : str or path, default=None
        Folder of the raw files, as for `locate_dataset`, made if need be.
    progress : bool, default=True
        Show a progress bar on standard error.

    Returns
    -------
    dict
        File name to path, for every file of the dataset.
    """
    home = resolve_home(data_home)
    paths: dict[str, Path] = {}
    for file in source_of(name).files:
        path = find(file, home)
        if path is not None:
            try:
                read(file, path)
            except DatasetError as error:
                logger.warning("Fetching %s again: %s", file.name, str(error).partition("\n")[0])
                path = None
        paths[file.name] = path or fetch(file, home, progress=progress)
    return paths


def load_dataset(
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    *,
    download: bool = True,
    **options: Any,
) -> Dataset:
    """Load a dataset: features, labels and sensitive attributes.

    Raw files are verified by their sha256 each time. Those that are not in the folder, plain or as
    ``.gz``, are downloaded into it from their public home. Dutch and ACSIncome have none that is
    open to programs: there the `DatasetError` says where to ask, and what to put where.

    Parameters
    ----------
    name : str
        One of `list_datasets`.
    data_home : str or path, default=None
        Folder of the raw files, as for `locate_dataset`.
    download : bool, default=True
        Whether a missing file may be downloaded.
    **options : bool or str
        Choices that are left open, most of them True or False: the dataset's `description` names
        them, and gives the reason for each default. ``"acs_income"`` has a ``part``, ``"train"`` by
        default or ``"test"``. For ``"synthetic"`` the parameters of `make_synthetic`.

    Returns
    -------
    Dataset
        Features, labels, sensitive columns, and texts about them.

    Examples
    --------
    >>> from otfair import load_dataset
    >>> d = load_dataset("synthetic", n=1000, direct_bias=0.5, seed=1)
    >>> d.X.shape, d.y.shape
    ((1000, 10), (1000,))
    """
    return source_of(name).load(resolve_home(data_home), download=download, options=options)
