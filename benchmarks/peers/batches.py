"""A batch of 1000 people, from their features to a gradient, and a step in dataset mode."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import geomloss
import numpy as np
import ot
import torch
from fairret.loss import KLProjectionLoss
from fairret.loss import NormLoss as FairretNorm
from fairret.statistic import PositiveRate

import otfair
from peers.people import EPSILON, People, Row, adult, as_groups, seconds

BATCH, ALL = 1000, 30_000


def bare(X: torch.Tensor, scale: float, Y: torch.Tensor | None = None) -> torch.Tensor:
    """Distances by a product in float64, and one exponential of each: the bound."""
    C = torch.cdist(X, X if Y is None else Y, compute_mode="use_mm_for_euclid_dist")
    return C.mul_(-1 / (EPSILON * scale)).clamp_min_(-700).exp_()


def of_loss(loss: Callable[..., torch.Tensor], logits: np.ndarray, *call: object) -> np.ndarray:
    """Return the gradient of a penalty in the logits."""
    z = torch.tensor(logits).requires_grad_()
    loss(z, *call).backward()
    assert z.grad is not None
    return z.grad.numpy()


def sinkhorn(p: People, fair: np.ndarray) -> tuple[Callable[[], dict], Callable[[], float]]:
    """POT's and geomloss's transport of the same scores to the same fair ones."""
    a, b = p.scores / p.scores.sum(), fair / fair.sum()
    X = torch.tensor(p.X)

    def by_pot() -> dict:
        C = ot.dist(p.X, p.X, metric="euclidean")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it has not converged, which is reported
            _, log = ot.sinkhorn(
                a, b, C / C.max(), EPSILON, method="sinkhorn_log", numItermax=1000, log=True
            )
        return log

    scale = float(torch.cdist(X, X).max())
    multi = geomloss.SamplesLoss(
        "sinkhorn", p=1, blur=EPSILON * scale, scaling=0.9, debias=False, backend="tensorized"
    )

    def by_geomloss() -> float:
        mass = torch.tensor(a).requires_grad_()
        value = multi(mass, X, torch.tensor(b), X)
        value.backward()
        return float(value.detach()) / scale

    return by_pot, by_geomloss


def batch() -> Iterator[Row]:
    """Yield what a batch takes, cold and warm."""
    p = adult().take(slice(-BATCH, None))
    X, groups = torch.tensor(p.X), torch.tensor(as_groups(p.sex))
    logits = np.log(p.scores / (1 - p.scores))
    fair = otfair.DemographicParity().constraints(p.sex)
    cloud = otfair.PointCloud(p.X)
    changed = np.clip(p.scores * np.exp(0.02 * np.random.default_rng(1).normal(size=BATCH)), 0, 1)

    def cold(**settings: object) -> otfair.AdjustedTransport:
        return otfair.adjusted_otf(p.scores, otfair.PointCloud(p.X), fair, EPSILON, **settings)

    def row(method: str, call: Callable[[], object], note: str = "") -> Row:
        return Row("batch", BATCH, method, seconds(call), note=note)

    ours, bounded = cold(), otfair.adjusted_otf(p.scores, cloud, fair, EPSILON, bounded=True)
    first = otfair.adjusted_otf(p.scores, cloud, fair, EPSILON)
    yield row("otfair, cold", cold, f"residual {ours.residual:.0e}")
    again = lambda **more: otfair.adjusted_otf(changed, cloud, fair, EPSILON, **more)
    yield row("otfair, from the last solution", lambda: again(init=first))
    yield row("otfair, bounded, cold", lambda: cold(bounded=True))
    yield row("otfair, bounded, from the last solution", lambda: again(init=bounded, bounded=True))
    yield row("product and exp alone", lambda: bare(X, cloud.scale_), "the bound of a cold solve")
    published = otfair.Coordinate(released=True)
    slow = cold(solver=published, throw=False)
    yield row(
        "published ascent", lambda: cold(solver=published, throw=False),
        f"residual {slow.residual:.0e}",
    )  # fmt: skip
    by_pot, by_geomloss = sinkhorn(p, ours.smooth.fair_scores)
    note = f"to known fair scores; residual {by_pot()['err'][-1]:.0e} after 1000 iterations"
    yield row("POT, sinkhorn_log", by_pot, note)
    yield row("geomloss, Sinkhorn", by_geomloss, "to known fair scores; annealed, scaling 0.9")
    z = logits[:, None]
    norm, projection = FairretNorm(PositiveRate()), KLProjectionLoss(PositiveRate())
    yield row("fairret, Norm", lambda: of_loss(norm, z, groups), "looks at no features")
    yield row(
        "fairret, KL projection", lambda: of_loss(projection, z, groups), "looks at no features"
    )
    ours_norm = otfair.NormLoss()
    yield row(
        "otfair, Norm", lambda: of_loss(ours_norm, logits, None, p.sex), "looks at no features"
    )


def step() -> Iterator[Row]:
    """Yield what a step takes whose receivers are a whole training set."""
    everybody = adult().take(slice(0, ALL))
    rows = np.random.default_rng(2).permutation(ALL)[:BATCH]
    p = everybody.take(rows)
    logits, X = np.log(p.scores / (1 - p.scores)), torch.tensor(p.X)
    loss = otfair.OTFLoss(epsilon=EPSILON).fit(everybody.X, everybody.sex)
    index = torch.tensor(rows)
    network = torch.nn.Sequential(
        torch.nn.Linear(X.shape[1], 100), torch.nn.ReLU(), torch.nn.Linear(100, 1)
    )

    def of_network() -> None:
        network(X.float()).square().mean().backward()

    everyone, scale = torch.tensor(everybody.X), float(torch.cdist(X, X).max())
    norm, groups = FairretNorm(PositiveRate()), torch.tensor(as_groups(p.sex))
    yield Row(
        "step", BATCH, "otfair, OTFLoss after fit",
        seconds(lambda: of_loss(lambda z: loss(z, index=index), logits)),
    )  # fmt: skip
    yield Row(
        "step", BATCH, "product and exp alone", seconds(lambda: bare(X, scale, everyone)),
        note="what a step would take without distances that are kept",
    )  # fmt: skip
    yield Row(
        "step", BATCH, "fairret, Norm", seconds(lambda: of_loss(norm, logits[:, None], groups))
    )
    yield Row("step", BATCH, "a network of 100 units", seconds(of_network), note="for comparison")
