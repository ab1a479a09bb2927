"""One local cluster of two worker processes for all tests of what runs on Dask."""

from importlib.util import find_spec

import pytest

collect_ignore_glob = [] if find_spec("dask") else ["test_*.py"]  # the extra `dask`


@pytest.fixture(scope="session")
def workers():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0",
            memory_limit=0,
        ) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        yield client


@pytest.fixture
def own_workers(workers):
    """A cluster of our own, which may be harmed, with little memory; the other is put aside."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0",
            memory_limit="800MB",
        ) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        yield client
    workers.as_current()
