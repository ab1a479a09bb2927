"""The sentences of docs/benchmarks.md: what the runs say of who is ahead, and of how sure it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np
import pandas as pd
from pages import mean_and_reach, number, standard_error
from scipy import stats

from otfair.auditing._changes import holm

from . import networks as nets
from . import runs as data
from .runs import (
    ACS,
    ADULT,
    BASES,
    BLIND,
    EQUAL,
    EVEN,
    EVEN_CALLED,
    METHODS,
    NOTIONS,
    ODDS,
    PANELS,
    PARITY,
    PEERS,
    SEVERAL,
    SLIGHT,
    SMALL,
    Lead,
    of,
)
from .tables import PUBLISHED, Panels, compared

BLIND_PEERS = [peer for peer in PEERS if not METHODS[peer].attribute]
OURS = [name for name, method in METHODS.items() if method.ours]
LAST = 0.042  # a limit on odds, which was added when results with the others were known
SHORT = {PARITY: "parity", ODDS: "odds", "logistic": "logistic", "boosted": "trees"}


def rule() -> str:
    """Say what the words mean."""
    margin = number(EQUAL, 3)
    return (
        "*Ahead* and *behind*: the 95 % interval over splits leaves out zero. *Level*: it has zero "
        f"in it, and all of it lies between -{margin} and +{margin} of accuracy, or of AUC. "
        "*Undecided*: it has zero in it and is wider, so that these splits do not tell. A lead *on "
        "one split* has no interval, and may be chance."
    )


def everywhere(panels: Panels, ours: str, peer: str) -> str:
    """Say how ours stands to a peer in each panel, panels of one answer together."""
    return data.together({k: data.lead(part, ours, peer).word for k, part in panels.items()})


def also(panels: Panels, ours: str, called: str, peer: str) -> str:
    """Say how another of ours stands to a peer, in the panels of which it was run."""
    ran = {where: part for where, part in panels.items() if data.ran(part, ours)}
    return f"; {called} {everywhere(ran, ours, peer)}" if ran else ""


def usual(part: pd.DataFrame, peer: str) -> str:
    """Return which of ours is to be no worse than a peer without the attribute.

    What takes several rules, or a second training, is for peers that decide by chance; the others
    are to be met by one rule.
    """
    return data.most_of(part, "plain") if METHODS[peer].by_chance else "plain"


def not_below(panels: Panels, ours: Callable[[pd.DataFrame, str], str]) -> int:
    """Return at how many settings of peers without the attribute a row of ours is not below."""
    return sum(
        data.lead(part, ours(part, peer), peer).not_below
        for peer in BLIND_PEERS for part in panels.values()
    )  # fmt: skip


def aim(panels: Panels) -> Iterator[str]:
    """Say at how many settings of peers that do without the attribute ours is not below.

    One rule throughout is counted too, an even chance for odds, and the best of all our rows.
    """
    met, best, total, lower, below, left, used = 0, 0, 0, 0, [], [], set()
    sure = False
    for peer, (where, part) in product(BLIND_PEERS, panels.items()):
        ours = usual(part, peer)
        lead, used = data.lead(part, ours, peer), used | {ours}
        met, lower = met + lead.not_below, lower + lead.missed
        total += len(lead.table) + lead.missed
        worse = lead.table[lead.settings <= -SLIGHT]
        if len(worse):
            most = number(-worse.mean(axis=1).min())
            below.append(
                f"{METHODS[peer].title} at {len(worse)} of {len(lead.table)}, by up to {most} "
                f"({where})"
            )
            sure |= any(data.verdict(row).endswith("behind") for row in worse.to_numpy())
        for gap, found in _best(part, peer, lead):
            best += found > -SLIGHT
            if found <= -SLIGHT:
                left.append(f"{METHODS[peer].title} at a gap of {number(gap, 3)} ({where})")
    yield (
        f"{'Met' if met == total else 'Missed'}: at {met} of {total} settings of theirs the mean "
        f"of ours is not below by more than {number(SLIGHT)}."
    )
    if below:
        rest = "" if sure else " None of these is surely ahead."
        yield f"It is below {', '.join(below)}.{rest}"
    if lower:
        yield f"Gaps of theirs smaller than any of ours: {lower}."
    called = [SEVERAL["plain"][ours] for ours in SEVERAL["plain"] if ours in used]
    one = not_below(panels, lambda part, peer: "plain")
    yield (
        f"Against the peer that decides by chance ours is {' or '.join(called)}; one rule "
        f"throughout is not below at {one} of {total}."
        if called
        else "Ours has one rule throughout, also against the peer that decides by chance."
    )
    if any(data.ran(part, EVEN) for part in panels.values()):
        even = not_below(
            panels, lambda part, peer: EVEN if data.ran(part, EVEN) else usual(part, peer)
        )
        before = {
            where: part[(part["setting"] != LAST) | ~part["method"].isin(OURS)]
            for where, part in panels.items()
        }
        yield (
            f"With an even chance for odds it is not below at {even}. Without our limit of "
            f"{number(LAST, 3)}, which was added last, at {not_below(before, usual)}."
        )
    yield f"The best of our rows at each, which flatters them, is not below at {best} of {total}."
    if left:
        yield f"Left is {', '.join(left)}."


def _best(part: pd.DataFrame, peer: str, lead: Lead) -> Iterator[tuple[float, float]]:
    """Yield the gaps of a peer that count in a lead, and the best lead of all our rows at each."""
    ours = [m for m in BLIND if METHODS[m].ours and data.ran(part, m)]
    found = pd.concat([data.lead(part, m, peer).table.mean(axis=1) for m in ours])
    gaps = data.unbeaten(data.limited(part, peer))["gap"]
    for setting, gap in gaps.items():
        if setting in lead.gaps.index or gap < lead.gaps.min():
            yield gap, found[found.index == setting].max()


def by_chance(drawn: pd.DataFrame) -> str:
    """Say what gaps a rule without any shows among test people."""
    odds = drawn[drawn["notion"] == ODDS].groupby("base", sort=False)[["gap", "high"]].mean()
    said = [
        f"by {title} {number(odds['gap'][base], 3)} on average, and more than "
        f"{number(odds['high'][base], 3)} in one split of twenty"
        for base, title in BASES.items()
    ]
    return (
        "Few women of a test part earn more than 50000 dollars. So a "
        f"rule *without any gap* among all people shows one among these: {'; '.join(said)} "
        "(`benchmarks/chance.py`). Which of two methods has the smaller gap is not told by gaps of "
        "this size."
    )


def attribute_odds(runs: pd.DataFrame) -> str:
    """Say how ours stands for odds on Adult with the attribute, and how low each gap comes."""
    words, said = {}, []
    for base, title in BASES.items():
        part = of(runs, ADULT, base, ODDS)
        ours = data.most_of(part, "attribute")
        for peer in ("error_parity", "thresholds"):
            lead = data.lead(part, ours, peer)
            word = "**theirs reach smaller gaps**" if lead.missed else lead.word
            words[f"{METHODS[peer].title.strip('*')} by {SHORT[base]}"] = word
        gaps = part.groupby(["method", "setting"])["gap"].mean().groupby("method").min()
        names = {ours: "ours", "error_parity": "error-parity", "thresholds": "ThresholdOptimizer"}
        lows = [f"{called} {number(gaps[m], 3)}" for m, called in names.items()]
        said.append(f"by {title} {', '.join(lows)}")
    how = SEVERAL["attribute"].get(ours, "with one rule")
    return (
        f"`FairDecisions` {how}, against peers that decide by chance: {data.together(words)}. "
        f"Smallest gaps: {'; '.join(said)}"
    )


def against_published(runs: pd.DataFrame) -> str:
    """Say at how many of LinearPost's published points, which none of its own beats, ours is."""
    counts = {name: np.zeros(3, dtype=int) for name in PUBLISHED}  # not below, below, not so low
    for base, notion in PANELS:
        part = of(runs, ADULT, base, notion)
        known = data.linear_post_published(base, notion)
        for name in PUBLISHED:
            line = data.curve(part, name)
            found = np.array([data.at(gap, line) for gap in known["gap"]])
            low = np.isnan(found)
            below = found <= known["accuracy"].to_numpy() - SLIGHT
            counts[name] += [(~low & ~below).sum(), below.sum(), low.sum()]
    total = counts[PUBLISHED[0]].sum()
    said = [
        f"{METHODS[name].title}: not below at {one}, below at {two}, does not reach so small a gap "
        f"at {none}"
        for name, (one, two, none) in counts.items()
    ]
    return (
        f"The table has the {total} points that LinearPost's authors published and that none of "
        f"their own beats. Below is what is lower by more than {number(SLIGHT)}. {'. '.join(said)}."
    )


