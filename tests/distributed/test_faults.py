"""Workers that die, and data that do not fit their memory: the result is the same."""

import os
import signal
import time

import dask.array as da
import numpy as np
import pytest
from partitions import FEATURES, people

import otfair
from otfair.models._parted_training import PartedTraining

pytestmark = pytest.mark.filterwarnings("ignore:training stopped")


def test_a_worker_killed_while_training_changes_nothing(own_workers, monkeypatch):
    both = people(240, partitions=4)
    a, b = (otfair.OTFClassifier(alpha=0.5, balance=5.0, max_iter=4) for _ in range(2))
    a.fit(both.here[FEATURES], both.here["y"], both.here[["sex"]])
    evaluate, calls = PartedTraining._entropy, []

    def evaluate_or_kill(training, theta):
        calls.append(theta)
        if len(calls) == 8:  # distances are there, and some steps are done
            pid, *_ = own_workers.run(os.getpid).values()
            os.kill(pid, signal.SIGKILL)
        return evaluate(training, theta)

    monkeypatch.setattr(PartedTraining, "_entropy", evaluate_or_kill)
    b.fit(both.there[FEATURES], both.there["y"], both.there[["sex"]])
    assert len(calls) > 10
    np.testing.assert_allclose(b.coef_, a.coef_, rtol=1e-8, atol=1e-9)


def test_data_larger_than_a_workers_memory_goes_to_its_disk(own_workers):
    # Two workers of 800 MB, and features that fill both: what Dask keeps is below 60 % of a limit
    # whatever else is in memory, so that some must go to disk, however the parts are spread.
    rows, width = 200_000, 1000
    X = da.random.default_rng(0).random((rows, width), chunks=(rows // 50, width))
    assert X.nbytes >= 2 * 8e8
    from otfair.distributed import read_parts

    began = time.monotonic()
    parts = read_parts({"X": X}).map(lambda part: part["X"])
    first, again = (parts.sum(lambda x: x.sum(0)) for _ in range(2))
    on_disk = own_workers.run(lambda dask_worker: len(dask_worker.data.disk))
    assert sum(on_disk.values()) > 0
    np.testing.assert_array_equal(first, again)
    assert len(first) == width
    assert time.monotonic() - began < 300  # a hang
