"""Workers that die, and data that do not fit their memory: the result is the same."""

import os
import signal
import threading
import time

import dask.array as da
import numpy as np
import pytest
from partitions import FEATURES, people

import otfair

pytestmark = pytest.mark.filterwarnings("ignore:training stopped")


@pytest.fixture
def own_workers(workers):
    """A cluster of our own, which may be harmed, with little memory; the other is put aside."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None,
            memory_limit="500MB",
        ) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        yield client
    workers.as_current()


def test_a_worker_killed_while_training_changes_nothing(own_workers):
    both = people(240, partitions=4)
    models = []
    for side in (both.here, both.there):
        model = otfair.OTFClassifier(alpha=0.5, balance=5.0, max_iter=6)
        given = (side[FEATURES], side["y"], side[["sex"]])
        if side is both.here:
            models.append(model.fit(*given))
            continue
        done = threading.Event()
        victims: list[int] = []

        def kill():
            # Once workers hold what was computed, one of them dies.
            while not done.wait(0.05):
                held = own_workers.has_what()
                if sum(map(len, held.values())) > 40 and min(map(len, held.values())) > 5:
                    pids = own_workers.run(os.getpid)
                    victims.append(next(iter(pids.values())))
                    os.kill(victims[0], signal.SIGKILL)
                    return

        killer = threading.Thread(target=kill)
        killer.start()
        models.append(model.fit(*given))
        done.set()
        killer.join()
        assert len(victims) == 1
    np.testing.assert_allclose(models[1].coef_, models[0].coef_, rtol=1e-8, atol=1e-9)


def test_data_larger_than_a_workers_memory_goes_to_its_disk(own_workers):
    # 1.2 GB of features on two workers of 500 MB, of which the programs themselves take half.
    rows, width = 40_000, 750
    X = da.random.default_rng(0).normal(size=(5 * rows, width), chunks=(rows // 2, width))
    assert X.nbytes > 1.1e9
    from otfair.distributed import read_parts

    began = time.monotonic()
    parts = read_parts({"X": X}).map(lambda part: part["X"])
    first, again = (parts.sum(lambda x: x.sum(0)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert len(first) == width
    assert time.monotonic() - began < 300  # a hang
