"""Limits on the rates of groups: what is allowed, by how much it is missed, and as inequalities.

Maths: docs/decisions.md, section "The linear program". A family is the rows that are compared with
one another: the groups of one attribute in one stratum, or a single row that has a target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Family:
    """Rows whose rates are held near each other, or one row that is held near a target."""

    name: str  # such as "sex" or "sex | y=1"
    rows: np.ndarray  # (r,) which rows
    difference: float | None = None  # largest difference between two of their rates
    ratio: float | None = None  # smallest ratio between two of them
    target: float | None = None  # of a row that is no rate; `difference` is then from the target
    floor: float | None = None  # smallest rate; such a family compares nothing

    @property
    def compares(self) -> bool:
        """Whether its rows are compared with one another."""
        return self.target is None and self.floor is None

    def excess(self, rates: np.ndarray, margin: np.ndarray) -> np.ndarray:
        """By how much rates, (..., d), miss the limits; at most 0 where they are met, (...)."""
        r, m = rates[..., self.rows], margin[..., self.rows]
        worst = np.full(rates.shape[:-1], -np.inf)
        if self.target is not None:
            worst = (np.abs(r - self.target) - self._room(m)).max(-1)
        elif self.difference is not None:
            m_d = np.minimum(m, self.difference / 2)
            worst = (r + m_d).max(-1) - (r - m_d).min(-1) - self.difference
        if self.floor is not None:
            worst = (self.floor - r + np.minimum(m, 1 - self.floor)).max(-1)
        if self.ratio is not None:
            m_r = self._ratio_margin(r, m)
            worst = np.maximum(worst, self.ratio * (r + m_r).max(-1) - (r - m_r).min(-1))
        return worst

    def inequalities(
        self, margin: np.ndarray, rates: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return L, M and q such that L r + M u <= q, for some u, says that the limits are met.

        L has a column for each row, (k, d), and M for each free variable, (k, 2). `rates` are
        roughly those that will come out, by which margins of ratios are kept within the room left.
        """
        m, unit = margin[self.rows], np.eye(len(rates))[self.rows]  # (r,), (r, d)
        parts: list[tuple[np.ndarray, tuple[float, float], np.ndarray]] = []
        if self.target is not None:
            parts += [
                (unit, (0, 0), self.target + self._room(m)),
                (-unit, (0, 0), self._room(m) - self.target),
            ]
        elif self.difference is not None:  # u <= r <= u + difference
            m_d = np.minimum(m, self.difference / 2)
            parts += [(unit, (-1, 0), self.difference - m_d), (-unit, (1, 0), -m_d)]
        if self.floor is not None:
            parts.append((-unit, (0, 0), -self.floor - np.minimum(m, 1 - self.floor)))
        if self.ratio is not None:  # ratio u <= r <= u
            m_r = self._ratio_margin(rates[self.rows], m)
            parts += [(unit, (0, -1), -m_r), (-unit, (0, self.ratio), -m_r)]
        L, M, q = zip(*parts)
        free = [row for row, block in zip(M, L) for _ in block]
        return np.concatenate(L), np.array(free, dtype=np.float64), np.concatenate(q)

    def only(self, kept: np.ndarray) -> Family | None:
        """Return the family of the rows that are kept, (d,) bool; None without any to compare."""
        rows = self.rows[kept[self.rows]]
        few = len(rows) < (2 if self.compares else 1)
        return None if few else replace(self, rows=rows)

    def centre(self, rates: np.ndarray) -> np.ndarray:
        """Return the rates that are farthest within the limits: equal ones, or the target."""
        out = rates.copy()
        out[self.rows] = rates[self.rows].mean() if self.target is None else self.target
        return out

    def widest(self, rates: np.ndarray) -> float:
        """Return the margin at which equal rates only are left, the target only, or a rate of 1."""
        if self.floor is not None:
            return 1 - self.floor
        if self.target is not None:
            assert self.difference is not None
            return self.difference
        ends = [] if self.difference is None else [self.difference / 2]
        if self.ratio is not None:
            ends.append((1 - self.ratio) * float(rates[self.rows].mean()) / (1 + self.ratio))
        return max(ends)

    def _room(self, margin: np.ndarray) -> np.ndarray:
        assert self.difference is not None
        return np.maximum(self.difference - margin, 0.0)

    def _ratio_margin(self, rates: np.ndarray, margin: np.ndarray) -> np.ndarray:
        """Margins that leave equal rates allowed: there is room for (1 - ratio) of a rate."""
        assert self.ratio is not None
        room = (1 - self.ratio) * np.maximum(rates.mean(-1, keepdims=True), 0.0)
        return np.asarray(np.minimum(margin, room / (1 + self.ratio)))


@dataclass(frozen=True)
class Inequalities:
    """The limits of all families: L r + M u <= q for some u."""

    rows: np.ndarray  # L, (k, d)
    free: np.ndarray  # M, (k, f)
    bound: np.ndarray  # q, (k,)
    compared: np.ndarray  # (m, d) 1 for the rows of a family that are compared with one another
    subsidised: np.ndarray  # (m,) whether its prices may add up to less than 0

    @property
    def limited(self) -> np.ndarray:
        """Which rows have a limit, (d,)."""
        return np.asarray((self.rows != 0).any(0))


def inequalities(families: Sequence[Family], margin: np.ndarray, rates: np.ndarray) -> Inequalities:
    """Collect those of all families, of which each has free variables of its own."""
    L, M, q = zip(*(family.inequalities(margin, rates) for family in families))
    free = np.zeros((sum(map(len, q)), 2 * len(families)))
    start = 0
    for j, part in enumerate(M):
        free[start : start + len(part), 2 * j : 2 * j + 2] = part
        start += len(part)
    several = [family for family in families if family.compares]
    floors = [c for family in families if family.floor is not None for c in family.rows]
    compared = np.array([np.isin(np.arange(len(rates)), family.rows) for family in several])
    return Inequalities(
        rows=np.concatenate(L),
        free=free[:, (free != 0).any(0)],
        bound=np.concatenate(q),
        compared=compared.reshape(len(several), len(rates)).astype(np.float64),
        subsidised=np.array(
            [f.ratio is not None or bool(np.isin(f.rows, floors).any()) for f in several],
            dtype=bool,
        ),
    )


def excess(families: Sequence[Family], rates: np.ndarray, margin: np.ndarray) -> np.ndarray:
    """By how much rates, (..., d), miss the limits of the family that misses most, (...)."""
    return np.asarray(np.max([family.excess(rates, margin) for family in families], axis=0))
