"""The report: what was found, in words, tables and pictures, on one page that needs no other."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jinja2 import Environment
from markupsafe import Markup

from otfair._io.rendering import templates
from otfair.auditing._features import is_number
from otfair.auditing._groups import FEW, WIDE
from otfair.auditing._results import Cost, Curve, Estimate, Finding, Group, Violation, number_text
from otfair.auditing._solving import TOLL
from otfair.auditing.report._drawing import calibrations, densities, dots, percent, rocs, sankey

if TYPE_CHECKING:
    from otfair.auditing._audit import Audit

SHOWN_PAIRS = 40
OPEN_PAIRS = 2  # shown unfolded
SHOWN_CURVES = 8  # of the largest groups, as many as colours can tell apart
SHOWN_DOTS = 40  # of the largest groups
SHOWN_FEATURES = 30  # of a pair, those that differ first
LONGEST = 80  # letters of a value
TINY = 1e-4  # a cost of which figures tell readers nothing
NEAR = 0.25  # standard deviations: numbers closer than this are called alike


@dataclass(frozen=True)
class Pair:
    """One giver and one receiver, side by side."""

    number: int
    giver: str
    receiver: str
    giver_row: str
    receiver_row: str
    giver_score: float
    receiver_score: float
    mass: float
    distance: float
    features: list[tuple[str, str, str, bool]]  # name, giver's, receiver's, whether they differ
    hidden: int  # features not shown
    unlike: int  # of these, how many differ

    @property
    def differs(self) -> str:
        """The features that differ, in words."""
        names = [name for name, _, _, differs in self.features if differs]
        little = f"nothing by more than {NEAR} standard deviations" if self.distance else "nothing"
        names += [f"{self.unlike} more features"] * (self.unlike > 0)
        return ", ".join(names) or little


def page(audit: Audit) -> str:
    """Return the whole report."""
    environment = _environment()
    script = environment.loader.get_source(environment, "audit.js")[0].strip()  # type: ignore[union-attr]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return environment.get_template("audit.html").render(
        audit=audit,
        record=audit.record,
        attributes=_attributes(audit),
        script=Markup(script),  # ours, not the user's
        script_hash=digest,
        few=FEW,
        wide=WIDE,
        pairs=lambda finding: pairs(audit, finding),
        near=NEAR,
        found=any(finding.cost.exact for finding in audit.findings),
    )


def cell(audit: Audit) -> str:
    """Return a short form of the report, for the cell of a notebook."""
    return _environment().get_template("audit_cell.html").render(audit=audit, record=audit.record)


def sentence(cost: Cost) -> str:
    """Say what the cost means."""
    if cost.exact is None or cost.moved is None or cost.distance is None:
        return f"To be fair, at least {percent(cost.least_moved.value)} of all score must move."
    if cost.moved == 0:
        return "The scores are fair as they are: no score must move."
    far = f"{cost.distance:.2f}" if cost.distance >= 0.005 else "less than 0.01"
    far = f"about {far}" if cost.sampling and cost.distance >= 0.005 else far
    return (
        f"To be fair in the cheapest way, {percent(cost.moved)} of all score must move, over {far} "
        "of the typical distance between two people."
    )


def verdict(violation: Violation) -> str:
    """Say whether a violation is more than chance."""
    value, chance = violation.value.value, violation.chance
    if chance != chance:
        return "what chance explains was not measured"
    if value <= chance:
        return f"no more than chance explains ({chance:.3f})"
    few = [g for g in violation.groups if g.small and violation.worst in (g.group, g.whole)]
    unsure = f", but {violation.worst} has too few people to say" if few else ""
    return f"more than chance explains ({chance:.3f}){unsure}"


def ends(finding: Finding) -> str:
    """Say who has the lowest and who the highest mean score, where they are furthest apart."""
    strata: dict[str, list[Group]] = {}
    for group in finding.violation.groups:
        strata.setdefault(group.stratum, []).append(group)
    pairs = [
        tuple(pick(groups, key=lambda g: g.mean_score.value) for pick in (min, max))
        for groups in strata.values()
    ]
    low, high = max(pairs, key=lambda pair: pair[1].mean_score.value - pair[0].mean_score.value)
    of = f" of people with {low.stratum}" if low.stratum else ""
    said = [
        f"{g.mean_score.value:.3f} ({short(finding, g.group)}{', too few to say' * g.small})"
        for g in (low, high)
    ]
    return f"Mean scores{of} go from {said[0]} to {said[1]}."


def pairs(audit: Audit, finding: Finding) -> list[Pair]:
    """Return the pairs between whom most score moves, with their features."""
    found, features = finding.cost.pairs, audit.features
    if found is None or features is None:
        return []
    table, h = features.table, audit.people.scores
    some = slice(0, SHOWN_PAIRS)
    people = np.unique(np.concatenate([found.giver[some], found.receiver[some]]))
    small = table.iloc[people]
    where = {int(person): k for k, person in enumerate(people)}
    columns = [(str(name), small[name], _unit(table[name])) for name in table.columns]
    out = []
    for k in range(min(len(found), SHOWN_PAIRS)):
        i, j = int(found.giver[k]), int(found.receiver[k])
        rows_of = [
            (name, *_values(column.iloc[where[i]], column.iloc[where[j]], unit))
            for name, column, unit in columns
        ]
        rows_of.sort(key=lambda row: not row[3])
        out.append(
            Pair(
                number=k + 1,
                giver=short(finding, finding.cost.types[found.giver_type[k]]),
                receiver=short(finding, finding.cost.types[found.receiver_type[k]]),
                giver_row=_row(audit, i),
                receiver_row=_row(audit, j),
                giver_score=float(h[i]),
                receiver_score=float(h[j]),
                mass=float(found.mass[k]),
                distance=float(found.distance[k]),
                features=rows_of[:SHOWN_FEATURES],
                hidden=len(rows_of[SHOWN_FEATURES:]),
                unlike=sum(row[3] for row in rows_of[SHOWN_FEATURES:]),
            )
        )
    return out


def _row(audit: Audit, person: int) -> str:
    """Say where a person is in the user's table, and what columns that name people call them."""
    row, given, places = int(audit.people.rows[person]), audit.people.features, audit.places
    said = [f"row {row}" if places is None else f"{places.what} {places.numbers[row]}"]
    for name, why in audit.record.columns_left_out.items():
        if "looks like an identifier" in why and given is not None:
            said.append(f"{name} {given[name].iloc[person]}")
    return brief(", ".join(said))


