"""Rules whose limits hold as observed: a smooth program in one price for each row.

Maths: docs/decisions.md, section "Limits on observed rates". Decisions are smoothed: sigma((a - v'
mu) / width), so that gain and observed rates have slopes, and SLSQP finds the best mu within the
limits:

    max_mu,u,z  mean(w a d) - PRICE z    s.t.  L r(mu) + M u <= q + z,  z >= 0
    d_i = sigma((a_i - v_i' mu) / width),  r = mean(w o d)   with o the rows as observed

Scores, f = clip(h - v' mu, 0, 1), are smooth enough as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from otfair.decisions._limits import Inequalities

PRICE = 10.0  # of missing limits by 1: far above what a rate is worth
FAR = 12.0  # widths from the boundary, beyond which slopes are below 1e-5
ITERATIONS = 100
SOFT = 1e-6  # how near limits scores are found


@dataclass(frozen=True)
class Sample:
    """The people who tune a rule."""

    gain: np.ndarray  # a, (n,): what a decision gains; or scores, where these are made fair
    predicted: np.ndarray  # v, (n, d)
    observed: np.ndarray  # o, (n, d)
    weight: np.ndarray  # (n,)
    soft: bool = False  # whether the rule makes scores instead of decisions
    trust: np.ndarray | float = 1.0  # (d,) in what is observed of a row; the rest is predicted
    number: np.ndarray | None = None  # (n,) in [0, 1), by which people are spread over rules

    def outcome(self, duals: np.ndarray) -> np.ndarray:
        """Return the decisions that duals make, 0 or 1, or the scores, (n,)."""
        margin = self.gain - self.predicted @ duals
        return np.asarray(np.clip(margin, 0.0, 1.0) if self.soft else margin > 0, dtype=np.float64)

    def rates(self, outcome: np.ndarray) -> np.ndarray:
        """Return the observed value of each row, (d,)."""
        return self.total(self.weight * outcome / self.weight.sum())

    def total(self, amount: np.ndarray, people: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return what amounts, (n,) or (n, m), of some people add up to in each row."""
        observed = self.observed[people].T @ amount
        if np.all(self.trust == 1.0):
            return np.asarray(observed)
        trust = np.reshape(self.trust, (-1,) + (1,) * (amount.ndim - 1))
        return np.asarray(trust * observed + (1 - trust) * (self.predicted[people].T @ amount))

    def value(self, outcome: np.ndarray) -> float:
        """Return the mean gain of decisions, or of scores."""
        gain = self.gain * outcome - (outcome**2 / 2 if self.soft else 0.0)
        return float(self.weight @ gain / self.weight.sum())

    @cached_property
    def grain(self) -> np.ndarray:
        """How near a limit each rate can be, (d,): what one person can change."""
        if self.soft:
            return np.full(self.observed.shape[1], SOFT)
        largest = [np.abs(column * self.weight).max() for column in self.observed.T]
        return np.asarray(np.array(largest) / self.weight.sum())

    @cached_property
    def is_rate(self) -> np.ndarray:
        """Whether each row is a rate in a group, (d,): all of its people have one value."""
        same = [np.ptp(column[column != 0]) == 0 for column in self.observed.T]
        return np.array(same, dtype=bool)

    @cached_property
    def people(self) -> np.ndarray:
        """How many people of equal weight each row has, (d,)."""
        total, squares = (
            np.array([w[column != 0].sum() for column in self.observed.T])
            for w in (self.weight, self.weight**2)
        )
        return np.asarray(total**2 / np.maximum(squares, 1e-300))

    @cached_property
    def width(self) -> float:
        """The size of gains: 1 where they are as those of scores about a threshold of 0.5."""
        return 1.0 if self.soft else float(min(1.0, 2.5 * np.median(np.abs(self.gain))) or 1.0)

    @cached_property
    def scale(self) -> np.ndarray:
        """What prices are measured in, (d,), so that they are of the size of scores."""
        return np.array([1.0 / max(np.abs(column).max(), 1e-300) for column in self.predicted.T])

    def take(self, rows: np.ndarray) -> Sample:
        """Return some of the people."""
        return replace(
            self, gain=self.gain[rows], predicted=self.predicted[rows],
            observed=self.observed[rows], weight=self.weight[rows],
            number=None if self.number is None else self.number[rows],
        )  # fmt: skip


