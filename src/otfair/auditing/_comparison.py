"""Two or more models: gaps, predictive power, who gains and who loses, and what chance explains.

Maths: docs/monitoring.md. Models of the same people are compared on the same resamples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import ndtr
from scipy.stats import binomtest

from otfair._io.arrays import ArgumentError
from otfair.auditing._audit import Audit
from otfair.auditing._changes import LEVEL, holm
from otfair.auditing._compared import Compared, Comparison, Move
from otfair.auditing._decisions import rates_of
from otfair.auditing._groups import Comparison as Groups
from otfair.auditing._groups import compare, read_notions
from otfair.auditing._reading import AuditData
from otfair.auditing._violations import comparable, correlation_rows, is_small
from otfair.metrics import by_cell, draw_counts, estimate, resample

GROUP_RATES = ("selection_rate", "true_positive_rate", "false_positive_rate")
WITHIN = {  # the rates that a notion compares
    "demographic_parity": ("selection_rate",),
    "equalized_odds": ("true_positive_rate", "false_positive_rate"),
}


def compare_audits(audits: Mapping[str, Audit], *, paired: bool | None = None) -> Comparison:
    """Compare models by the audits of their scores: all others with the first.

    Where the audits are of the same people, in the same order, resamples are the same too, so that
    differences have narrow intervals, and it is told who gains and who loses.

    Parameters
    ----------
    audits : mapping from str to Audit
        Two or more, by the names of the models.
    paired : bool, default=None
        Whether the people are the same. By default they are where there are as many rows, with the
        same sensitive values, labels and weights.

    Returns
    -------
    Comparison
        Figures of each model, differences, who gains and who loses.

    Examples
    --------
    >>> import otfair
    >>> loans = otfair.make_synthetic(n=600)
    >>> sex, scores = loans.sensitive_features["sex"], loans.truth.scores
    >>> models = {"old": scores, "new": (scores + 0.1 * (sex == "Female")).clip(0, 1)}
    >>> audits = {
    ...     name: otfair.audit(scores, sensitive_features=sex, labels=loans.y)
    ...     for name, scores in models.items()
    ... }
    >>> found = otfair.compare_audits(audits)
    >>> found.to_frame()[["group", "figure", "old", "new", "new beyond"]].round(2)
             group                         figure   old   new  new beyond
    0                              selection_rate  0.35  0.38        True
    1                                    accuracy  0.76  0.76       False
    2                                         auc  0.84  0.83       False
    3                demographic_parity violation  0.34  0.18        True
    4               demographic_parity difference  0.29  0.22        True
    5                    demographic_parity ratio  0.38  0.54        True
    6                    equalized_odds violation  0.31  0.14        True
    7                   equalized_odds difference  0.24  0.12        True
    8                        equalized_odds ratio  0.30  0.52        True
    9   sex=Female                 selection_rate  0.18  0.25        True
    10  sex=Female             true_positive_rate  0.48  0.60        True
    11  sex=Female            false_positive_rate  0.08  0.13        True
    12  sex=Female                     mean score  0.27  0.37        True
    13    sex=Male                 selection_rate  0.47  0.47       False
    14    sex=Male             true_positive_rate  0.71  0.71       False
    15    sex=Male            false_positive_rate  0.25  0.25       False
    16    sex=Male                     mean score  0.47  0.47       False
    >>> found.moves_frame()[["group", "people", "gained", "lost", "score_change"]].round(2)
            group  people  gained  lost  score_change
    0                 600      18     0          0.04
    1  sex=Female     244      18     0          0.10
    2    sex=Male     356       0     0          0.00
    """
    if not isinstance(audits, Mapping) or len(audits) < 2:
        raise ArgumentError("audits", "must be two or more, by the names of the models.")
    names, found = tuple(map(str, audits)), list(audits.values())
    if any(len(audit.people) < audit.record.rows_used for audit in found):
        raise ArgumentError(
            "audits",
            "must be of people on one machine, whom models are compared by; an audit on Dask keeps "
            "the few whom it shows. Audit a sample, such as `table.sample(frac=0.01).compute()`.",
        )
    whys = [_unlike(found[0].people, other.people) for other in found[1:]]
    same = not any(whys)
    if paired and not same:
        raise ArgumentError(
            "paired", f"says that people are the same, but {next(filter(None, whys))}."
        )
    paired = same if paired is None else bool(paired)
    people = [audit.people for audit in found]
    notes = []
    if paired:
        kept = sorted(set.intersection(*(set(one.rows.tolist()) for one in people)))
        people = [_only(one, np.array(kept)) for one in people]
        notes.append(f"The models scored the same {len(kept):,} people.")
    else:
        why = next(filter(None, whys), "so it was asked for")
        notes.append(f"The models are compared as of different people: {why}.")
    settings = [audit.record.settings for audit in found]
    size, seed = (int(str(settings[0][name])) for name in ("n_bootstrap", "random_state"))
    samples = []
    for k, one in enumerate(people):
        counts = draw_counts(len(one), size, seed if paired else seed + k)
        threshold = float(str(settings[k]["threshold"]))
        samples.append(_measure(one, threshold, counts, found[k].record.favourable, settings[k]))
    shared = [key for key in samples[0] if all(key in sample for sample in samples)]
    attributes = list(dict.fromkeys(attribute for attribute, *_ in shared))
    shared.sort(key=lambda key: (attributes.index(key[0]), key[1] != ""))
    moves = _moves(names, people, settings, size, seed) if paired else ()
    return Comparison(
        models=names,
        people=tuple(map(len, people)),
        paired=paired,
        favourable=found[0].record.favourable,
        figures=_compared(shared, samples),
        moves=tuple(moves),
        notes=tuple(notes),
        settings={
            "thresholds": [one["threshold"] for one in settings],
            "n_bootstrap": size,
            "random_state": seed,
            "min_people": settings[0]["min_people"],
            "otfair": found[0].record.versions["otfair"],
            "checksums": [audit.record.checksum for audit in found],
        },
    )


Figure = tuple[str, str, str]  # attribute, group, what


def _unlike(one: AuditData, other: AuditData) -> str:
    """Say why two audits are not of the same people; "" where they are."""
    if one.received != other.received:
        return f"there are {one.received:,} rows and {other.received:,}"
    rows, a, b = np.intersect1d(one.rows, other.rows, return_indices=True)
    if not len(rows):
        return "no row is in both"
    if [c.name for c in one.columns] != [c.name for c in other.columns]:
        return "the sensitive columns differ"
    for mine, theirs in zip(one.columns, other.columns):
        differ = int((mine.values[a] != theirs.values[b]).sum())
        if differ:
            return f"{differ:,} rows differ in {mine.name}"
    if (one.labels is None) != (other.labels is None):
        return "one has no labels"
    if one.labels is not None and other.labels is not None:
        differ = int((one.labels[a] != other.labels[b]).sum())
        if differ:
            return f"{differ:,} rows differ in their label"
    return "" if np.array_equal(one.weight[a], other.weight[b]) else "weights differ"


def _only(data: AuditData, rows: np.ndarray) -> AuditData:
    """Return some people, by their row numbers."""
    kept = np.flatnonzero(np.isin(data.rows, rows))
    columns = tuple(replace(c, values=c.values[kept]) for c in data.columns)
    return replace(
        data, scores=data.scores[kept], weight=data.weight[kept], rows=data.rows[kept],
        labels=None if data.labels is None else data.labels[kept], columns=columns, controls=(),
    )  # fmt: skip


def _measure(
    data: AuditData, threshold: float, counts: np.ndarray, favourable: int | None,
    settings: Mapping[str, object],
) -> dict[Figure, np.ndarray]:  # fmt: skip
    """Return each figure of a model, of all people and of resamples, (1 + R,)."""
    data = replace(data, controls=())
    out: dict[Figure, np.ndarray] = _overall(data, threshold, counts)
    known = data.labels is not None and 0 < int(data.labels.sum()) < len(data)
    for c in compare(data, read_notions(None, known)):
        attribute, notion, names = c.attribute, c.notion.name, [str(v) for v in c.groups.values]
        rows = correlation_rows(data, c, counts)
        out[attribute, "", f"{notion} violation"] = np.abs(rows).max((1, 2))
        rates, _, mean = rates_of(data, c, threshold, counts)
        large = _large(c, rates["selection_rate"], int(str(settings["min_people"])))
        within = np.stack([rates[r] for r in WITHIN[notion]], 1)[..., large]  # (R, 1 or 2, G)
        out[attribute, "", f"{notion} difference"] = _largest(np.ptp(within, axis=-1))
        good = 1 - within if favourable == 0 else within
        with np.errstate(invalid="ignore", divide="ignore"):
            low, high = good.min(-1), good.max(-1)
            ratio = np.where(high > 0, low / np.where(high > 0, high, 1.0), 1.0)
        out[attribute, "", f"{notion} ratio"] = -_largest(-ratio)
        for g in np.flatnonzero(large):
            for rate in (r for r in GROUP_RATES if r in rates):
                out[attribute, names[g], rate] = rates[rate][:, g]
            out[attribute, names[g], "mean score"] = mean[:, g]
    return out


def _largest(values: np.ndarray) -> np.ndarray:
    return np.asarray(np.fmax.reduce(values, -1))


def _large(c: Groups, rate: np.ndarray, min_people: int) -> np.ndarray:
    """Return which groups are compared, (G,)."""
    sizes = np.bincount(c.groups.codes, minlength=rate.shape[1])
    ends = [estimate(values, 0.0, 1.0) for values in rate.T]
    small = [is_small(int(n), e, min_people) for n, e in zip(sizes, ends)]
    return np.asarray(comparable(~np.array(small)[None], sizes[None] > 0)[0])


def _overall(data: AuditData, threshold: float, counts: np.ndarray) -> dict[Figure, np.ndarray]:
    """Return figures of all people."""
    h, w, y = data.scores, data.weight, data.labels
    yes = h > threshold
    right = w * (yes == (0 if y is None else y))
    total, chosen, correct = resample(_sums(w, w * yes, right), counts).T
    out: dict[Figure, np.ndarray] = {("", "", "selection_rate"): chosen / total}
    if y is not None:
        out["", "", "accuracy"] = correct / total
    if y is not None and 0 < y.sum() < len(y):
        _, code = np.unique(h, return_inverse=True)
        resampled = (auc_of(code, y, w * times) for times in counts)
        out["", "", "auc"] = np.array([auc_of(code, y, w), *resampled])
    return out


def _sums(*columns: np.ndarray) -> Any:
    """Return the matrix whose products are sums of each column over all people."""
    return by_cell(np.zeros(len(columns[0]), dtype=np.int64), 1, *columns)


def auc_of(code: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    """Return the area under the ROC curve, of scores by their rank; ties count half."""
    negative, positive = (np.bincount(code, w * (y == label)) for label in (0, 1))
    mass = negative.sum() * positive.sum()
    below = negative.cumsum() - negative / 2
    return float(positive @ below / mass) if mass > 0 else float("nan")


def _compared(keys: list[Figure], samples: list[dict[Figure, np.ndarray]]) -> tuple[Compared, ...]:
    """Return all figures with differences from the first model, and what chance explains."""
    first = samples[0]
    p: dict[tuple[Figure, int], float] = {}
    for k, sample in enumerate(samples[1:]):
        for family in (True, False):  # figures of groups, and others
            own = [key for key in keys if bool(key[1]) == family]
            raw = np.array([_p_value(sample[key] - first[key]) for key in own])
            p |= {(key, k): float(value) for key, value in zip(own, holm(raw))}
    return tuple(
        Compared(
            attribute=key[0],
            group=key[1],
            figure=key[2],
            values=tuple(estimate(sample[key]) for sample in samples),
            differences=tuple(estimate(sample[key] - first[key]) for sample in samples[1:]),
            p_values=tuple(p[key, k] for k in range(len(samples) - 1)),
        )
        for key in keys
    )


def _p_value(values: np.ndarray) -> float:
    """Return how likely chance makes a difference as large, by the spread of resamples."""
    value, others = values[0], values[1:][np.isfinite(values[1:])]
    if value == 0 or value != value:
        return 1.0
    if len(others) < 2:
        return float("nan")
    spread = float(others.std(ddof=1))
    return float(2 * ndtr(-abs(value) / spread)) if spread > 0 else 0.0


def _moves(
    names: tuple[str, ...], people: list[AuditData], settings: list[dict[str, object]],
    size: int, seed: int,
) -> list[Move]:  # fmt: skip
    """Return who gains and who loses by each model, of all and of each group."""
    first, n = people[0], len(people[0])
    decided = [one.scores > float(str(s["threshold"])) for one, s in zip(people, settings)]
    who: list[tuple[str, str, np.ndarray]] = [("", "", np.ones(n, dtype=bool))]
    for c in compare(replace(first, controls=()), read_notions("demographic_parity", False)):
        if c.numbers is None:
            groups = enumerate(map(str, c.groups.values))
            who += [(c.attribute, name, c.groups.codes == g) for g, name in groups]
    counts = draw_counts(n, size, seed)
    out = []
    for name, one, yes in zip(names[1:], people[1:], decided[1:]):
        change = one.scores - first.scores
        for attribute, group, inside in who:
            gained = int((yes & ~decided[0] & inside).sum())
            lost = int((decided[0] & ~yes & inside).sum())
            test = binomtest(gained, gained + lost).pvalue if gained + lost else 1.0
            w = first.weight * inside
            moved, total = resample(_sums(w * change, w), counts).T
            with np.errstate(invalid="ignore", divide="ignore"):
                mean = moved / total
            out.append(
                Move(
                    model=name, attribute=attribute, group=group, people=int(inside.sum()),
                    gained=gained, lost=lost, p_value=float(test), beyond=False,
                    score=estimate(mean),
                )
            )  # fmt: skip
    return [
        replace(move, beyond=bool(p <= LEVEL))
        for name in names[1:]
        for own in [[move for move in out if move.model == name]]
        for move, p in zip(own, holm(np.array([move.p_value for move in own])))
    ]
