"""Optimal transport of classifiers to fairness."""

from otfair.datasets import (
    Dataset,
    DatasetError,
    download_dataset,
    list_datasets,
    load_dataset,
    locate_dataset,
    make_synthetic,
    verify_dataset,
)
from otfair.encoder import TableEncoder

__all__ = [
    "Dataset",
    "DatasetError",
    "TableEncoder",
    "download_dataset",
    "list_datasets",
    "load_dataset",
    "locate_dataset",
    "make_synthetic",
    "verify_dataset",
]

__version__ = "0.1.0"
