"""How fast the core is, as ratios to a bare pass over the costs and to the published scheme.

Run with `make bench`. One batch of 1000 Adult rows (96 features, sex and race, epsilon 1e-3, costs
scaled by their maximum), from features to the gradient of the adjusted cost, to a residual of 1e-8.
`python benchmarks/bench_core.py dutch` takes another dataset. Where the data is not at hand, a
synthetic batch of the same shape stands in, and says so.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression

import otfair

EPSILON, BATCH = 1e-3, 1000


def median_ms(*calls: Callable[[], object], repeats: int = 41) -> list[float]:
    """Median time of each call in milliseconds, taken in turns so that a noisy spell hits all."""
    times: list[list[float]] = [[] for _ in calls]
    for turn in range(repeats + 2):
        for call, taken in zip(calls, times):
            start = time.perf_counter()
            call()
            if turn >= 2:  # the first two warm up
                taken.append(time.perf_counter() - start)
    return [1e3 * statistics.median(taken) for taken in times]


def load_batch(
    dataset: str,
) -> tuple[str, np.ndarray, np.ndarray, dict[str, np.ndarray], np.ndarray]:
    """Return (name, features, labels, sensitive columns, scores of a logistic regression)."""
    rng = np.random.default_rng(0)
    try:
        data = otfair.load_dataset(dataset, download=False)
    except otfair.DatasetError:
        data = otfair.make_synthetic(n=20_000)
    X = np.asarray(otfair.TableEncoder().fit_transform(data.X))
    order = rng.permutation(len(X))
    fit, batch = order[:10_000], order[-BATCH:]
    model = LogisticRegression(max_iter=200).fit(X[fit], data.y[fit])
    scores = model.predict_proba(X[batch])[:, 1]
    groups = data.sensitive_features.select_dtypes(exclude="number")
    sensitive = {str(name): groups[name].to_numpy()[batch] for name in groups}
    return data.name, X[batch], data.y[batch], sensitive, scores


def bare_pass(X: torch.Tensor) -> torch.Tensor:
    """Distances by a float64 product, and one exp with clamped arguments: the bound."""
    C = torch.cdist(X, X, compute_mode="use_mm_for_euclid_dist")
    return C.mul_(-1 / (EPSILON * 40)).clamp_min_(-700).exp_()


def main() -> None:
    torch.set_num_threads(2)
    name, features, labels, sensitive, scores = load_batch(*sys.argv[1:] or ["adult"])
    X, h = torch.as_tensor(features), torch.as_tensor(scores)
    rng = np.random.default_rng(1)
    nearby = (h * torch.as_tensor(np.exp(0.02 * rng.normal(size=len(h))))).clamp(1e-6, 1.0)
    print(f"{name}: {len(X)} rows, {X.shape[1]} features, sensitive {', '.join(sensitive)}")
    head = f"{'':36}{'PDP':>12}{'PEO':>12}"
    print(head, "-" * len(head), sep="\n")
    columns = []
    for notion in ("demographic_parity", "equalized_odds"):
        constraints = otfair.as_notion(notion).constraints(sensitive, labels)
        geometry = otfair.PointCloud(X)
        first = otfair.adjusted_otf(h, geometry, constraints, EPSILON)

        def cold(constraints=constraints, **settings):
            cloud = otfair.PointCloud(X)
            return otfair.adjusted_otf(h, cloud, constraints, EPSILON, **settings)

        def warm(constraints=constraints, geometry=geometry, first=first):
            return otfair.adjusted_otf(nearby, geometry, constraints, EPSILON, init=first)

        inside = otfair.adjusted_otf(h, geometry, constraints, EPSILON, bounded=True)

        def bounded(cold=cold):
            return cold(bounded=True)

        def bounded_warm(constraints=constraints, geometry=geometry, first=inside):
            given = (nearby, geometry, constraints, EPSILON)
            return otfair.adjusted_otf(*given, init=first, bounded=True)

        def exact(constraints=constraints, **settings):
            return otfair.exact_otf(h, otfair.PointCloud(X), constraints, **settings)

        def released(cold=cold):
            return cold(solver="coordinate")

        def patient(cold=cold):
            return cold(solver="coordinate", tol=0.0, univariate_tol=1e-10)

        bare, full, again = median_ms(lambda: bare_pass(X), cold, warm)
        full_bounded, plain, again_bounded, again_plain = median_ms(
            bounded, cold, bounded_warm, warm, repeats=11
        )
        lp, lp_bounded = median_ms(exact, lambda exact=exact: exact(bounded=True), repeats=5)
        two, hundred = median_ms(released, patient, repeats=5)
        # The dual gain from mu = 0 to the optimum is what a solver has to find.
        start = cold(solver="coordinate", max_sweeps=0).smooth.value
        gain = first.smooth.value - start
        old, older, resolved = released(), patient(), warm()
        columns.append(
            [
                ("bare pass, ms", f"{bare:.2f}"),
                ("features to gradient, ms", f"{full:.2f}"),
                ("  times the bare pass", f"{full / bare:.2f}"),
                ("  residual", f"{first.residual:.0e}"),
                ("  evaluations", f"{first.smooth.iterations} + {first.relaxed.iterations}"),
                ("warm re-solve, ms", f"{again:.2f}"),
                ("  residual", f"{resolved.residual:.0e}"),
                ("  evaluations", f"{resolved.smooth.iterations} + {resolved.relaxed.iterations}"),
                ("bounded, features to gradient, ms", f"{full_bounded:.1f}"),
                ("  times unbounded", f"{full_bounded / plain:.1f}"),
                ("  residual", f"{inside.residual:.0e}"),
                ("  people at their bound", f"{int((inside.smooth.bound_duals < 0).sum())}"),
                ("bounded, warm re-solve, ms", f"{again_bounded:.2f}"),
                ("  times unbounded", f"{again_bounded / again_plain:.1f}"),
                ("exact, ms", f"{lp:.0f}"),
                ("exact and bounded, ms", f"{lp_bounded:.0f}"),
                ("  times unbounded", f"{lp_bounded / lp:.1f}"),
                ("coordinate, as released, ms", f"{two:.2f}"),
                ("  times ours", f"{two / full:.2f}"),
                ("  sweeps", f"{old.smooth.iterations} + {old.relaxed.iterations}"),
                ("  residual", f"{old.residual:.0e}"),
                ("  share of the dual gain", f"{(old.smooth.value - start) / gain:.3f}"),
                ("coordinate, 100 sweeps, ms", f"{hundred:.1f}"),
                ("  times ours", f"{hundred / full:.1f}"),
                ("  residual", f"{older.residual:.0e}"),
                ("  share of the dual gain", f"{(older.smooth.value - start) / gain:.3f}"),
            ]
        )
    for (label, left), (_, right) in zip(*columns):
        print(f"{label:36}{left:>12}{right:>12}")


if __name__ == "__main__":
    main()