def several(trained: pd.DataFrame, *tables: tuple[Panels, str, Sequence[str]]) -> str:
    """Say how many of the leads' intervals leave out zero, by chance how many, and by Holm's."""
    leads = [("networks", values) for values in nets.every_lead(trained)]
    for panels, ours, peers in tables:
        for title, row in compared(panels, ours, peers):
            leads += [
                (f"{title} ({where})", lead.values)
                for where, lead in zip(panels, row) if lead and len(lead.values) > 1
            ]  # fmt: skip
    reached = sum(abs(mean) > reach for mean, reach in (mean_and_reach(x) for _, x in leads))
    sure = holm(np.array([chance_of(values) for _, values in leads])) < 0.05
    named = [name for (name, _), holds in zip(leads, sure) if holds]
    rest = f"those over {'; '.join(named)}" if named else "none of them"
    return (
        f"Of the {len(leads)} intervals of leads on this page {reached} leave out zero, where "
        f"about {len(leads) / 20:.0f} would by chance. If all are to be right together (Holm's "
        f"method), {rest} {'stay' if len(named) != 1 else 'stays'}."
    )


def chance_of(values: np.ndarray) -> float:
    """Return the p-value of no lead, by the error that intervals have."""
    if not np.any(values):
        return 1.0
    score = abs(np.mean(values)) / max(standard_error(values), 1e-300)
    return float(2 * stats.t.sf(score, len(values) - 1))


