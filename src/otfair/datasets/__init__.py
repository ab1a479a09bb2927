"""The data: four real tables and a synthetic one."""

from otfair.datasets._dataset import Dataset
from otfair.datasets._download import DatasetError
from otfair.datasets._files import download_dataset, list_datasets, locate_dataset, verify_dataset
from otfair.datasets._load import load_dataset
from otfair.datasets._synthetic import Truth, make_synthetic

__all__ = [
    "Dataset",
    "DatasetError",
    "Truth",
    "download_dataset",
    "list_datasets",
    "load_dataset",
    "locate_dataset",
    "make_synthetic",
    "verify_dataset",
]
