"""Make every run that is not in the store yet, some at a time, and keep each as it ends."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path

from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky.process_executor import TerminatedWorkerError

from otfair._io.progress import track
from otfair._io.workers import delayed_with_parent
from otfair.reproduction._plan import Run
from otfair.reproduction._store import Result, Store
from otfair.reproduction._train import make

logger = logging.getLogger(__name__)


def reproduce(
    runs: Iterable[Run],
    store: Path,
    *,
    jobs: int = 2,
    take: Iterable[Path] = (),
    verbose: bool = True,
    on_dask: bool = False,
) -> tuple[int, int]:
    """Make the runs that the SQLite file `store` lacks; returns how many were made, and failed.

    Results in other stores or CSV files, `take`, are taken first. `jobs` is of processes; with
    `on_dask` the workers of the Dask client that is connected make the runs, who need the data.
    """
    with Store(store) as results:
        for other in take:
            results.merge(other)
        done = results.done()
        paths: dict[Run, list[Run]] = {}
        for run in runs:
            if run.key not in done:  # a path is trained from strength to strength in full only
                paths.setdefault(run.path if run.protocol == "full" else run, []).append(run)
        # Those of one split follow one another, so that a process finds its data read already, and
        # then those of one notion, for whom it has measured the distances of batches: equalized
        # odds first, whose types are the finer ones.
        tasks = sorted(paths.values(), key=lambda p: _order(p[0]))
        total, failed = sum(map(len, tasks)), 0
        with track(None, "runs", total, verbose=verbose, unit="run") as bar:
            for group in _made_on_dask(tasks) if on_dask else _made(tasks, jobs):
                results.add(group)
                for result in group:
                    if result.error:
                        failed += 1
                        last = result.error.strip().splitlines()[-1]  # the store has them all
                        logger.warning("%s failed: %s", result.run, last)
                bar.update(len(group))
                bar.set_postfix_str(f"{group[-1].run.dataset} {group[-1].run.method}")
    return total, failed


def _order(run: Run) -> tuple[object, ...]:
    slow = run.columns == ("age",)  # of 150 types: last
    coarser = run.notion != "peo"
    return slow, run.split, run.dataset, run.columns, run.epsilon, coarser, run.notion, run.method


def _made(tasks: list[list[Run]], jobs: int) -> Iterator[list[Result]]:
    """Yield the results of each task as it ends; one whose process dies fails by itself."""
    left = {task[0].key: task for task in tasks}
    try:
        for group in _pool(tasks, jobs):
            left.pop(group[0].run.key)
            yield group
    except TerminatedWorkerError:
        logger.warning("a process died; what is left is made one at a time")
        for task in list(left.values()):
            try:
                yield from _pool([task], 1, "loky")
            except TerminatedWorkerError:
                died = "the process died, perhaps for want of memory"
                yield [Result(run, {}, 0.0, {}, "", died) for run in task]


def _made_on_dask(tasks: list[list[Run]]) -> Iterator[list[Result]]:
    """Yield the results of each task as it ends; Dask makes those of a lost worker elsewhere."""
    with parallel_config(backend="dask"):
        pool = Parallel(return_as="generator_unordered")
        yield from pool(delayed(make)(task) for task in tasks)


def _pool(tasks: list[list[Run]], jobs: int, backend: str | None = None) -> Iterator[list[Result]]:
    pool = Parallel(
        n_jobs=jobs if backend is None else 2, backend=backend,
        return_as="generator_unordered", pre_dispatch=2 * jobs,
    )  # fmt: skip
    yield from pool(delayed_with_parent(make, task) for task in tasks)
