"""An audit of people on Dask's workers: the steps that differ from those of one machine."""
