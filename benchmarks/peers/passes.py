"""Distances from all people to types of people: one pass, and how it grows with their number."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import torch
from sklearn.neighbors import NearestNeighbors

import otfair
from otfair.geometry import _boxes
from peers.batches import sinkhorn
from peers.people import EPSILON, Row, adult, seconds

GROWING = (1000, 2000, 4000, 8000, 16_000, 32_000)
SINKHORN = 2000  # people, up to whom a whole plan is solved for
BLOCK = 2**20


def bare_pass(X: torch.Tensor, scale: float) -> float:
    """Go through all pairs in blocks: one product, root and exponential of each, and no more."""
    norms, one, step = X.square().sum(1, keepdim=True), X.new_ones(len(X), 1), BLOCK // len(X)
    left, right = torch.cat([X, one, norms], 1), torch.cat([-2 * X, norms, one], 1)
    total = 0.0
    for part in torch.split(right, max(1, step)):
        C = (left @ part.T).clamp_min_(0).sqrt_().mul_(-1 / (EPSILON * scale))
        total += float(C.clamp_min_(-700).exp_()[0, 0])
    return total


def plainly(cloud: otfair.PointCloud, types: np.ndarray, soft: bool) -> None:
    """Find distances by all pairs, without boxes."""
    least, _boxes.LEAST_PAIRS = _boxes.LEAST_PAIRS, 2**62
    try:
        by_boxes(cloud, types, soft)
    finally:
        _boxes.LEAST_PAIRS = least


def by_boxes(cloud: otfair.PointCloud, types: np.ndarray, soft: bool) -> None:
    """Find distances as `otfair` does, by a cloud that knows none yet."""
    anew = cloud.take(np.arange(cloud.shape[0]))
    if soft:
        anew.soft_distances(types, EPSILON)
    else:
        anew.nearest_distances(types)


def nearest_of_each(X: np.ndarray, types: np.ndarray, algorithm: str) -> None:
    """Find the nearest person of each type by scikit-learn, on all processors."""
    for k in np.unique(types):
        trees = NearestNeighbors(n_neighbors=1, algorithm=algorithm, n_jobs=-1)
        trees.fit(X[types == k]).kneighbors(X)


def whole() -> Iterator[Row]:
    """Yield what a pass over all people takes."""
    p = adult()
    n, types = len(p.y), (p.sex == p.sex[0]).astype(int)
    cloud, X = otfair.PointCloud(p.X), torch.tensor(p.X)

    def row(method: str, taken: float, note: str = "") -> Row:
        return Row("pass", n, method, taken, note=note)

    once = {"least": 0.0}
    by_boxes(cloud, types, True)  # compiles
    yield row("otfair, soft distances by boxes", seconds(lambda: by_boxes(cloud, types, True)))
    yield row(
        "otfair, soft distances by all pairs", seconds(lambda: plainly(cloud, types, True), **once)
    )
    yield row("products and exp alone", seconds(lambda: bare_pass(X, cloud.scale_), **once))
    by_boxes(cloud, types, False)
    yield row("otfair, nearest people by boxes", seconds(lambda: by_boxes(cloud, types, False)))
    yield row(
        "otfair, nearest people by all pairs", seconds(lambda: plainly(cloud, types, False), **once)
    )
    for algorithm, name in (("brute", "brute force"), ("ball_tree", "ball tree")):
        yield row(
            f"scikit-learn, nearest people, {name}",
            seconds(lambda a=algorithm: nearest_of_each(p.X, types, a), **once),
        )


def growth() -> Iterator[Row]:
    """Yield what a cost and its gradient take as people become more."""
    for n in GROWING:
        p = adult().take(slice(0, n))
        fair = otfair.DemographicParity().constraints(p.sex)
        cold = lambda p=p, fair=fair: otfair.adjusted_otf(
            p.scores, otfair.PointCloud(p.X), fair, EPSILON
        )
        ours = cold()
        yield Row("growth", n, "otfair", seconds(cold))
        alone = partial(bare_pass, torch.tensor(p.X), ours.smooth.problem.geometry.scale_)
        yield Row("growth", n, "products and exp alone", seconds(alone))
        if n <= SINKHORN:
            by_pot, by_geomloss = sinkhorn(p, ours.smooth.fair_scores)
            yield Row("growth", n, "POT, sinkhorn_log", seconds(by_pot, least=0.0))
            yield Row("growth", n, "geomloss, Sinkhorn", seconds(by_geomloss, least=0.0))
