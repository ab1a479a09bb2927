"""A split of people on Dask's workers, and how models score them: the figures of a trade-off curve.

Each figure is a sum over people, or of two representatives of each type of them. The area under the
curve compares all pairs of people: workers exchange rows of similar scores, and count.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from otfair.distributed import Entry, Parts, read_parts
from otfair.losses import OTFLoss
from otfair.metrics import (
    DifferenceOf,
    ViolationOf,
    by_cell,
    criterion_of,
    draw_parted_counts,
    read_groups,
)
from otfair.models._parted_data import cloud_of
from otfair.models._parted_receivers import draw_receivers
from otfair.notions import (
    DemographicParity,
    EqualizedOdds,
    PartedPeople,
    as_notion,
    join,
    named_kinds,
    tally,
    type_parts,
)
from otfair.transport import adjusted_otf

MOST_RANGES = 64  # of scores, whose people are compared on one worker each
SPACED = 4096  # people whose scores say where ranges begin


def split_rows(given: dict[str, Any], test_size: float, seed: int) -> dict[str, dict[str, Any]]:
    """Divide the rows of collections at random; the same rows however they are partitioned.

    Each person is drawn by itself, from the seed and the number of its row, as no machine sees all
    labels. Returns the entries of both parts of the split.
    """
    rows = read_parts(given)
    starts = rows.starts[:-1]
    out = {}
    for name, kept in (("train", False), ("test", True)):
        part = rows.each(_drawn, starts, seed, test_size, kept)
        sizes = part.gather(_count)
        some = [k for k, size in enumerate(sizes) if size]
        part = Parts(part.client, [part.futures[k] for k in some], [sizes[k] for k in some])
        out[name] = {key: Entry(part, key, hasattr(like, "columns")) for key, like in given.items()}
    return out


class PartedJudge:
    """The people of one part of a split, on workers, ready to judge models."""

    def __init__(self, X: Any, y: Any, sensitive: Any, model: Any, count: int = 0) -> None:
        self._rows = read_parts({"X": X, "y": y, "sensitive_features": sensitive})
        # How often each person counts: once, then as in each resample.
        self._times = draw_parted_counts(self._rows, count, 0).map(_with_ones)  # (1 + B, n)
        self._resamples = 1 + count
        loss = model.regularizer
        if not isinstance(loss, OTFLoss):
            loss = OTFLoss(model.notion, model.epsilon, cost=model.cost, scale=model.scale)
        self._epsilon = loss.epsilon
        notion = as_notion(model.notion)
        kinds = named_kinds(notion)
        self._tallied = self._rows.map(_tallied, model.classes_)
        notions = (notion, DemographicParity(**kinds), EqualizedOdds(**kinds))
        self._people = [type_parts(each, self._tallied, gaps=True) for each in notions]
        alike = self._rows.map(_alike, model)
        drawn = draw_receivers(self._people[0], model.receivers, [0])
        self._geometry = cloud_of(alike, self._people[0], loss.cost, loss.scale, drawn)
        self._constraints = self._people[0].constraints()
        tallies = self._tallied.gather(_first)
        whole = join(tallies)
        self._starts = np.cumsum([0, *(len(own.weight) for own in tallies)])[:-1].tolist()
        found, _, self._known = read_groups(whole.sensitive, **kinds)
        self._labels = np.asarray(whole.labels, dtype=np.int64)
        self._groups = [group.codes for group in found]
        self._count = len(whole.weight)

    def __call__(self, model: Any) -> dict[str, np.ndarray]:
        """Return each metric of a model, for all people and for each resample, (1 + B,)."""
        scored = self._rows.map(_scored, model)
        entropy, right, n = scored.sum(_entropies, self._tallied, self._times)
        a = adjusted_otf(scored.map(_clipped), self._geometry, self._constraints, self._epsilon)
        counts = scored.each(_decided, self._starts, self._tallied, self._times, self._count)
        cells = counts.sum(_as_it_is)  # (1 + B, 2, c)
        cost = a.gradient.sum(_dotted, scored, self._times) / (cells.sum(1) @ self._known)
        out = {
            "auc": self._auc(scored),
            "log_loss": entropy / n,
            "accuracy": right / n,
            "otf_cost": np.maximum(cost, 0.0),
        }
        for name, typed in zip(("violation", "pdp", "peo"), self._people):
            out[name] = _violations(scored, typed, self._times)
        return out | self._differences(cells)

    def _differences(self, cells: np.ndarray) -> dict[str, np.ndarray]:
        names = ("dp_difference", "eo_difference", "pp_difference")
        if not self._groups:
            return dict.fromkeys(names, np.full(len(cells), np.nan))
        # One for each combination of groups and label, decided on or not.
        decided = np.repeat([False, True], self._count)
        y = np.tile(self._labels, 2)
        groups = [np.tile(codes, 2) for codes in self._groups]
        by_group, by_label = DifferenceOf(groups), DifferenceOf(groups, y)
        found = [
            (
                by_group(decided, weight),
                by_label(decided, weight),
                by_group(y == 1, weight * decided),
            )
            for weight in (cells * self._known).reshape(len(cells), -1)
        ]
        return dict(zip(names, np.transpose(found)))

    def _auc(self, scored: Parts) -> np.ndarray:
        """Return the area under the ROC curve, from all pairs of people; ties count half."""
        ranges = min(len(scored.futures), MOST_RANGES)
        index = np.unique(np.linspace(0, len(scored) - 1, min(len(scored), SPACED)).astype(int))
        some = np.concatenate(scored.each(_at, scored.split(index)).gather(_as_it_is))
        edges = np.unique(np.quantile(some, np.linspace(0, 1, ranges + 1)[1:-1]))
        ordered = scored.map(_ordered, self._tallied, self._times)
        client, counts = scored.client, []
        for k in range(len(edges) + 1):
            pieces = ordered.map(_between, edges, k)
            counts.append(client.submit(_pairs, list(pieces.futures), pure=False))
        won, negatives, positives = np.zeros((3, self._resamples))
        for inside, positive, negative in client.gather(counts):
            won = won + inside + positive * negatives
            negatives, positives = negatives + negative, positives + positive
        pairs = positives * negatives
        return np.where(pairs > 0, won / np.where(pairs > 0, pairs, 1.0), np.nan)


def _violations(scored: Parts, people: PartedPeople, times: Parts) -> np.ndarray:
    """Return the violation of all people and of each resample, from two of each type."""
    count = len(people.first_types)
    mass = people.first_mass
    first = scored.sum(_sum_of, people.parts, count)
    centre = first / np.where(mass > 0, mass, 1.0)
    sums = scored.sum(_moments, people.parts, times, centre)  # (1 + B, 3, K)
    own, out = people.local(), []
    for weight, one, two in sums:
        safe = np.where(weight > 0, weight, 1.0)
        mean = one / safe
        wide = np.sqrt(np.maximum(two / safe - mean**2, 0.0))
        h = np.stack([centre + mean + wide, centre + mean - wide], 1).reshape(-1)
        halves = torch.as_tensor(weight / 2).repeat_interleave(2)
        out.append(criterion_of(ViolationOf.name, replace(own, weight=halves))(h))
    return np.array(out)


def _drawn(
    rows: dict[str, Any], start: int, seed: int, test_size: float, kept: bool
) -> dict[str, Any]:
    """Return rows that are drawn for the test, or the others."""
    n = len(next(iter(rows.values())))
    drawn = _uniform(np.arange(start, start + n, dtype=np.uint64), seed) < test_size
    return {name: value[drawn == kept] for name, value in rows.items()}


def _uniform(index: np.ndarray, seed: int) -> np.ndarray:
    """Return a number in [0, 1) for each row, the same wherever the row is (SplitMix64)."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        z = (index + np.uint64(1)) * golden + np.uint64(seed) * np.uint64(0xD1342543DE82EF95)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53)


