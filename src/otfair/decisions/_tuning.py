"""Duals whose rule meets limits for people as observed, not as a model of groups sees them.

Maths: docs/decisions.md, section "As observed". The program speaks of predicted rates. Its limits
are moved by s, observed minus predicted, until the rule that it gives has s itself: a fixed point.
Plain repetition does not settle where groups are small, so Anderson's acceleration mixes the last
few steps; limits that are still missed are drawn in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from otfair.decisions._limits import Family, excess, inequalities
from otfair.decisions._program import decide, project

STEPS = 40  # programs solved at most
MOST = 20_000  # people near the boundary, by whom limits must be met
FARTHEST = 10  # times a step that the acceleration may go
MEMORY = 5  # of the acceleration
PATIENCE = 4  # steps without a better rule after which the best is taken
ENOUGH = 1e-5  # of gain, that makes a rule better
TOLERANCE = 1e-9  # by which limits may be missed
SOFT = 1e-6  # the same for scores, which are found by a solver of smooth functions


@dataclass(frozen=True)
class Sample:
    """The people who tune a rule."""

    gain: np.ndarray  # a, (n,): what a decision gains; or scores, where these are made fair
    predicted: np.ndarray  # v, (n, d)
    observed: np.ndarray  # (n, d)
    weight: np.ndarray  # (n,)
    soft: bool = False  # whether the rule makes scores instead of decisions

    def outcome(self, duals: np.ndarray) -> np.ndarray:
        """Return the decisions that duals make, 0 or 1, or the scores, (n,)."""
        margin = self.gain - self.predicted @ duals
        return np.asarray(np.clip(margin, 0.0, 1.0) if self.soft else margin > 0, dtype=np.float64)

    def rates(self, outcome: np.ndarray) -> np.ndarray:
        """Return the observed value of each row, (d,)."""
        return np.asarray(self.observed.T @ (self.weight * outcome / self.weight.sum()))

    def value(self, outcome: np.ndarray) -> float:
        """Return the mean gain of decisions, or of scores."""
        gain = self.gain * outcome - (outcome**2 / 2 if self.soft else 0.0)
        return float(self.weight @ gain / self.weight.sum())


@dataclass(frozen=True)
class Rule:
    """Duals, and how those who tuned them fare."""

    duals: np.ndarray  # mu, (d,)
    shift: np.ndarray  # s, (d,)
    rates: np.ndarray  # (d,), as observed
    value: float  # mean gain
    excess: float  # by how much limits are missed; at most 0 where they are met
    grain: float  # what the decision about one person can change of a rate

    @property
    def met(self) -> bool:
        """Whether limits are met by those who tuned the rule, as nearly as whole people can."""
        return self.excess <= self.grain

    @property
    def strict(self) -> bool:
        """Whether limits are met to the last person."""
        return self.excess <= TOLERANCE


def tune(
    sample: Sample, families: Sequence[Family], margin: np.ndarray, start: Rule | None = None
) -> Rule:
    """Return the rule that gains most among those found that meet the limits as observed.

    `margin`, (d,), is kept from every limit. The rule of similar limits saves time.
    """
    grain = SOFT if sample.soft else _grain(sample)

    def judged(duals: np.ndarray, shift: np.ndarray) -> Rule:
        outcome = sample.outcome(duals)
        rates = sample.rates(outcome)
        missed = float(excess(families, rates, margin))
        return Rule(duals, shift, rates, sample.value(outcome), missed, grain)

    zero = np.zeros_like(margin)
    best = now = judged(zero, zero)
    if best.strict:
        return best
    shift, duals = zero, None
    if start is not None:
        shift, duals = start.shift, start.duals
        now = judged(start.duals, shift)
    drawn, since = zero, 0
    earlier: list[tuple[np.ndarray, np.ndarray]] = []
    for _ in range(STEPS):
        limits = inequalities(families, margin + drawn, now.rates)
        limits = replace(limits, bound=limits.bound - limits.rows @ shift)
        problem = (sample.gain, sample.predicted, sample.weight, limits, duals)
        found = (
            project(*problem) if sample.soft else decide(*problem, most=MOST if earlier else None)
        )
        if found.missed > TOLERANCE and earlier:  # the last move asked for what nobody can give
            shift = 0.5 * (shift + earlier[-1][0])
            continue
        duals = found.duals
        now = judged(duals, shift)
        since += 1
        if _is_better(now, best):
            since = 0 if not best.strict or now.value > best.value + ENOUGH else since
            best = now
        if since >= (PATIENCE if best.strict else 3 * PATIENCE) and best.met:
            break
        move = now.rates - found.rates - shift
        if not best.strict and since > PATIENCE:
            drawn = drawn + max(now.excess, 0.0) / 2
        earlier.append((shift, move))
        shift = _accelerated(earlier[-MEMORY - 1 :])
    return best


def _is_better(new: Rule, old: Rule) -> bool:
    """Whether a rule misses limits less, or gains more where both meet them."""
    if new.strict and old.strict:
        return new.value > old.value
    return new.strict or (not old.strict and new.excess < old.excess)


def _grain(sample: Sample) -> float:
    """Return the largest share that one person has in a rate."""
    largest = (np.abs(sample.observed) * sample.weight[:, None]).max()
    return float(largest / sample.weight.sum())


def _accelerated(earlier: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Return the next point: the mixture of earlier points whose moves cancel best, moved."""
    points, moves = (np.array(part) for part in zip(*earlier))  # (k, d) each
    point, move = points[-1], moves[-1]
    if len(points) == 1:
        return np.asarray(point + move)
    X, F = (point - points[:-1]).T, (move - moves[:-1]).T  # (d, k - 1)
    A = F.T @ F
    mixture = np.linalg.lstsq(A + 1e-8 * np.trace(A) * np.eye(len(A)), F.T @ move, rcond=None)[0]
    mixed = point + move - (X + F) @ mixture
    # Steps that changed nothing tell nothing, and would be mixed to go anywhere.
    far = np.abs(mixed - point).max() > FARTHEST * np.abs(moves).max()
    return np.asarray(point + move if far else mixed)