@dataclass(frozen=True)
class Smoothed:
    """Gain and rates under duals, with their slopes."""

    gain: float
    gain_slope: np.ndarray  # (d,)
    rates: np.ndarray  # (d,)
    rates_slope: np.ndarray  # (d, d), of rates by duals


def smoothed(sample: Sample, duals: np.ndarray, width: float) -> Smoothed:
    """Return what smoothed decisions, or scores, amount to."""
    w = sample.weight / sample.weight.sum()
    margin = sample.gain - sample.predicted @ duals
    if sample.soft:
        d = np.clip(margin, 0.0, 1.0)
        near = np.flatnonzero((margin > 0) & (margin < 1))
        slope, worth = w[near], sample.gain[near] - d[near]
    else:
        d = expit(margin / width)
        near = np.flatnonzero(np.abs(margin) < FAR * width)
        slope, worth = w[near] * d[near] * (1 - d[near]) / width, sample.gain[near]
    moved = sample.predicted[near] * -slope[:, None]  # (k, d) of decisions by duals
    return Smoothed(sample.value(d), worth @ moved, sample.total(w * d), sample.total(moved, near))


def polish(sample: Sample, limits: Inequalities, duals: np.ndarray, width: float) -> np.ndarray:
    """Return the duals near those given whose smoothed rule gains most within the limits."""
    L, M, q = limits.rows, limits.free, limits.bound
    d, f = len(duals), M.shape[1]
    scale = sample.scale
    memory: dict[bytes, Smoothed] = {}

    def at(x: np.ndarray) -> Smoothed:
        key = x[:d].tobytes()
        if key not in memory:
            memory.clear()
            memory[key] = smoothed(sample, x[:d] * scale, width)
        return memory[key]

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        now = at(x)
        slope = np.concatenate([-now.gain_slope * scale, np.zeros(f), [PRICE]])
        return PRICE * x[-1] - now.gain, slope

    def room(x: np.ndarray) -> np.ndarray:
        return np.asarray(q - L @ at(x).rates - M @ x[d:-1] + x[-1])

    def room_slope(x: np.ndarray) -> np.ndarray:
        rates = at(x).rates_slope * scale
        return np.hstack([-L @ rates, -M, np.ones((len(q), 1))])

    # Prices of a family add up to 0 (docs: M' nu = 0); without that their size would run away.
    sums = np.hstack([limits.compared * scale, np.zeros((len(limits.compared), f + 1))])
    constraints = [{"type": "ineq", "fun": room, "jac": room_slope}]
    for kind, own in (("eq", sums[~limits.subsidised]), ("ineq", -sums[limits.subsidised])):
        if len(own):
            constraints.append(
                {"type": kind, "fun": lambda x, own=own: own @ x, "jac": lambda _, own=own: own}
            )
    start = np.concatenate([duals / scale, np.zeros(f + 1)])
    if f:
        start[d:-1] = np.linalg.lstsq(M, q - L @ at(start).rates, rcond=None)[0]
    start[-1] = max(0.0, -float(room(start).min()))
    found = minimize(
        objective, start, jac=True, method="SLSQP",
        bounds=[*((None, None) if own else (0.0, 0.0) for own in limits.limited),
                *[(None, None)] * f, (0, None)],
        constraints=constraints,
        options={"ftol": 1e-14 if sample.soft else 1e-6, "maxiter": ITERATIONS},
    )  # fmt: skip
    return np.asarray(found.x[:d] * scale if np.isfinite(found.x).all() else duals)
