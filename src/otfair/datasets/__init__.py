"""The data: five real tables and a synthetic one."""

from otfair.datasets._dataset import Dataset, Truth
from otfair.datasets._download import DatasetError
from otfair.datasets._files import resolve_home
from otfair.datasets._load import (
    SOURCES,
    download_dataset,
    list_datasets,
    load_dataset,
    locate_dataset,
    source_of,
    verify_dataset,
)
from otfair.datasets._synthetic import make_synthetic
