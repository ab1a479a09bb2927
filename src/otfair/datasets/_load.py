"""One door to all datasets."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Any

from otfair.datasets import _tables
from otfair.datasets._dataset import CARDS, Dataset
from otfair.datasets._files import files_of, load_bytes, resolve_home
from otfair.datasets._synthetic import make_synthetic

RECIPES: dict[str, Callable[..., _tables.Parts]] = {
    "adult": _tables.adult,
    "bank": _tables.bank,
    "dutch": _tables.dutch,
    "diabetes": _tables.diabetes,
}


def load_dataset(
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    *,
    download: bool = True,
    **options: Any,
) -> Dataset:
    """Load a dataset: features, labels and sensitive attributes.

    Raw files are verified by their sha256 each time. Those that are not in the folder, plain or as
    ``.gz``, are downloaded into it from their public home (Dutch has none: the error says whom to
    ask).

    Parameters
    ----------
    name
        ``"adult"``, ``"bank"``, ``"dutch"``, ``"diabetes"`` or ``"synthetic"``.
    data_home
        The folder of the raw files. By default the environment variable ``OTFAIR_DATA_HOME``, else
        the platform's cache folder for ``otfair``.
    download
        Whether a missing file may be downloaded.
    **options
        Choices that the paper leaves open, all True or False: ``duration`` (bank),
        ``ordered_as_numbers`` (dutch), ``diagnoses`` and ``ids_as_numbers`` (diabetes). The
        dataset's `description` gives the reason for each default. For ``"synthetic"`` the
        parameters of `make_synthetic`.

    Returns
    -------
    Dataset

    Raises
    ------
    DatasetError
        If a raw file is missing, damaged or out of reach. The message says which file to put where.

    Examples
    --------
    >>> from otfair import load_dataset
    >>> d = load_dataset("synthetic", n=1000, direct_bias=0.5, seed=1)
    >>> d.X.shape, d.y.shape
    ((1000, 10), (1000,))
    """
    files = files_of(name)
    if name == "synthetic":
        known = list(inspect.signature(make_synthetic).parameters)
        unknown = [option for option in options if option not in known]
        if unknown:
            raise TypeError(
                f"Dataset 'synthetic' has no parameter `{unknown[0]}`. "
                f"Its parameters are: {', '.join(known)}."
            )
        return make_synthetic(**options)
    card = CARDS[name]
    values = card.resolve(name, options)
    home = resolve_home(data_home)
    contents = [load_bytes(file, home, download=download) for file in files]
    X, y, sensitive = RECIPES[name](*contents, **values)
    assert len(X) == len(y) == len(sensitive) == card.rows, f"{name}: {len(X)} rows"
    return Dataset(
        name=name,
        X=X,
        y=y,
        sensitive_features=sensitive,
        description=card.describe(values),
        licence=card.licence,
        citation=card.citation,
    )
