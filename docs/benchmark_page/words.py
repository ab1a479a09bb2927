"""The sentences of docs/benchmarks.md: what the runs say of who is ahead, and of how sure it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pandas as pd
from pages import mean_and_reach, number

from . import networks as nets
from . import runs as data
from .runs import (
    ACS,
    ADULT,
    BASES,
    BLIND,
    EQUAL,
    EVEN,
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


def aim(panels: Panels) -> Iterator[str]:
    """Say at how many settings of peers that do without the attribute ours is not below.

    Odds are kept with an even chance. What takes several rules, or a second training, is for peers
    that decide by chance; the others are to be met by one rule. One rule that just keeps its limits
    is counted too, and the best of all our rows.
    """
    blind = [peer for peer in PEERS if not METHODS[peer].attribute]
    met, one, best, total, lower, below, left, used = 0, 0, 0, 0, 0, [], [], set()
    sure = False
    for peer, (where, part) in product(blind, panels.items()):
        plain = data.lead(part, "plain", peer)
        ours = data.best_against(part, peer)
        lead, used = data.lead(part, ours, peer), used | {ours}
        met, one, lower = met + lead.not_below, one + plain.not_below, lower + lead.missed
        total += len(lead.table) + lead.missed
        behind = len(lead.table) - lead.not_below
        if behind:
            most = number(-lead.settings.min())
            below.append(
                f"{METHODS[peer].title} at {behind} of {len(lead.table)}, by up to {most} ({where})"
            )
            sure |= lead.word.endswith("behind")
        for gap, found in _best(part, peer, lead):
            best += found > -SLIGHT
            if found <= -SLIGHT:
                left.append(f"{METHODS[peer].title} at a gap of {number(gap, 3)} ({where})")
    called = [SEVERAL["plain"][ours] for ours in SEVERAL["plain"] if ours in used]
    yield (
        f"{'Met' if met == total else 'Missed'}: at {met} of {total} settings of theirs the mean "
        f"of ours is not below by more than {number(SLIGHT)}."
    )
    if below:
        yield f"It is below {', '.join(below)}." + (
            "" if sure else " None of these is surely ahead."
        )
    if lower:
        yield f"Gaps of theirs smaller than any of ours: {lower}."
    if used & set(EVEN):
        yield "For odds ours keeps its limits with an even chance (`confidence=0.5`)."
    yield (
        f"Against the peer that decides by chance ours is {' or '.join(called)}; one rule "
        f"throughout is not below at {one} of {total}."
        if called
        else "Ours has one rule throughout, also against the peer that decides by chance."
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
            word = "**behind**, as theirs reach smaller gaps" if lead.missed else lead.word
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
    """Say how many of the leads' intervals leave out zero, and how many would by chance."""
    leads = nets.every_lead(trained)
    for panels, ours, peers in tables:
        found = [lead for _, row in compared(panels, ours, peers) for lead in row if lead]
        leads += [lead.values for lead in found if len(lead.values) > 1]
    reached = [abs(mean) > reach for mean, reach in map(mean_and_reach, leads)]
    return (
        f"Of the {len(reached)} intervals of leads on this page {sum(reached)} leave out zero, "
        f"where about {len(reached) / 20:.0f} would by chance: no single lead is proof."
    )


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
        return "".join(also(adult, ours, called, peer) for ours, called in EVEN.items())

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
    adult, posts, small = (spans(parts) for parts in tables)
    frames = (runs, trained, all_people)
    commits, days = (sorted(set().union(*(f[c] for f in frames))) for c in ("commit", "date"))
    return (
        f"Made with `make bench-tables`: {', '.join(days)}, library of commit "
        f"{', '.join(commits)}, one thread. Splits: Adult {adult}, ACSIncome of decisions {posts}, "
        f"small tables {small}, networks {trained['seed'].nunique()}, and trained on all people "
        f"{all_people['seed'].nunique()}."
    )


def spans(panels: Panels) -> str:
    """Say how many splits methods have: the fewest and the most."""
    counts = {
        len(data.seeds(part, method)) for part in panels.values() for method in set(part["method"])
    }
    low, high = min(counts), max(counts)
    return f"{low}" if low == high else f"{low} to {high}"
