"""Experiment grids on Dask's workers, by joblib's backend."""

from dataclasses import replace

from otfair.reproduction import Run, Store, reproduce

FREE = Run("curves", "synthetic", (), "", "unfair", "full", 0.0, 0.0, 0)


def test_runs_are_made_by_workers_and_are_those_of_this_machine(workers, tmp_path):
    runs = [FREE, replace(FREE, split=1)]
    made = reproduce(runs, tmp_path / "there.sqlite", on_dask=True, verbose=False)
    assert made == (2, 0)
    reproduce(runs[:1], tmp_path / "here.sqlite", jobs=1, verbose=False)
    with Store(tmp_path / "there.sqlite") as there, Store(tmp_path / "here.sqlite") as here:
        by_key = {result.run.key: result for result in there}
        (own,) = here
        assert by_key[FREE.key].metrics == own.metrics
