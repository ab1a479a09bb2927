"""Fit a line to people on Dask's workers: the objective of `Training`, summed over partitions.

The optimiser runs at the client, as on one machine. An evaluation is a round of tasks for the
cross-entropy and its gradient, those of the penalty's solver, and one that pulls its gradient back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit

from otfair.distributed import Parts
from otfair.losses import LOWEST_SCORE, OTFLoss
from otfair.models._lbfgs import Objective
from otfair.models._parted_data import PartedData, scores_of
from otfair.models._training import Line, Training
from otfair.models._trust import COSTLY, Losses
from otfair.notions import PartedPeople

SPACED = 4096  # people by whom it is told how far apart scores lie


@dataclass
class PartedTraining(Training):
    """People on workers to train on; see `Training`."""

    rows: Parts = field(kw_only=True)
    total: float = field(kw_only=True)  # of all weights
    people: PartedPeople | None = field(kw_only=True)
    # Scores of the representatives at the weights that were evaluated last.
    _last: tuple[bytes, np.ndarray] = field(default=(b"", np.zeros(0)), kw_only=True)

    @classmethod
    def of(cls, data: PartedData, inverse: float, verbose: bool) -> Self:
        """Return the training of some people, with the inverse of `C`."""
        people = data.people
        assert people is None or isinstance(people, PartedPeople)
        return cls(
            data.seen, data.labels, data.labels, verbose=verbose, ridge=inverse / data.total,
            rows=data.rows, total=data.total, people=people,
        )  # fmt: skip

    def scores(self, model: Any) -> np.ndarray:
        """Return the scores that a line gives to the representatives of these people, (2 K,)."""
        assert self.people is not None
        key = model.weights.tobytes()
        if self._last[0] != key:
            self._last = (key, scores_of(self.rows, self.people, model.weights))
        return self._last[1]

    def some_scores(self, model: Any) -> np.ndarray:
        index = np.linspace(0, len(self.rows) - 1, min(len(self.rows), SPACED)).round().astype(int)
        chosen = self.rows.each(_scores_at, self.rows.split(np.unique(index)), model.weights)
        return np.concatenate(chosen.gather(_as_it_is))

    def left_out(self, line: Line) -> Losses | None:
        """Return the loss of a line where each person is left out in turn, if it is soon told."""
        n, p = len(self.rows), self.width
        if n * (p + 1) ** 2 > COSTLY:
            return None
        unit = n / self.total  # weights have mean 1
        H, positive = self.rows.sum(_hessian, line.weights, unit)
        H[np.diag_indices(p)] += n * self.ridge
        H[np.diag_indices(p + 1)] += 1e-9 * max(np.trace(H) / (p + 1), 1e-12)
        try:
            inverse = cho_solve(cho_factor(H), np.eye(p + 1))
        except LinAlgError:
            return None
        rate = np.clip(positive / self.total, 1e-12, 1 - 1e-12)
        base = float(np.log(rate) - np.log1p(-rate))
        sums = self.rows.sum(_left_out, line.weights, inverse, base, unit)
        own, other, more, squares, ones = (
            s / self.total ** (1 + (k > 1)) for k, s in enumerate(sums)
        )
        mean = own - other
        variance = max(squares - 2 * mean * more + mean**2 * ones, 0.0)
        return Losses(float(own), float(other), float(np.sqrt(variance)), n)

    def pull_alike(self, free: Line) -> float:
        """Let the penalty pull as hard as the cross-entropy at a model; returns its factor.

        As `FairnessLoss.balance_` does on one machine, from products of the pulls of all parts.
        """
        loss = self.loss
        assert isinstance(loss, OTFLoss)
        assert self.people is not None
        _, _, state = self._entropy(free.weights)
        penalties = self._penalties(state)
        pulls = [(gradient, scale, shift) for _, gradient, scale, shift in penalties.values()]
        total = float(self.people.weight.sum())
        squares, products = self.rows.sum(_products, state, total, *_flat(pulls))
        return loss.balance_pulls(list(penalties), float(np.sqrt(squares)), products)

    def objective(self, alpha: float) -> Objective:
        """Return the function of the line's weights that `descend` minimises."""

        def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient, state = self._entropy(theta)
            value += 0.5 * self.ridge * float(theta[:-1] @ theta[:-1])
            gradient = gradient + np.append(self.ridge * theta[:-1], 0.0)
            self.penalty, loss = 0.0, self.loss
            if alpha and isinstance(loss, OTFLoss):
                penalties = self._penalties(state)
                factors = [float(loss.balance) * loss.factors.get(name, 1.0) for name in penalties]
                values = [value for value, *_ in penalties.values()]
                self.penalty = float(np.dot(factors, values))
                pulls = [
                    (gradient, factor * scale, factor * shift)
                    for factor, (_, gradient, scale, shift) in zip(factors, penalties.values())
                ]
                pulled = self.rows.sum(_pulled, state, *_flat(pulls))
                value = (1 - alpha) * value + alpha * self.penalty
                gradient = (1 - alpha) * gradient + alpha * pulled
            return value, gradient

        return objective

    def _entropy(self, theta: np.ndarray) -> tuple[float, np.ndarray, Parts]:
        """Return the mean cross-entropy, its gradient, and logits and scores on the workers."""
        state = self.rows.map(_scored, theta)
        typed, centre = (None, None) if self.people is None else (self.people.parts, self._centre())
        given = (self.rows, centre) if typed is None else (self.rows, centre, typed)
        value, gradient, first, second = state.sum(_summed, *given)
        if self.people is not None:
            mass = self.people.first_mass
            mean = first / np.where(mass > 0, mass, 1.0)
            second = second - mass * mean**2  # both as far from the centre
            moments = np.stack([first + mass * centre, second])
            self._last = (theta.tobytes(), self.people.scores(moments))
        return value / self.total, gradient / self.total, state

    def _centre(self) -> np.ndarray:
        """Return about the mean score of each first type, by which sums of squares cancel less."""
        assert self.people is not None
        last, count = self._last[1], len(self.people.first_types)
        return np.full(count, 0.5) if not len(last) else 0.5 * (last[::2] + last[1::2])

    def _penalties(self, state: Parts) -> dict[str, tuple[float, Parts, float, float]]:
        """Return of each part of the rows its penalty, and of what its gradient in the score is.

        That is the sum over people of a scale times the gradient of the transport, plus a shift
        times their weight.
        """
        loss, out = self.loss, {}
        assert isinstance(loss, OTFLoss)
        scores = state.map(_second)
        for sample in loss.samples:
            a = loss.adjusted(scores, sample)
            weight = float(np.asarray(sample.constraints.sample_weight).sum())
            value, scale, shift = a.value / weight, 1 / weight, 0.0
            if sample.constraints.about_precision:  # per unit of score
                mass = a.smooth.problem.total
                value, scale = value * weight / mass, 1 / mass
                shift = -value / mass
            out[sample.name] = (value, a.gradient.map(_with_weight, self._typed()), scale, shift)
        return out

    def _typed(self) -> Parts:
        assert self.people is not None
        return self.people.parts