def surely_ahead(adult: Panels) -> str:
    """Say which peers without the attribute are surely ahead on Adult."""
    ahead = [
        f"{METHODS[peer].title} ({where})"
        for peer in PEERS if not METHODS[peer].attribute for where, part in adult.items()
        if data.lead(part, "plain", peer).word.endswith("behind")
    ]  # fmt: skip
    who = f"surely ahead of one rule is {', '.join(ahead)}" if ahead else "no peer is surely ahead"
    return f"at the gaps that `FairDecisions` reaches, {who}"


def summary(runs: pd.DataFrame, trained: pd.DataFrame, all_people: pd.DataFrame) -> str:
    """Return where we win and where we lose, in at most ten lines."""
    adult = {f"{SHORT[n]} by {SHORT[b]}": of(runs, ADULT, b, n) for b, n in PANELS}
    acs = {SHORT[n]: of(runs, ACS, "boosted", n) for n in NOTIONS}
    small = {
        f"{title} by {SHORT[b]}": of(runs, name, b, PARITY)
        for name, title in SMALL.items() if title != "German" for b in BASES
    }  # fmt: skip

    def even(peer: str) -> str:
        return also(adult, EVEN, EVEN_CALLED, peer)

    chance = f"with one rule {everywhere(adult, 'plain', 'reduction')}"
    for ours, called in SEVERAL["plain"].items():
        chance += also(adult, ours, called, "reduction")
    lines = {
        "Decisions on Adult, without the sensitive attribute": surely_ahead(adult),
        "Against LinearPost's own code": everywhere(adult, "plain", "linear_post")
        + even("linear_post"),
        "Against OxonFair with inferred groups": everywhere(adult, "plain", "oxonfair")
        + even("oxonfair"),
        "Against ExponentiatedGradient, which decides by chance": chance + even("reduction"),
        "Odds on Adult, with the attribute": attribute_odds(runs),
        "ACSIncome": "`FairDecisions` against boosting with OTF alone "
        f"{everywhere(acs, 'plain', 'otf')}; with the attribute, against error-parity "
        f"{everywhere(acs, 'attribute', 'error_parity')}, against ThresholdOptimizer "
        f"{everywhere(acs, 'attribute', 'thresholds')}",
        "COMPAS and Law, against LinearPost": everywhere(small, "plain", "linear_post"),
        "Training with OTF first, then `FairDecisions`": "against a plain model, on Adult "
        f"{everywhere(adult, 'on_top', 'plain')}; on ACSIncome "
        f"{everywhere(acs, 'on_top', 'plain')}",
        **nets.summary(trained),
        "Our aim, not to be below anybody without the attribute at any gap on Adult": (
            f"{next(aim(adult)).removesuffix('.')} ([more](#our-aim))"
        ),
    }
    return "\n".join(f"- **{where}**: {what}." for where, what in lines.items())


def run(
    runs: pd.DataFrame, trained: pd.DataFrame, all_people: pd.DataFrame, *tables: Panels
) -> str:
    """Say when and of what the runs are, and of how many splits."""
    adult, posts, small = tables
    notions = [
        f"{spans({k: part for k, part in adult.items() if title in k})} ({SHORT[n]})"
        for n, title in NOTIONS.items()
    ]
    frames = (runs, trained, all_people)
    commits, days = (sorted(set().union(*(f[c] for f in frames))) for c in ("commit", "date"))
    return (
        f"Made with `make bench-tables`: {', '.join(days)}, library of commit "
        f"{', '.join(commits)}, one thread. Splits: Adult {' and '.join(notions)}, ACSIncome of "
        f"decisions {spans(posts)}, small tables {spans(small)}, networks "
        f"{trained['seed'].nunique()}, and trained on all people {all_people['seed'].nunique()}."
    )


def spans(panels: Panels) -> str:
    """Say how many splits methods have: the fewest and the most."""
    counts = {
        len(data.seeds(part, method)) for part in panels.values() for method in set(part["method"])
    }
    low, high = min(counts), max(counts)
    return f"{low}" if low == high else f"{low} to {high}"
