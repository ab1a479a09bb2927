"""The one transport problem that every solver takes, and its semi-dual.

Maths: docs/derivation.md, sections 1, 4 and 5. Letters follow the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

LOWEST_EXPONENT = -700.0  # exp of less is denormal or zero, and slow


@dataclass(frozen=True, kw_only=True)
class TransportProblem:
    """min <C, P> - epsilon H(P)  s.t.  P 1 = h,  |G P'1 - b| <= slack,  by types of columns.

    The d-sized parts are NumPy (solvers work on them in plain Python); the n-sized are tensors.
    Rows of G are divided by their largest entry, which is kept as `unit`: multiply a dual of the
    rows as they were given by `unit` to get one of this problem.
    """

    scores: Tensor  # h  (n,), in (0, 1]
    mass: Tensor  # m = w h  (n,)
    distances: Tensor  # D  (n, K), finite: types without people are left out
    vectors: np.ndarray  # V  (d, K), at most 1
    target: np.ndarray  # b  (d,)
    slack: np.ndarray  # gamma (d,)
    unit: np.ndarray  # (d,)
    row_size: np.ndarray  # |G| h  (d,), by the rows' own vectors
    column_mass: np.ndarray  # (K,) weight of the columns of each type
    total: float  # sum of m
    epsilon: float

    @cached_property
    def reach(self) -> float:
        """Largest distance, in absolute value."""
        return float(self.distances.abs().max())

    @cached_property
    def _sizes(self) -> tuple[np.ndarray, np.ndarray]:
        """|V|, and the part of the residual's denominators that does not change."""
        size = np.abs(self.vectors)
        floor = np.maximum(self.row_size, 1e-6 * size.max(1, initial=0.0) * self.total)
        return size, np.where(floor > 0, floor, 1.0)

    def residual(self, f: np.ndarray, mu: np.ndarray) -> float:
        """Largest relative violation of the optimality conditions, given the mass f (K,) by type."""
        if not len(mu):
            return 0.0
        r, gamma = self.target - self.vectors @ f, self.slack
        v = np.where(mu != 0, np.abs(r - gamma * np.sign(mu)), np.maximum(np.abs(r) - gamma, 0.0))
        size, floor = self._sizes
        return float((v / (np.maximum(size @ f, floor) + np.abs(self.target))).max())


@dataclass(frozen=True)
class Point:
    """The semi-dual at one mu: everything a Newton step asks for."""

    lse: Tensor  # (n,) log-sum-exp over types
    share: Tensor  # p  (K, n)
    f: np.ndarray  # (K,) mass by type
    value: float  # the smooth part of L


class SemiDual:
    """Evaluates L(mu) = -tau sum_i m_i LSE_k((g_k'mu - D_ik) / tau) + b'mu and its derivatives.

    The constant eps h (log h - 1) and the term -slack'|mu| are left to the caller. At tau > epsilon
    this is the annealed function of docs/derivation.md, section 9; at tau = epsilon the true one.
    """

    def __init__(self, problem: TransportProblem, tau: float | None = None):
        self.problem = problem
        eps = problem.epsilon
        self.tau = eps if tau is None else tau
        D = problem.distances.T  # (K, n)
        if self.tau == eps:
            self._base = D / -eps
        else:
            log_count = torch.as_tensor(np.log(problem.column_mass), device=D.device)[:, None]
            self._base = log_count - (D + eps * log_count) / self.tau
        self._V = torch.as_tensor(problem.vectors, device=D.device)

    def at(self, mu: np.ndarray) -> Point:
        """Evaluate at mu, (d,)."""
        problem, tau = self.problem, self.tau
        shift = torch.as_tensor(problem.vectors.T @ mu / tau, device=self._base.device)  # (K,)
        share = self._base + shift[:, None]
        top = share.amax(0)
        share.sub_(top).clamp_min_(LOWEST_EXPONENT).exp_()
        total = share.sum(0)
        share.div_(total)
        lse = total.log_().add_(top)
        f = (share @ problem.mass).cpu().numpy()
        value = float(problem.target @ mu) - tau * float(problem.mass @ lse)
        return Point(lse, share, f, value)

    def gradient(self, point: Point) -> np.ndarray:
        """b - G f, (d,)."""
        return self.problem.target - self.problem.vectors @ point.f

    def curvature(self, point: Point) -> np.ndarray:
        """Minus the Hessian: sum_i m_i Cov_{p_i}(g) / tau, (d, d)."""
        V = self.problem.vectors
        mean = self._V @ point.share  # (d, n)
        within = ((mean * self.problem.mass) @ mean.T).cpu().numpy()
        out: np.ndarray = ((V * point.f) @ V.T - within) / self.tau
        return out