def _unit(column: pd.Series[Any]) -> float | None:
    """Return the spread of a number; None for a category."""
    if not is_number(column):
        return None
    return float(np.nanstd(column.to_numpy(np.float64, na_value=np.nan)))


def _values(a: Any, b: Any, unit: float | None) -> tuple[str, str, bool]:
    """Return two values as text, and whether they differ."""
    gaps = bool(pd.isna(a)), bool(pd.isna(b))
    if any(gaps) or unit is None:
        texts = ["missing" if gap else str(v) for v, gap in zip((a, b), gaps)]
        return brief(texts[0]), brief(texts[1]), texts[0] != texts[1]
    return number_text(a), number_text(b), abs(float(a) - float(b)) > NEAR * unit


def brief(text: str) -> str:
    """Cut text that is too long for a table."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def short(finding: Finding, name: str) -> str:
    """Leave the attribute's own name out of the name of a group or type."""
    return name.removeprefix(f"{finding.attribute}=")


def _attributes(audit: Audit) -> list[dict[str, Any]]:
    """Return what the page shows of each attribute: pictures, curves, findings."""
    out = []
    for name in dict.fromkeys(finding.attribute for finding in audit.findings):
        findings = [finding for finding in audit.findings if finding.attribute == name]
        every = [curve for curve in audit.curves if curve.attribute == name]
        largest = sorted(every, key=lambda curve: -curve.people)[:SHOWN_CURVES]
        curves = [curve for curve in every if curve in largest]
        names = [short(findings[0], curve.group) for curve in curves]
        out.append(
            {
                "name": name,
                "findings": findings,
                "curves": [*zip(curves, names)],
                "hidden": len(every) - len(curves),
                "few": [name for curve, name in zip(curves, names) if not curve.calibration],
                **_pictures(curves, names, audit),
            }
        )
    return out


def _pictures(curves: list[Curve], names: list[str], audit: Audit) -> dict[str, Markup]:
    threshold = float(str(audit.record.settings["threshold"]))
    out = {"densities": densities(curves, names, threshold)}
    if audit.people.labels is not None:
        out |= {"rocs": rocs(curves, names), "calibrations": calibrations(curves, names)}
    return out


def _dots(finding: Finding) -> Markup:
    every = finding.violation.groups
    largest = sorted(every, key=lambda g: -g.people)[:SHOWN_DOTS]
    groups = [g for g in every if g in largest]
    return dots(groups, [short(finding, g.group) for g in groups])


def _sankey(finding: Finding) -> Markup:
    return sankey(finding.cost.flows, {name: short(finding, name) for name in finding.cost.types})


def decimal(value: float) -> str:
    """Write a cost in three digits, without powers of ten; less than the toll is nothing."""
    if abs(value) < TOLL:
        return "0"
    return "< 0.0001" if abs(value) < TINY else f"{value:.3g}"


def _number(value: float, form: str) -> str:
    return decimal(value) if form == ".3g" else f"{value:{form}}"


def _interval(e: Estimate | None, form: str = ".3f") -> str:
    if e is None:
        return "–"
    value, low, high = (_number(x, form) for x in (e.value, e.low, e.high))
    return value if e.low != e.low else f"{value} ({low} to {high})"


def _cell(e: Estimate | None, form: str = ".3f") -> Markup | str:
    if e is None or e.low != e.low:
        return _interval(e, form)
    value, low, high = (_number(x, form) for x in (e.value, e.low, e.high))
    return Markup('{} <span class="ci">{} to {}</span>').format(value, low, high)


def _percents(e: Estimate | None) -> str:
    if e is None:
        return "–"
    if e.low != e.low:
        return percent(e.value)
    return f"{percent(e.value)} ({100 * e.low:.1f} to {100 * e.high:.1f} %)"


def _share(e: Estimate) -> Markup:
    ends = f"{100 * e.low:.1f} to {100 * e.high:.1f} %"
    return Markup('{} <span class="ci">{}</span>').format(percent(e.value), ends)


def _certificate(gap: float) -> str:
    if gap < TOLL:
        return "optimal: its duality gap is below 0.000001"
    return f"no plan is cheaper by more than {gap:.1e} (duality gap)"


def _title(finding: Finding) -> str:
    """Return what a finding's notion is called, as the beginning of a sentence."""
    return finding.facts.title[:1].upper() + finding.facts.title[1:]


@cache
def _environment() -> Environment:
    """Return the templates, which escape whatever they are given unless it is ours."""
    environment = templates("otfair.auditing.report")
    environment.filters |= {
        "interval": _interval, "percent": percent, "percents": _percents, "named": _title,
        "sentence": sentence, "verdict": verdict,
        "cell": _cell, "share": _share, "certificate": _certificate, "dots": _dots,
        "decimal": decimal, "sankey": _sankey, "ends": ends, "brief": brief,
    }  # fmt: skip
    environment.globals |= {"short": short, "open_pairs": OPEN_PAIRS, "dots": SHOWN_DOTS}
    return environment
