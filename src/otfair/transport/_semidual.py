"""The semi-dual of a transport problem: its value and derivatives at duals of the constraints.

Maths: docs/derivation.md, sections 4, 5 and 9. Letters follow the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from otfair.transport._problem import TransportProblem, Vector, array_module, convert_like, to_numpy
from otfair.transport._status import Status

# Shares near a reference are products of its own, of at least exp(LOWEST_SHARE), and of ratios of
# at most exp(FAR): none is so small that it would be denormal, and none that matters is cut off.
LOWEST_SHARE, FAR = -400.0, 250.0
LEAST_SHARE = 1e-7  # of a single place, that counts in the curvature
# A dense product is so many times faster per entry, and the making of sparse matrices takes as long
# as so many entries; the last is the size of the largest dense matrix.
FASTER, BEFORE, MOST_DENSE = 50, 2**17, 2**25


@dataclass(frozen=True)
class Received:
    """What people send to types at a point, and what of it each place in a type gets."""

    sent: np.ndarray  # (K, n)
    by_place: np.ndarray  # (u,)


@dataclass(frozen=True)
class Reference:
    """Shares at one mu, from which those at others nearby follow without exponentials."""

    share: Vector  # p (K, n), of the types with a distance to everybody
    lse: Vector  # (n,) log-sum-exp over types
    shift: np.ndarray  # G'mu / tau by type, (K + a,)
    curvature: np.ndarray | None = None  # minus a Hessian nearby, (d, d)
    own: sp.csr_array | None = None  # p (a, n), of the types that are one place
    by_person: sp.csc_array | None = None  # the same, (n, a)
    received: Received | None = None  # at a point nearby

    def mean(self, values: np.ndarray) -> Vector:
        """Mean over types, by share, of one row (K,) or of several (d, K): (n,) or (d, n)."""
        if self.own is None:
            return convert_like(values, self.share) @ self.share
        K = len(self.share)
        return values[..., :K] @ self.share + (self.by_person @ values[..., K:].T).T

    def sent(self, mass: Vector) -> np.ndarray:
        """Sum over people of a mass (n,) by share, (K,)."""
        shared = to_numpy(self.share @ mass)
        return shared if self.own is None else np.concatenate([shared, self.own @ mass])


@dataclass(frozen=True)
class Point:
    """The semi-dual at one mu: everything a Newton step asks for."""

    reference: Reference
    ratio: np.ndarray  # (K,) of the types' exponentials to those of `reference`, at least 1
    total: Vector  # (n,) sum over types of ratio times share
    lse: Vector  # (n,) log-sum-exp over types
    f: np.ndarray  # (K,) mass by type
    r: np.ndarray  # b - G f  (d,), the gradient of the smooth part
    value: float  # the smooth part of L

    @cached_property
    def share(self) -> Vector:
        """Share p of each person's score that goes to each type with more than a place, (K, n)."""
        ratio = convert_like(self.ratio[: len(self.reference.share)], self.total)
        return self.reference.share * ratio[:, None] / self.total

    @property
    def own(self) -> sp.csr_array:
        """Share that goes to each type of one place, (a, n)."""
        own, ratio = self.reference.own, self.ratio[len(self.reference.share) :]
        assert own is not None
        data = np.repeat(ratio, np.diff(own.indptr)) * own.data
        return _with_data(own, data / self.total[own.indices])

    def large(self, least: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Shares of single places above a number: place, person and share of each, (p,)."""
        own, ratio = self.reference.own, self.ratio[len(self.reference.share) :]
        assert own is not None
        maybe = own.data > least * self.total.min() / ratio.max(initial=1.0)
        some = maybe.nonzero()[0]
        place, person = np.searchsorted(own.indptr, some, "right") - 1, own.indices[some]
        share = own.data[some] * ratio[place] / self.total[person]
        large = share > least
        return place[large], person[large], share[large]

    def mean(self, values: np.ndarray) -> Vector:
        """Mean over types, by share, as for a reference."""
        return self.reference.mean(values * self.ratio) / self.total


# What a solver of a smooth problem returns: mu, the point there, status, residual, iterations.
Solved: TypeAlias = tuple[np.ndarray, Point, Status, float, int]


class SemiDual:
    """Evaluates L(mu) = -tau sum_i m_i LSE_k((g_k'mu - D_ik) / tau) + b'mu and its derivatives.

    The constant eps h (log h - 1) and the term -slack'|mu| are left to the caller. At tau > epsilon
    this is the annealed function of docs/derivation.md, section 9; at tau = epsilon the true one.
    A `reference`, at the same tau and distances, is where a nearby solution was evaluated.
    """

    def __init__(
        self,
        problem: TransportProblem,
        tau: float | None = None,
        reference: Reference | None = None,
    ) -> None:
        self.problem, self.tau = problem, problem.epsilon if tau is None else tau
        self._reference = reference  # the last one; replaced when a point is far from it

    def at(self, mu: np.ndarray) -> Point:
        """Evaluate at mu, (d,)."""
        problem, V = self.problem, self.problem.vectors
        shift = mu @ V / self.tau
        change = shift - (shift if self._reference is None else self._reference.shift)
        if self._reference is None or change.max() - change.min() > FAR:
            self._reference, change = self._refer(shift), np.zeros_like(shift)
        reference, least = self._reference, float(change.min())
        ratio = np.exp(change - least)
        total = reference.mean(ratio)
        lse = array_module(total).log(total)
        lse += reference.lse
        lse += least
        sent, priced = problem.processes.sum_both(
            reference.sent(problem.mass / total), float(problem.mass @ lse)
        )
        f = ratio * sent
        value = float(problem.target @ mu) - self.tau * priced
        return Point(reference, ratio, total, lse, f, problem.target - V @ f, value)

    def size_of(self, point: Point) -> float:
        """Return the size of what is summed to a value, by which its rounding is known."""
        own = float(self.problem.mass @ (1 + abs(point.lse)))
        return self.problem.processes.total(own)

    def curvature(self, point: Point) -> np.ndarray:
        """Minus the Hessian: sum_i m_i Cov_{p_i}(g) / tau, (d, d)."""
        V, f, root = self.problem.vectors, point.f, self.problem.mass**0.5
        K = len(point.reference.share)
        d = len(V) - len(f) + K
        mean = point.reference.mean(V[:d] * point.ratio)  # (d, n), times the total
        rooted = mean * (root / point.total)
        H = (V[:d] * f) @ V[:d].T
        H -= self.problem.processes.sum(to_numpy(rooted @ rooted.T))
        H = 0.5 * (H + H.T)
        if point.reference.own is not None:
            # The rows of places are shares themselves.
            place, person, share = point.large(LEAST_SHARE)
            share *= root[person]
            whole = np.empty((len(V), len(V)))
            whole[:d, :d] = H
            whole[:d, d:] = V[:d, K:] * f[K:] - _products(rooted, place, person, share, len(f) - K)
            whole[d:, :d] = whole[:d, d:].T
            whole[d:, d:] = -_squares(place, person, share, (len(f) - K, len(root)))
            np.einsum("ii->i", whole)[d:] += f[K:]
            H = whole
        H /= self.tau
        return np.asarray(H)

    def _refer(self, shift: np.ndarray) -> Reference:
        """Return the shares at a shift, (K,)."""
        problem, D = self.problem, self.problem.distances
        add = shift + np.log(problem.column_mass) * (1 - problem.epsilon / self.tau)
        xp, share, own = array_module(D), D / -self.tau, problem.own
        share += convert_like(add[: len(D)], D)[:, None]
        top = xp.amax(share, 0) if len(D) else np.full(D.shape[1], -np.inf)
        if own is not None:
            data = np.repeat(add[len(D) :], np.diff(own.indptr)) - own.data / self.tau
            np.maximum.at(top, own.indices, data)
        share -= top
        total = xp.exp(xp.clip(share, LOWEST_SHARE, None, out=share), out=share).sum(0)
        if own is not None:
            data = np.exp(np.maximum(data - top[own.indices], LOWEST_SHARE))
            total += np.bincount(own.indices, data, len(total))
            own = _with_data(own, data / total[own.indices])
        share /= total
        by_person = None if own is None else own.T
        return Reference(share, xp.log(total) + top, shift, own=own, by_person=by_person)


def semi_dual_of(
    problem: TransportProblem, tau: float | None = None, reference: Reference | None = None
) -> SemiDual:
    """Return the semi-dual of a problem, on one machine or on many."""
    kind: type[SemiDual] = getattr(problem, "semi_dual", SemiDual)
    return kind(problem, tau, reference)


def _products(
    rows: np.ndarray, place: np.ndarray, person: np.ndarray, share: np.ndarray, a: int
) -> np.ndarray:
    """R P' of rows (d, n) and of a sparse P (a, n) with some entries, (d, a)."""
    sums = [np.bincount(place, row[person] * share, a) for row in rows]
    return np.reshape(sums, (len(rows), a))


def _squares(
    place: np.ndarray, person: np.ndarray, share: np.ndarray, shape: tuple[int, int]
) -> np.ndarray:
    """P P' of a sparse P (a, n) with some entries, (a, a), by whichever way is faster."""
    (a, n), count = shape, np.bincount(person, minlength=shape[1])
    alone = np.bincount(place, np.where(count[person] == 1, share, 0.0) ** 2, a)
    several = count > 1  # people who have two entries and more are few
    which = several[person].nonzero()[0]
    place, person, share = place[which], person[which], share[which]
    some = several.nonzero()[0]
    if a * len(some) <= MOST_DENSE and a * a * len(some) < FASTER * (BEFORE + count @ count):
        column = np.zeros(n, dtype=np.int64)
        column[some] = np.arange(len(some))
        whole = np.zeros((a, len(some)))
        whole[place, column[person]] = share
        out = whole @ whole.T
    else:
        sparse = sp.csr_array((share, (place, person)), shape)
        out = (sparse @ sparse.T).toarray()
    np.einsum("ii->i", out)[:] += alone
    return np.asarray(out)


def _with_data(matrix: sp.csr_array, data: np.ndarray) -> sp.csr_array:
    return sp.csr_array((data, matrix.indices, matrix.indptr), matrix.shape)
