"""The exact cost as a linear program over (person, type) pairs, certified by its duality gap.

Maths: docs/derivation.md, section 10. All pairs at once for a few thousand people; beyond that, pairs
are generated: first those near the annealed semi-dual's optimum, then those that would improve on
the program solved so far, until none does.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
import torch
from scipy.optimize import linprog
from torch import Tensor

from otfair.newton import Newton
from otfair.problem import TransportProblem
from otfair.status import Status

logger = logging.getLogger(__name__)

ALL_PAIRS = 20_000  # the program with every pair is solved up to this many
ROUNDS = 50


@dataclass(frozen=True)
class ExactSolution:
    """An optimal basic plan by types, with duals that prove it."""

    share: Tensor  # (K, n) of each person's score
    mu: np.ndarray  # (d,)
    dual_value: float
    primal_value: float
    residual: float
    status: Status
    rounds: int


def solve_exact(problem: TransportProblem, tol: float = 1e-9) -> ExactSolution:
    """Solve min <D, P> s.t. P 1 = m, |V P'1 - b| <= slack to a relative gap of `tol`."""
    D, m = problem.distances.cpu().numpy(), problem.mass.cpu().numpy()
    V, b, gamma = problem.vectors, problem.target, problem.slack
    scale = max(float(np.abs(D).max()), 1e-300)
    margin, centre = scale, np.zeros(len(b))
    if D.size > ALL_PAIRS:
        margin, centre = _near_optimum(problem, scale)
    pairs = _reduced(D, V, centre) <= margin
    P, mu, primal, dual = np.zeros_like(D), centre, np.inf, -np.inf
    for rounds in range(1, ROUNDS + 1):
        answer = _program(problem, D, m, pairs, scale)
        if answer is None:
            if pairs.all():
                break
            margin *= 10  # too few pairs to be fair with
            pairs |= _reduced(D, V, centre) <= margin
            continue
        P, mu = answer
        primal, reduced = float((D * P).sum()), _reduced(D, V, mu)
        lowest = (D - (mu @ V)).min(1)  # (n,)
        dual = float(m @ lowest + b @ mu - gamma @ np.abs(mu))
        logger.debug("round %d: %d pairs, gap %.2e", rounds, int(pairs.sum()), primal - dual)
        if primal - dual <= tol * scale * problem.total:
            break
        pairs |= reduced <= 0
    done = primal - dual <= tol * scale * problem.total
    return ExactSolution(
        share=torch.as_tensor(P / np.where(m > 0, m, 1.0)[:, None]).to(problem.mass.device).T,
        mu=mu,
        dual_value=dual,
        primal_value=primal,
        residual=problem.residual(P.sum(0), mu) if done else np.inf,
        status=Status.CONVERGED if done else Status.LP_FAILED,
        rounds=rounds,
    )


def _near_optimum(problem: TransportProblem, scale: float) -> tuple[float, np.ndarray]:
    """Return a dual near the optimum, and within what margin of it pairs are worth a look."""
    eps = 1e-4 * scale
    near = replace(problem, epsilon=eps, column_mass=np.ones_like(problem.column_mass))
    return 30 * eps, Newton(tol=1e-6).solve(near).mu


def _reduced(D: np.ndarray, V: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """By how much each type is dearer than the best one, for each person, at duals mu, (n, K)."""
    price = D - mu @ V
    out: np.ndarray = price - price.min(1, keepdims=True)
    return out


def _program(
    problem: TransportProblem, D: np.ndarray, m: np.ndarray, pairs: np.ndarray, scale: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """Solve the program over the given pairs; None when they do not allow fairness."""
    d = len(problem.target)
    V = problem.vectors
    P = np.where(pairs, m[:, None], 0.0)  # right for people with one pair
    undecided = np.flatnonzero(pairs.sum(1) > 1)
    P[undecided] = 0.0
    i, k = np.nonzero(pairs[undecided])
    people = sp.csr_array((np.ones(len(i)), (i, np.arange(len(i)))), (len(undecided), len(i)))
    A = sp.block_array([[people, None], [sp.csr_array(V[:, k]), -sp.eye_array(d)]], format="csr")
    rhs = np.concatenate([m[undecided], problem.target - V @ P.sum(0)])
    room = problem.slack
    bounds = np.concatenate([np.tile([0, np.inf], (len(i), 1)), np.stack([-room, room], 1)])
    cost = np.concatenate([D[undecided[i], k] / scale, np.zeros(d)])
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    answer = linprog(cost, A_eq=A, b_eq=rhs, bounds=bounds, method="highs", options=options)
    if answer.status != 0:
        return None
    P[undecided[i], k] = np.maximum(answer.x[: len(i)], 0.0)
    mu = answer.eqlin.marginals[len(undecided) :]
    return P, np.where(np.abs(mu) > 1e-12, mu, 0.0) * scale