def _flat(pulls: list[tuple[Parts, float, float]]) -> list[Any]:
    """Return pulls as arguments of a task: numbers first, then parts."""
    return [[(scale, shift) for _, scale, shift in pulls], *(gradient for gradient, _, _ in pulls)]


def _scored(rows: tuple[np.ndarray, ...], theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    z = Line(theta).logits(rows[0])
    return z, np.maximum(expit(z), LOWEST_SCORE)


def _summed(
    state: tuple[np.ndarray, np.ndarray], rows: tuple[np.ndarray, ...], centre: Any,
    typed: Any = None,
) -> tuple[Any, ...]:  # fmt: skip
    """Sum cross-entropy and gradient, and by first type, far from a centre, scores and squares."""
    (z, _), (X, y, w) = state, rows
    h = expit(z)
    slope = w * (h - y)
    value = float(w @ (np.logaddexp(0.0, z) - y * z))
    gradient = np.append(slope @ X, slope.sum())
    if typed is None:
        return value, gradient, 0.0, 0.0
    types, weight = typed
    far = h - centre[types]
    sums = (np.bincount(types, weight * far**power, len(centre)) for power in (1, 2))
    return value, gradient, *sums


def _second(state: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    return state[1]


def _with_weight(
    gradient: np.ndarray, typed: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    return gradient, typed[1]


def _pulls(
    state: tuple[np.ndarray, np.ndarray], numbers: list[tuple[float, float]], *gradients: Any
) -> np.ndarray:
    """Return by how much penalties pull on each logit, (q, n)."""
    h = state[1]
    slope = np.where(h > LOWEST_SCORE, h * (1 - h), 0.0)
    each = [
        scale * gradient + shift * weight
        for (scale, shift), (gradient, weight) in zip(numbers, gradients)
    ]
    return np.asarray(np.stack(each) * slope)


def _pulled(rows: tuple[np.ndarray, ...], state: Any, numbers: Any, *gradients: Any) -> np.ndarray:
    pull = _pulls(state, numbers, *gradients).sum(0)
    return np.append(pull @ rows[0], pull.sum())


def _products(
    rows: tuple[np.ndarray, ...], state: Any, total: float, numbers: Any, *gradients: Any
) -> tuple[float, np.ndarray]:
    """Sum squares of the cross-entropy's pull on copies of people, and products of penalties'."""
    y, weight = rows[1], gradients[0][1]
    entropy = float(weight @ ((expit(state[0]) - y) / total) ** 2)
    pulls = _pulls(state, numbers, *gradients)
    pulls = np.where(weight > 0, pulls / np.sqrt(np.where(weight > 0, weight, 1.0)), 0.0)
    return entropy, pulls @ pulls.T


def _hessian(
    rows: tuple[np.ndarray, ...], theta: np.ndarray, unit: float
) -> tuple[np.ndarray, float]:
    X, y, w = rows
    Z = np.column_stack([X, np.ones(len(X))])
    h = expit(Z @ theta)
    return (Z * (unit * w * h * (1 - h))[:, None]).T @ Z, float(w @ y)


def _left_out(
    rows: tuple[np.ndarray, ...], theta: np.ndarray, inverse: np.ndarray, base: float, unit: float
) -> tuple[float, ...]:
    """Sum losses of those left out and of the base rate, and what tells their error."""
    X, y, w = rows
    Z = np.column_stack([X, np.ones(len(X))])
    z = Z @ theta
    h, weight = expit(z), unit * w
    leverage = np.einsum("ij,ij->i", Z @ inverse, Z)
    left = np.maximum(1 - leverage * weight * h * (1 - h), 1e-6)
    z = z + leverage * weight * (h - y) / left
    own, other = (np.logaddexp(0.0, logit) - y * logit for logit in (z, np.full(len(y), base)))
    more = own - other
    squares = w**2
    return (
        float(w @ own), float(w @ other), float(squares @ more), float(squares @ more**2),
        float(squares.sum()),
    )  # fmt: skip


def _scores_at(rows: tuple[np.ndarray, ...], index: np.ndarray, theta: np.ndarray) -> np.ndarray:
    return np.asarray(expit(rows[0][index] @ theta[:-1] + theta[-1]))


def _as_it_is(value: Any) -> Any:
    return value
