"""How fast the core is, as ratios to a bare pass over the costs and to the published scheme.

Run with `make bench`. One batch of 1000 Adult rows (96 features, sex and race, epsilon 1e-3, costs
scaled by their maximum), from features to the gradient of the adjusted cost, to a residual of 1e-8.
Where the Adult data is not at hand, a synthetic batch of the same shape stands in, and says so.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression

import otfair

EPSILON, BATCH = 1e-3, 1000


def median_ms(call: Callable[[], object], repeats: int = 41) -> float:
    """Median time of a call in milliseconds, after two to warm up."""
    call(), call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def load_batch() -> tuple[str, np.ndarray, np.ndarray, dict[str, np.ndarray], np.ndarray]:
    """Return (name, features, labels, sensitive columns, scores of a logistic regression)."""
    rng = np.random.default_rng(0)
    try:
        data = otfair.load_dataset("adult", download=False)
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
    name, features, labels, sensitive, scores = load_batch()
    X, h = torch.as_tensor(features), torch.as_tensor(scores)
    rng = np.random.default_rng(1)
    nearby = (h * torch.as_tensor(np.exp(0.02 * rng.normal(size=len(h))))).clamp(1e-6, 1.0)
    print(
        f"{name}: {len(X)} rows, {X.shape[1]} features, {list(sensitive)}, torch {torch.__version__}"
    )
    head = f"{'':22}{'PDP':>12}{'PEO':>12}"
    print(head, "-" * len(head), sep="\n")
    columns = []
    for notion in ("demographic_parity", "equalized_odds"):
        constraints = otfair.as_notion(notion).constraints(sensitive, labels)
        geometry = otfair.PointCloud(X)

        def cold(constraints=constraints):
            return otfair.adjusted_otf(h, otfair.PointCloud(X), constraints, EPSILON)

        def published(constraints=constraints):
            return otfair.adjusted_otf(
                h, otfair.PointCloud(X), constraints, EPSILON, solver="coordinate"
            )

        first = otfair.adjusted_otf(h, geometry, constraints, EPSILON)

        def warm(constraints=constraints, geometry=geometry, first=first):
            return otfair.adjusted_otf(nearby, geometry, constraints, EPSILON, init=first)

        old, again = published(), warm()
        bare, full, coordinate = (
            median_ms(lambda: bare_pass(X)),
            median_ms(cold),
            median_ms(published),
        )
        # What the published scheme reaches of the dual gain from mu = 0 to the optimum.
        start = otfair.smooth_otf(
            h, geometry, constraints, EPSILON, solver="coordinate", max_sweeps=0
        ).value
        gain = (old.smooth.value - start) / (first.smooth.value - start)
        columns.append(
            [
                ("bare pass, ms", f"{bare:.2f}"),
                ("features to gradient", f"{full:.2f}"),
                ("  over bare pass", f"{full / bare:.2f}"),
                ("  residual", f"{first.residual:.0e}"),
                ("  evaluations", f"{first.smooth.iterations} + {first.relaxed.iterations}"),
                ("published scheme, ms", f"{coordinate:.2f}"),
                ("  over ours", f"{coordinate / full:.2f}"),
                ("  its residual", f"{old.smooth.residual:.0e}"),
                ("  its share of gain", f"{gain:.3f}"),
                ("warm re-solve, ms", f"{median_ms(warm):.2f}"),
                ("  residual", f"{again.residual:.0e}"),
                ("  evaluations", f"{again.smooth.iterations} + {again.relaxed.iterations}"),
            ]
        )
    for (label, left), (_, right) in zip(*columns):
        print(f"{label:22}{left:>12}{right:>12}")


if __name__ == "__main__":
    main()
