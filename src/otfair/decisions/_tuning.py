"""Duals whose rule meets limits for people as observed, not as a model of groups sees them.

Maths: docs/decisions.md, section "Limits on observed rates". The linear program of predicted rates
gives the first rule, with its limits moved by what is observed less what is predicted. From there a
smooth program of observed rates is solved, with decisions ever less smooth; what whole decisions
then differ by moves its limits in turn. Where people may be spread over several rules
(`_mixing.py`), that is done where one rule does not do as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import count, islice

import numpy as np

from otfair.decisions._limits import Family, Inequalities, excess, inequalities
from otfair.decisions._mixing import LEAST, Mix, Mixing
from otfair.decisions._program import decide, project
from otfair.decisions._smooth import PRICE, Sample, polish, smoothed

MANY = 40_000  # people, of more than whom a part finds the first rule
SOME = 20_000  # in such a part, the same number of each group
SHIFTS = 4  # linear programs solved first
MORE_SHIFTS = 8  # solved at most where no rule is found that meets the limits
WIDTHS = (0.1, 0.03, 0.01, 0.003)  # of the boundary, in scores
STEPS = 8  # smooth programs solved at most, after these, for limits that are still missed
FINER = 4  # of them, after which the boundary is three times sharper
MOST = 20_000  # people near the boundary, by whom limits must be met
REACH = 0.1  # of prices tried near the best, in scores
DRAWN, DRAWS = 4e7, (30, 400)  # numbers looked at in all, and rules tried
HELPS = 0.002  # of the gain, that another rule must have more
SHARED = 300  # shares tried near the best mixture, where it misses the limits
TOLERANCE = 1e-9  # by which limits may be missed


@dataclass(frozen=True)
class Rule:
    """Duals, and how those who tuned them fare."""

    duals: np.ndarray  # mu, (d,)
    rates: np.ndarray  # (d,), as observed
    value: float  # mean gain
    excess: float  # by how much limits are missed; at most 0 where they are met
    met: bool  # whether limits are met, as nearly as whole people can
    useful: bool  # whether it gains more than one decision for all
    mix: Mix | None = None  # rules that people are spread over; `duals` are then their mean

    def outcome(self, sample: Sample) -> np.ndarray:
        """Return the decisions about people, 0 or 1, or their scores, (n,)."""
        return sample.outcome(self.duals) if self.mix is None else self.mix.outcome(sample)

    @property
    def strict(self) -> bool:
        """Whether limits are met to the last person."""
        return self.excess <= TOLERANCE

    def worth(self, price: float = 1.0) -> float:
        """Return the gain, less a price for what limits are missed by."""
        return self.value - price * max(self.excess, 0.0)

    def better(self, other: Rule) -> Rule:
        """Return the rule that is worth more if both meet the limits, or else misses them less.

        Rules that gain less than one decision for all are for want of others only.
        """
        if self.useful != other.useful:
            return self if self.useful else other
        if self.met and other.met:
            return self if self.worth(PRICE) > other.worth(PRICE) else other
        return self if self.excess < other.excess else other


def tune(
    sample: Sample, families: Sequence[Family], margin: np.ndarray, start: Rule | None = None
) -> Rule:
    """Return the rule that gains most among those found that meet the limits as observed.

    `margin`, (d,), is kept from every limit. The rule of similar limits saves time.
    """
    zero = np.zeros_like(margin)
    everybody = max(sample.value(np.full(len(sample.gain), d)) for d in (0.0, 1.0))

    def judged(duals: np.ndarray, mix: Mix | None = None) -> Rule:
        outcome = sample.outcome(duals) if mix is None else mix.outcome(sample)
        rates = sample.rates(outcome)
        missed = float(excess(families, rates, margin))
        met = bool(excess(families, rates, margin - sample.grain) <= TOLERANCE)
        value = sample.value(outcome)
        return Rule(duals, rates, value, missed, met, value > everybody, mix)

    def limits(rule: Rule, shift: np.ndarray, drawn: float = 0.0) -> Inequalities:
        """Return the limits for rates that come out higher by `shift`."""
        found = inequalities(families, margin + drawn, rule.rates)
        return replace(found, bound=found.bound - found.rows @ shift)

    rules = [judged(zero)]
    if rules[0].strict:
        return rules[0]
    if start is None and (some := some_people(sample)) is not sample:
        start = tune(some, families, margin)
    programs = _programs(sample, limits, judged, rules[0])

    def narrowed(now: Rule, widths: Sequence[float]) -> Iterator[Rule]:
        """Yield rules from a given one on, for decisions that are ever less smooth."""
        for width in widths:
            now = judged(polish(sample, limits(now, zero), now.duals, width * sample.width))
            yield now

    if start is not None:  # nearly right already
        rules.append(judged(start.duals))
        rules += narrowed(rules[-1], WIDTHS[-1:])
    else:  # the program has few optima that are not the best, but it speaks of predicted rates
        rules += islice(programs, SHIFTS)
        rules += narrowed(max(rules[1:], key=Rule.worth), WIDTHS[1:])
        if not sample.soft:
            rules += narrowed(rules[0], WIDTHS)
    width = WIDTHS[-1] * sample.width
    now, drawn = max(rules[1:], key=Rule.worth), 0.0
    for step in range(STEPS):
        if step and now.strict:  # the first step takes what whole decisions leave of a limit
            break
        if step == FINER:
            width /= 3
        shift = now.rates - smoothed(sample, now.duals, width).rates
        now = judged(polish(sample, limits(now, shift, drawn), now.duals, width))
        rules.append(now)
        drawn += max(now.excess, 0.0) / 2
    if not any(rule.met for rule in rules):
        rules += islice(programs, MORE_SHIFTS)
    best = reduce(lambda best, rule: rule.better(best), rules)
    if start is None and not sample.soft:
        scale = sample.scale * limits(best, zero).limited
        best = _nearby(best, judged, scale, sample.predicted.size)
    if sample.number is None:
        return best
    known = start.mix.duals if start is not None and start.mix is not None else ()
    columns = [*(rule.duals for rule in (*rules, best)), *known]
    spread = _spread(rules[0], Mixing(sample, columns), judged, limits)
    # Several rules are for where they help.
    alike = spread.value <= best.value + HELPS * abs(best.value)
    return best if best.met and alike else spread.better(best)


def _spread(
    rule: Rule,
    mixing: Mixing,
    judged: Callable[[np.ndarray, Mix], Rule],
    limits: Callable[[Rule, np.ndarray, float], Inequalities],
) -> Rule:
    """Return the best rules to spread people over that were found."""
    zero = np.zeros_like(rule.rates)
    mixing.extend(limits(rule, zero, 0.0))
    first, _ = mixing.best(limits(rule, zero, 0.0))
    found: list[Rule] = []
    # The rules of the first mixture alone, whose shares move little; where they can't, all of them.
    for rules in (Mixing(mixing.sample, [*first.duals]), mixing):
        shift, drawn = zero, 0.0
        for step in range(2 * STEPS):
            mix, expected = rules.best(limits(rule, shift, drawn))
            found.append(judged(mix.shares @ mix.duals, mix))
            if found[-1].strict:
                return found[-1]
            # The numbers of a group are not spread as evenly as shares say.
            shift = found[-1].rates - expected
            drawn += max(found[-1].excess, 0.0) / 2 if step >= STEPS else 0.0
        best = reduce(lambda best, new: new.better(best), found)
        if best.met:
            return best
    return _shared(best, judged)


def _shared(best: Rule, judged: Callable[[np.ndarray, Mix], Rule]) -> Rule:
    """Return the best of mixtures with shares near those given, drawn ever nearer unless better.

    Where people are few, or have few numbers, no shift of the limits may tell how shares come out.
    """
    rng, reach = np.random.default_rng(0), REACH
    for _ in range(SHARED):
        if best.met or best.mix is None:
            break
        near = best.mix.shares + reach * rng.standard_normal(len(best.mix.shares))
        shares = np.maximum(near, LEAST) / np.maximum(near, LEAST).sum()
        new = judged(best.duals, Mix(best.mix.duals, shares))
        helps = new.better(best) is new
        best = new if helps else best
        reach = min(1.5 * reach, 0.5) if helps else max(0.95 * reach, 1e-4)
    return best


def _nearby(best: Rule, judged: Callable[[np.ndarray], Rule], scale: np.ndarray, size: int) -> Rule:
    """Return the best of rules with prices near those given, drawn ever nearer unless they help.

    Crowds of people with one margin have no slope, and smooth programs end between them.
    """
    rng, reach = np.random.default_rng(0), REACH
    for _ in range(int(np.clip(DRAWN / size, *DRAWS))):
        new = judged(best.duals + reach * scale * rng.standard_normal(len(scale)))
        # Gains of less are chance.
        more = new.value > best.value + HELPS * abs(best.value)
        helps = new.better(best) is new and (more or not best.met)
        best = new if helps else best
        reach = min(1.5 * reach, 1.0) if helps else max(0.93 * reach, 1e-4)
    return best


def some_people(sample: Sample) -> Sample:
    """Return fewer people of large groups, who weigh more; or all, where that saves little."""
    n = len(sample.gain)
    if n <= MANY:
        return sample
    inside = sample.observed != 0
    each = SOME / inside.shape[1]
    chance = np.where(inside, each / np.maximum(inside.sum(0), 1), 0.0).max(1)  # (n,)
    chance = np.clip(chance, each / n, 1.0)
    if chance.sum() > n / 2:
        return sample
    # One in so many, in an order in which those of a group stand together: no group has too many.
    order = np.random.default_rng(0).permutation(n)
    order = order[np.argsort(chance[order], kind="stable")]
    passed = np.floor(np.cumsum(chance[order]) + 0.5)
    rows = np.sort(order[np.diff(passed, prepend=0.0) > 0])
    some = sample.take(rows)
    return replace(some, weight=some.weight / chance[rows])


def _programs(
    sample: Sample,
    limits: Callable[[Rule, np.ndarray], Inequalities],
    judged: Callable[[np.ndarray], Rule],
    rule: Rule,
) -> Iterator[Rule]:
    """Yield rules of programs whose limits are moved by what is observed less what is predicted."""
    shift, duals = np.zeros_like(rule.rates), None
    for step in count():
        people = (sample.gain, sample.predicted, sample.weight, limits(rule, shift))
        if sample.soft:
            found = project(*people)
        else:
            found = decide(*people, duals, most=MOST if step else None)
        if step and found.missed > TOLERANCE:  # the move asked for what nobody can give
            return
        duals = found.duals
        rule = judged(duals)
        yield rule
        shift = rule.rates - found.rates
