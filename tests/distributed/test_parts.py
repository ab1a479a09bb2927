"""Parts on workers: mapped, summed in any number, and errors that say what to do."""

import builtins
import subprocess
import sys

import dask.array as da
import numpy as np
import pytest

from otfair.distributed import Parts, _parts, is_dask, read_parts, to_dask


def test_sums_over_many_parts_are_those_of_all_rows(workers, monkeypatch):
    monkeypatch.setattr(_parts, "FAN_IN", 3)  # so that workers add, and add again
    values = np.arange(100.0)
    rows = read_parts({"x": da.from_array(values, chunks=8)})
    column = rows.map(lambda part: part["x"])
    assert len(column) == 100
    total, most = column.sum(lambda x, c: (x.sum() * c, x[:1] * 0 + len(x)), 2.0)
    assert (total, most.tolist()) == (values.sum() * 2, [100.0])
    assert column.reduce(max, np.max) == 99
    np.testing.assert_array_equal(to_dask(column).compute(), values)


def test_rows_are_found_by_their_number(workers):
    rows = read_parts({"x": da.arange(20, chunks=6)}).map(lambda part: part["x"])
    index = np.array([0, 5, 6, 19])
    found = rows.each(lambda x, own: x[own], rows.split(index)).gather(lambda x: x)
    assert np.concatenate(found).tolist() == index.tolist()


def test_partitions_that_differ_are_refused(workers):
    a, b = da.ones(10, chunks=5), da.ones(10, chunks=2)
    with pytest.raises(ValueError, match="in the same partitions"):
        Parts.map(read_parts({"a": a}), len, read_parts({"b": b}))
    unknown = b[b > 0]
    with pytest.raises(ValueError, match="`b` has 5 partitions and `a` 2"):
        read_parts({"a": a, "b": unknown})


def test_without_a_client_the_error_says_how_to_get_one(monkeypatch):
    import distributed

    def nobody():
        raise ValueError("No clients found")

    monkeypatch.setattr(distributed, "default_client", nobody)
    with pytest.raises(ValueError, match="no Dask cluster is connected; make a client"):
        read_parts({"X": da.ones((2, 2))})


def test_without_distributed_the_error_names_the_extra(monkeypatch):
    real = builtins.__import__

    def refuse(name, *rest):
        if name.partition(".")[0] == "distributed":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"install `otfair\[dask\]`"):
        read_parts({"X": da.ones((2, 2))})


@pytest.mark.slow
def test_nothing_imports_dask_unless_it_is_used():
    code = (
        "import otfair, sys; otfair.smooth_otf; otfair.OTFClassifier; otfair.audit;"
        "otfair.tradeoff_curve; assert not {'dask', 'distributed'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert not is_dask(np.ones(2), None, [1])
