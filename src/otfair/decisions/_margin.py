"""Margins that make limits hold for new people: how sure it is, and for which groups it can be.

Maths: docs/decisions.md, section "Limits that hold for new people". A group's rate in a new sample
differs from that of the people who tuned the rule by the sampling errors of both. Margins are one
multiple of these errors, the smallest with which simulated samples meet all limits as often as
asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from otfair.decisions._limits import Family, excess
from otfair.decisions._smooth import Sample
from otfair.decisions._tuning import Rule, some_people, tune

DRAWS = 4000
TRIES = 8  # multiples tried
LAST_TRIES = 4  # with all people, where a part of them found one that is nearly right
WIDEST = 4.0  # of them
# How much surer rows must be able to be than is asked for, as a share of what is left to 1.
STRICTER = (0.0, 0.3, 0.6)
CLOSE = 0.01  # of the confidence asked for
# By how much a model of groups may be off, as a rate. Groups in which
# the error of sampling is larger are judged by the model rather than by the few who are there.
MODEL_ERROR = 0.03


@dataclass(frozen=True)
class Promise:
    """What is said of new people."""

    rule: Rule
    margin: np.ndarray  # (d,) kept from the limits
    error: np.ndarray  # (d,) standard error of each rate in a new sample
    confidence: float  # the share of new samples that meet the limits of the rows kept
    kept: np.ndarray  # (d,) bool: rows of which the promise speaks
    needed: np.ndarray  # (d,) people it would take for those that are not


def errors(
    sample: Sample, rates: np.ndarray, outcome: np.ndarray, people: np.ndarray | None = None
) -> np.ndarray:
    """Return the standard error of each row's value, (d,), by the people who tuned it.

    `people`, (d,), is how many there are in all, where the sample is a part of them.
    """
    w = sample.weight / sample.weight.sum()
    n = np.maximum(sample.people if people is None else people, 1.0)
    moments = np.column_stack([w, w * outcome, w * outcome**2])
    size, first, second = (sample.observed.T @ moments).T  # (d,) each
    # A rate is the mean in a group: here the values of rows cancel.
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.maximum(second - 2 * rates * first + rates**2 * size, 0.0) / size
        # Two more of each outcome, so that rates of 0 and 1 are not taken for certain.
        error = np.sqrt((spread * n + 1.0) / (n + 4) / n)
    for c in np.flatnonzero(~sample.is_rate):  # means over all people, of whom others have 0
        column = sample.observed[:, c]
        square = float(w @ (column * outcome - rates[c]) ** 2)
        error[c] = np.sqrt(square * w[column != 0].sum() / n[c])
    return np.asarray(error)


def keep_promise(
    sample: Sample, families: Sequence[Family], confidence: float, share: float
) -> Promise:
    """Tune a rule with margins for new samples of `share` as many people (infinity: for all)."""
    outcome = sample.outcome(np.zeros(sample.observed.shape[1]))
    for more in STRICTER:
        aim = confidence + more * (1 - confidence)
        promise = _promise(sample, families, confidence, share, outcome, aim)
        if promise.confidence >= confidence or not promise.kept.any():
            break
        # Rates have moved, and their errors with them: fewer rows can be promised anything.
        outcome = promise.rule.outcome(sample)
    return replace(promise, kept=promise.kept & (promise.confidence >= confidence))


def _promise(
    sample: Sample,
    families: Sequence[Family],
    confidence: float,
    share: float,
    outcome: np.ndarray,
    aim: float,
) -> Promise:
    """Tune a rule for rows that can be surer than `aim`, with errors as under an outcome (n,)."""
    d = sample.observed.shape[1]
    draws = np.random.default_rng(0).standard_normal((DRAWS, d))
    rates = sample.rates(outcome)
    own = errors(sample, rates, outcome)
    error = own * np.sqrt(1 + 1 / share)
    kept, needed = _promised(sample, families, rates, error, draws, aim)
    # Groups that are too small to be promised anything are judged by the model, too.
    trust = np.where(kept, 1.0, MODEL_ERROR**2 / (MODEL_ERROR**2 + own**2))
    believed = replace(sample, trust=trust)
    judged = [part for family in families if (part := family.only(kept)) is not None]

    def margins(multiple: float) -> np.ndarray:
        out = np.where(kept, multiple * error, 0.0)
        for family in families:  # of which nothing can be promised: half of the limit
            if family.floor is None and not kept[family.rows].any():
                out[family.rows] = family.widest(rates) / 2
        return out

    def sure(people: Sample, rule: Rule) -> float:
        outcome = rule.outcome(people)
        rates = people.rates(outcome)
        new = rates + errors(people, rates, outcome, sample.people) * np.sqrt(1 + 1 / share) * draws
        return float((excess(judged or families, new, np.zeros(d)) <= 0).mean())

    def tried(people: Sample, multiple: float, start: Rule | None = None) -> _Tried:
        rule = tune(people, families, margins(multiple), start)
        return _Tried(multiple, rule, sure(people, rule))

    def enough(
        people: Sample, tries: int, multiple: float = 0.0, start: Rule | None = None
    ) -> _Tried:
        first = tried(people, multiple, start)
        if not judged or first.sure >= confidence:
            return first
        # Where margins leave equal rates only, more of them changes nothing.
        widest = max(f.widest(first.rule.rates) / error[f.rows].min() for f in judged)
        most = min(WIDEST, widest)
        return _search(lambda k: tried(people, k, start), first, most, confidence, tries)

    some = some_people(believed)
    best = enough(some, TRIES)
    if some is not believed:
        best = enough(believed, LAST_TRIES, best.multiple, best.rule)
    return Promise(best.rule, margins(best.multiple), error, best.sure, kept, needed)


@dataclass(frozen=True)
class _Tried:
    multiple: float
    rule: Rule
    sure: float  # share of new samples that meet the limits


def _search(
    tried: Callable[[float], _Tried], first: _Tried, high: float, confidence: float, tries: int
) -> _Tried:
    """Return the smallest multiple found that is sure enough, or else the surest."""
    best, low, found = first, first.multiple, [first]
    for _ in range(tries):
        now = tried(_next(found, low, high, confidence))
        found.append(now)
        if now.sure >= confidence:
            high, best = now.multiple, now
            if now.sure <= confidence + CLOSE:
                break
        else:
            low = now.multiple
            if best.sure < confidence and now.sure > best.sure:
                best = now
        if high - low < 0.02 * high:
            break
    return best


def _next(found: Sequence[_Tried], low: float, high: float, aim: float) -> float:
    """Return the multiple to try, by a line through the last two in normal quantiles."""
    if len(found) == 1:
        return min(max(float(ndtri(0.5 + aim / 2) / np.sqrt(2)), 1.1 * low), high)
    (a, p), (b, q) = ((one.multiple, one.sure) for one in found[-2:])
    za, zb, zt = (float(ndtri(min(max(x, 1e-3), 0.999))) for x in (p, q, aim + CLOSE / 2))
    guess = a + (zt - za) * (b - a) / (zb - za) if zb != za else np.nan
    inside = low + 0.05 * (high - low) < guess < high - 0.05 * (high - low)
    return float(guess) if inside else 0.5 * (low + high)


def _promised(
    sample: Sample,
    families: Sequence[Family],
    rates: np.ndarray,
    error: np.ndarray,
    draws: np.ndarray,
    confidence: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return which rows can be promised anything, (d,) bool, and the people that others need.

    Rates at the centre of the limits have the best chance. Rows of the largest error are given up
    until that is enough.
    """
    d = len(error)
    limited = np.concatenate([family.rows for family in families])
    kept, needed = np.isin(np.arange(d), limited), np.zeros(d)
    families = [family for family in families if family.floor is None]  # floors can be kept away
    if not families:
        return kept, needed
    compared = np.isin(np.arange(d), np.concatenate([family.rows for family in families]))
    people = (sample.observed != 0).sum(0)
    centre = rates
    for family in families:
        centre = family.centre(centre)

    def sure(error: np.ndarray, kept: np.ndarray) -> float:
        judged = [part for family in families if (part := family.only(kept)) is not None]
        if not judged:
            return 1.0
        return float((excess(judged, centre + error * draws, np.zeros(d)) <= 0).mean())

    given_up: list[int] = []
    while (kept & compared).any() and sure(error, kept) < confidence:
        worst = int(np.argmax(np.where(kept & compared, error, -1.0)))
        kept[worst] = False
        given_up.append(worst)
    for family in families:  # one that is left of several has nobody to be compared with
        if family.only(kept) is None:
            given_up += [int(c) for c in family.rows if kept[c]]
            kept[family.rows] = False
    for c in given_up:
        family = next(f for f in families if c in f.rows)
        alone = not kept[family.rows].any()  # then no group of it may have a larger error
        grown = np.isin(np.arange(d), family.rows if alone else [c])
        low, high = 1e-3, 1.0  # of the error that a group may have at most
        for _ in range(20):
            most = np.sqrt(low * high) * error[c]
            less = np.where(grown, np.minimum(error, most), error)
            enough = sure(less, kept | grown) >= confidence
            low, high = (np.sqrt(low * high), high) if enough else (low, np.sqrt(low * high))
        # An error of next to nothing that is still too large: no number of people would do.
        needed[c] = people[c] / low**2 if low > 1e-3 else -1
    return kept, needed
