"""Rows on many machines: Dask collections as parts on workers, mapped there and summed."""

from otfair.distributed._parts import Parts
from otfair.distributed._reading import (
    Entry,
    is_dask,
    is_parted,
    map_rows,
    read_parts,
    to_dask,
)
