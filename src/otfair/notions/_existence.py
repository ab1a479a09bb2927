"""Whether any scores satisfy constraints: a small linear program over types of people.

Maths: docs/derivation.md, section 3, and with bounds section 14.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy.optimize import linprog

if TYPE_CHECKING:
    from otfair.notions._constraints import Constraints


def check_existence(
    constraints: Constraints,
    total: float | None = None,
    slack: np.ndarray | None = None,
    caps: np.ndarray | None = None,
    throw: bool = True,
) -> bool:
    """Raise unless non-negative scores satisfy the constraints; tell whether positive ones do.

    Solves max t s.t. f_k >= t, |V f - b| <= slack, sum f = total over the types that receive
    score (docs/derivation.md, section 3), at most `caps` each. Without `total`, any positive total
    will do.
    """
    parts = (constraints.vectors, constraints.target, constraints.column_mass)
    V, b, mass = (torch.as_tensor(part).cpu().numpy() for part in parts)
    V = V[:, mass > 0]
    d, K = V.shape
    if d == 0:
        return True
    unit = np.abs(V).max(1, initial=0.0)
    unit = np.where(unit > 0, unit, 1.0)
    size = total or max(1.0, np.abs(b / unit).max())
    V, b = V / unit[:, None], b / unit / size
    gamma = 1e-9 + (0.0 if slack is None else slack / unit / size)  # rows may disagree by rounding
    # Variables: f - t (K), by how much each row is missed (d), t.
    sides = [np.hstack([G, -np.eye(d), G.sum(1)[:, None]]) for G in (V, -V)]
    program: dict[str, Any] = {"A_ub": np.vstack(sides), "b_ub": np.append(gamma + b, gamma - b)}
    if caps is not None:  # f - t + t <= caps
        room = caps[mass > 0] / size * (1 + 1e-9)
        below = np.hstack([np.eye(K), np.zeros((K, d)), np.ones((K, 1))])
        program = {
            "A_ub": np.vstack([program["A_ub"], below]),
            "b_ub": np.append(program["b_ub"], room),
        }
    if total is not None or not b.any():
        program |= {"A_eq": np.repeat([[1.0, 0.0, K]], [K, d, 1], axis=1), "b_eq": [1.0]}

    missed = linprog(
        np.repeat([0.0, 1.0, 0.0], [K, d, 1]), **program, bounds=[(0, None)] * (K + d) + [(0, 0)]
    )
    if missed.fun > 1e-7 and not throw:
        return False
    if missed.fun > 1e-7:
        bad = [constraints.names[c] for c in np.flatnonzero(missed.x[K:-1] > 1e-8)]
        given, remedy = "", ""
        limit = "" if caps is None else " of at most one"
        if total is not None:
            given, remedy = f" with the total of these scores, {total:.6g}", ", or allow a `slack`"
        raise ValueError(
            f"no non-negative scores{limit} satisfy the constraint(s) {bad}{given}. Check the sign "
            "and `target` of these rows and that every group they name is among the people who "
            f"receive score{remedy}."
        )
    lowest = linprog(  # the presolve of HiGHS calls rows infeasible that repeat up to rounding
        np.repeat([0.0, -1.0], [K + d, 1]), **program, options={"presolve": False},
        bounds=[(0, None)] * K + [(0, 0)] * d + [(0, 1)],
    )  # fmt: skip
    return bool(lowest.success and -lowest.fun * K > 1e-6)
