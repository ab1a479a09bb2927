"""Make every run that is not in the store yet, some at a time, and keep each as it ends."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

from joblib import Parallel, delayed
from tqdm import tqdm

from otfair.experiments._plan import Run
from otfair.experiments._store import Store
from otfair.experiments._train import make

logger = logging.getLogger(__name__)


def reproduce(
    runs: Iterable[Run],
    store: Path,
    *,
    jobs: int = 2,
    take: Iterable[Path] = (),
    verbose: bool = True,
) -> tuple[int, int]:
    """Make the runs that are missing; returns how many were made, and how many failed.

    Parameters
    ----------
    runs : from `plan`.
    store : SQLite file of the results.
    jobs : processes.
    take : other stores, or CSV files, whose results are taken first.
    verbose : show progress and the time left.
    """
    with Store(store) as results:
        for other in take:
            results.merge(other)
        done = results.done()
        paths: dict[Run, list[Run]] = {}
        for run in runs:
            if run.key not in done:
                paths.setdefault(run.path, []).append(run)
        total, failed = sum(map(len, paths.values())), 0
        # Those of one split follow one another, so that a process finds its data read already.
        tasks = sorted(paths.values(), key=lambda p: (p[0].split, p[0].dataset))
        made = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch=2 * jobs)(
            delayed(make)(task) for task in tasks
        )
        with tqdm(total=total, unit="run", disable=not verbose) as bar:
            for group in made:
                results.add(group)
                failed += sum(bool(result.error) for result in group)
                for result in group:
                    if result.error:
                        logger.warning("%s failed:\n%s", result.run, result.error)
                bar.update(len(group))
                bar.set_postfix_str(f"{group[-1].run.dataset} {group[-1].run.method}")
    return total, failed
