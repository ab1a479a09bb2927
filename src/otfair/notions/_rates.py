"""Rows of predictive parity: label less rate within a group, and the rates that scores have.

Maths: docs/derivation.md, section 16. Where the user gives no rate, G is a linear function of one
rate for each attribute, and the rate is taken from scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Rates:
    """The rates that rows of G still have to be told, each shared by the groups of an attribute.

    Attributes whose groups cover the same people share a rate: if all groups of each have one
    precision, it is that of these people.
    """

    names: tuple[str, ...]  # of the attributes
    of_name: tuple[int, ...]  # which rate each attribute has
    of_row: Tensor  # (d,) which rate each row of G has; -1 for rows without one
    origin: Tensor  # (d, K) G where all rates are 0
    slope: Tensor  # (d, K) what a rate of 1 adds to it
    member: Tensor  # (r, K) types of people whose score a rate is of
    positive: Tensor  # (r, K) those with label 1

    def of(self, mass: Tensor) -> Tensor:
        """Return the rates, (r,), of score by type, (K,): shares of it with label 1."""
        positive, member = self.positive.to(mass.device), self.member.to(mass.device)
        return (positive @ mass) / (member @ mass)

    def vectors(self, rates: Tensor) -> Tensor:
        """Return G at rates, (d, K)."""
        origin, slope = self.origin.to(rates.device), self.slope.to(rates.device)
        of_row = self.of_row.to(rates.device)
        return origin + slope * torch.where(of_row >= 0, rates[of_row], 0.0)[:, None]

    def named(self, rates: Tensor) -> dict[str, float]:
        """Return the rate of each attribute by its name."""
        return {name: float(rates[r]) for name, r in zip(self.names, self.of_name)}

    def price(self, slope: np.ndarray, rates: Tensor, mass: Tensor) -> np.ndarray:
        """Return what a unit of score of each type adds to a value through the rates, (K,).

        `slope`, (r,), are the value's derivatives in the rates of score by type, `mass`, (K,).
        """
        each = (self.positive - rates[:, None] * self.member) / (self.member @ mass)[:, None]
        return np.asarray(slope @ each.cpu().numpy())


def precision_rows(
    labels: Tensor, member: Tensor, rates: Tensor, weight: Tensor
) -> tuple[Tensor, Tensor]:
    """Return rows of precision where their rate is 0, and what a rate of 1 adds, (p, K) each.

    `labels` and `member`, (p, K), say which label types have, and whether they are of the group. A
    row is the group's mean of (label - rate) times score, so that small groups count as large ones.
    """
    share = member @ weight / weight.sum()
    slope = -member / share[:, None]
    origin = -slope * labels
    return torch.where(rates.isnan()[:, None], origin, origin + slope * rates[:, None]), slope


def comparable(
    labels: Tensor, member: Tensor, rates: Tensor, weight: Tensor, family: Sequence[Hashable]
) -> tuple[Tensor, Tensor]:
    """Tell which rows of precision a sample can speak of, (p,), and which types to shut, (K,).

    A group without both labels has the precision 0 or 1 whatever its scores, and is not compared;
    its missing label is shut out, as nothing would hold score there in check. Where scores are to
    tell the rate, at least two groups of a family must be left.
    """
    inside = member > 0
    has = [((labels == label) & inside).double() @ weight > 0 for label in (0, 1)]
    keep = has[0] & has[1]
    missing = inside & ~torch.where(labels == 1, has[1][:, None], has[0][:, None])
    left = Counter(key for key, kept in zip(family, keep.tolist()) if kept)
    alone = torch.tensor([left[key] < 2 for key in family], device=keep.device)
    return keep & ~(rates.isnan() & alone), missing.any(0)


def free_rates(
    G: Tensor, slope: Tensor, labels: Tensor, families: Sequence[str | None], weight: Tensor
) -> Rates | None:
    """Gather what G and rates, of which it is a function, are made of; none without free rates.

    `families`, (d,), are the attributes whose rate a row has, None where it has none.
    """
    names = tuple(dict.fromkeys(name for name in families if name is not None))
    if not names:
        return None
    inside = slope != 0
    rows = [torch.tensor([f == name for f in families], device=G.device) for name in names]
    covers = torch.stack([inside[own].any(0) for own in rows])  # (f, K)
    _, of_name = torch.unique(covers & (weight > 0), dim=0, return_inverse=True)
    of_row = torch.full((len(families),), -1, device=G.device)
    for own, r in zip(rows, of_name):
        of_row[own] = r
    member = torch.stack([covers[of_name == r].any(0) for r in of_name.unique()]).double()
    return Rates(
        names=names,
        of_name=tuple(of_name.tolist()),
        of_row=of_row,
        origin=G,
        slope=torch.where(of_row[:, None] >= 0, slope, 0.0),
        member=member,
        positive=member * labels,
    )
