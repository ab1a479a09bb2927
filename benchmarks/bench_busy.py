"""How much slower work is beside one busy process, as a ratio to the same work alone.

Run with `make bench-busy`, on a machine that does nothing else, of two processors. A batch of 1000
people of Adult from features to the gradient, a solve from the last solution, a pass over 8000
people, and a fit on them; PyTorch has as many threads as it takes by itself.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression

import otfair

BUSY = "while True: pass"


def median_ms(call: Callable[[], object], repeats: int) -> float:
    """Median time of a call, in milliseconds; the first one warms up."""
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def work() -> dict[str, tuple[Callable[[], object], int]]:
    """Return what is timed, and how often."""
    try:
        data = otfair.load_dataset("adult", download=False)
    except otfair.DatasetError:
        data = otfair.make_synthetic(n=20_000)
    order = np.random.default_rng(0).permutation(len(data.y))
    X = np.asarray(otfair.TableEncoder().fit_transform(data.X))[order]
    groups = data.sensitive_features.select_dtypes(exclude="number").iloc[order]
    y, model = data.y[order], LogisticRegression(max_iter=200).fit(X[:5000], data.y[order[:5000]])
    h = model.predict_proba(X)[:, 1]
    print(f"{data.name}, PyTorch {torch.__version__} on {torch.get_num_threads()} threads")

    def cost(n: int) -> Callable[..., object]:
        fair = otfair.DemographicParity().constraints(groups.iloc[:n])

        def adjusted(people: otfair.PointCloud | None = None, scores: np.ndarray = h, **start):
            people = otfair.PointCloud(X[:n]) if people is None else people
            return otfair.adjusted_otf(scores[:n], people, fair, **start)

        return adjusted

    def fit() -> object:
        some = slice(0, 8000)
        return otfair.OTFClassifier(alpha=0.5).fit(
            X[some], y[some], sensitive_features=groups.iloc[some]
        )

    batch, people = cost(1000), otfair.PointCloud(X[:1000])
    first = batch(people)
    return {
        "batch of 1000, features to gradient": (batch, 21),
        "  again, from the last solution": (lambda: batch(people, h * 0.99, init=first), 51),
        "8000 people, features to gradient": (cost(8000), 5),
        "OTFClassifier on 8000 people": (fit, 2),
    }


def main() -> None:
    """Time all work alone, then beside a process that is never idle."""
    calls = work()
    alone = {name: median_ms(*call) for name, call in calls.items()}
    busy = subprocess.Popen([sys.executable, "-c", BUSY])
    try:
        time.sleep(0.5)
        beside = {name: median_ms(*call) for name, call in calls.items()}
    finally:
        busy.kill()
    print(f"{'':38}{'alone, ms':>12}{'busy, ms':>12}{'ratio':>8}")
    for name, taken in alone.items():
        print(f"{name:38}{taken:12.1f}{beside[name]:12.1f}{beside[name] / taken:8.2f}")


if __name__ == "__main__":
    main()