def _count(rows: dict[str, Any]) -> int:
    return len(next(iter(rows.values())))


def _tallied(rows: dict[str, Any], classes: np.ndarray) -> tuple[Any, ...]:
    y = np.searchsorted(classes, np.asarray(rows["y"]).reshape(-1))
    own, codes = tally(rows["sensitive_features"], y)
    return own, codes, np.ones(len(codes)), y


def _first(tallied: tuple[Any, ...]) -> Any:
    return tallied[0]


def _alike(rows: dict[str, Any], model: Any) -> np.ndarray:
    return np.asarray(model.cost_features_of(rows["X"]))


def _scored(rows: dict[str, Any], model: Any) -> np.ndarray:
    return np.asarray(model.predict_proba(rows["X"])[:, 1])


def _clipped(h: np.ndarray) -> np.ndarray:
    return np.asarray(np.clip(h, 1e-12, 1.0))


def _with_ones(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([np.ones((1, counts.shape[1]), dtype=np.uint8), counts])


def _entropies(
    h: np.ndarray, tallied: tuple[Any, ...], times: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sum cross-entropies and right decisions, and count people, (1 + B,) each."""
    y, safe = tallied[3], np.clip(h, 1e-15, 1 - 1e-15)
    entropy = -np.where(y == 1, np.log(safe), np.log1p(-safe))
    each = np.stack([entropy, (h > 0.5) == y, np.ones(len(h))])
    sums = np.array([each @ one for one in times])
    return sums[:, 0], sums[:, 1], sums[:, 2]


def _dotted(a: np.ndarray, b: np.ndarray, times: np.ndarray) -> np.ndarray:
    products = a * b
    return np.array([products @ one for one in times])


def _sum_of(h: np.ndarray, typed: tuple[np.ndarray, np.ndarray], count: int) -> np.ndarray:
    return np.bincount(typed[0], typed[1] * h, count)


def _moments(
    h: np.ndarray, typed: tuple[np.ndarray, np.ndarray], times: np.ndarray, centre: np.ndarray
) -> np.ndarray:
    """Sum weights, and scores and squares as far from a centre, by first type, (1 + B, 3, K)."""
    types, weight = typed
    z = h - centre[types]
    A = by_cell(types, len(centre), weight, weight * z, weight * z**2)
    return np.array([A @ one.astype(np.float64) for one in times]).reshape(len(times), 3, -1)


def _decided(
    h: np.ndarray, start: int, tallied: tuple[Any, ...], times: np.ndarray, count: int
) -> np.ndarray:
    """Count people by whether they are decided on, and by combination, (1 + B, 2, c)."""
    place = start + tallied[1] + count * (h > 0.5)
    found = [np.bincount(place, one, 2 * count) for one in times]
    return np.array(found).reshape(len(times), 2, count)


def _at(h: np.ndarray, index: np.ndarray) -> np.ndarray:
    return np.asarray(h[index])


def _ordered(
    h: np.ndarray, tallied: tuple[Any, ...], times: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    order = np.argsort(h, kind="stable")
    return h[order], tallied[3][order], times[:, order]


def _between(
    ordered: tuple[np.ndarray, np.ndarray, np.ndarray], edges: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return scores, labels and counts in the k-th range, which ends with its edge."""
    h, y, times = ordered
    ends = [0, *np.searchsorted(h, edges, side="right").tolist(), len(h)]
    own = slice(ends[k], ends[k + 1])
    return h[own], y[own], times[:, own]


def _pairs(
    pieces: list[tuple[np.ndarray, np.ndarray, np.ndarray]],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Count, in a range, pairs ranked right, ties half, and people of both labels, (1 + B,)."""
    h, y = (np.concatenate([piece[j] for piece in pieces]) for j in (0, 1))
    times = np.concatenate([piece[2] for piece in pieces], 1)
    ranks = np.unique(h, return_inverse=True)[1]
    out = []
    for one in times:
        positive, negative = (np.bincount(ranks, one * (y == label)) for label in (1, 0))
        below = np.cumsum(negative) - negative / 2
        out.append((positive @ below, positive.sum(), negative.sum()))
    found = np.array(out, dtype=np.float64).reshape(len(times), 3)
    return found[:, 0], found[:, 1], found[:, 2]


def _as_it_is(value: Any) -> Any:
    return value
