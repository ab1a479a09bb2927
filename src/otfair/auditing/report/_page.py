"""The report: words, pairs of people and charts, put together on one page that needs no other."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from inspect import isfunction
from typing import TYPE_CHECKING, Any

from jinja2 import Environment
from markupsafe import Markup

from otfair._io.rendering import templates
from otfair.auditing._results import Finding
from otfair.auditing._violations import MAX_WIDTH
from otfair.auditing.report import _charts, _words
from otfair.auditing.report._answers import answers, favourable_sentence
from otfair.auditing.report._pairs import ALIKE_WITHIN, pairs
from otfair.auditing.report._rates import SHOWN_CURVES, rates_view
from otfair.auditing.report._words import short

if TYPE_CHECKING:
    from otfair.auditing._audit import Audit

OPEN_PAIRS = 2  # shown unfolded
SHOWN_GROUPS = 40  # of the largest, in the chart of a finding


def page(audit: Audit) -> str:
    """Return the whole report."""
    environment = _environment()
    script = "\n".join(map(_source, ("audit.js", "decisions.js")))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    names = dict.fromkeys(finding.attribute for finding in audit.findings)
    return environment.get_template("audit.html").render(
        audit=audit,
        record=audit.record,
        **_first(audit),
        attributes=[_attribute(audit, name) for name in names],
        script=Markup(script),  # ours, not the user's
        script_hash=digest,
        min_people=audit.record.settings["min_people"],
        max_width=MAX_WIDTH,
        pairs=lambda finding: pairs(audit, finding),
        alike_within=ALIKE_WITHIN,
        open_pairs=OPEN_PAIRS,
        shown_groups=SHOWN_GROUPS,
        found=any(finding.cost.exact for finding in audit.findings),
    )


def notebook_cell(audit: Audit) -> str:
    """Return a short form of the report, for the cell of a notebook."""
    template = _environment().get_template("audit_cell.html")
    return template.render(audit=audit, record=audit.record, **_first(audit))


def _first(audit: Audit) -> dict[str, Any]:
    """Return what a reader sees first."""
    return {"answers": answers(audit), "favourable": favourable_sentence(audit)}


def _source(name: str) -> str:
    """Return the text of a script of ours."""
    environment = _environment()
    return environment.loader.get_source(environment, name)[0].strip()  # type: ignore[union-attr]


def _attribute(audit: Audit, name: str) -> dict[str, Any]:
    """Return what the page shows of an attribute: its charts, curves and findings."""
    findings = [finding for finding in audit.findings if finding.attribute == name]
    every = [curve for curve in audit.curves if curve.attribute == name]
    largest = sorted(every, key=lambda curve: -curve.people)[:SHOWN_CURVES]
    curves = [curve for curve in every if curve in largest]
    names = [short(findings[0], curve.group) for curve in curves]
    threshold = float(str(audit.record.settings["threshold"]))
    (decisions,) = (one for one in audit.decisions if one.attribute == name)
    least = int(str(audit.record.settings["min_people"]))
    charts = {"densities": _charts.densities(curves, names, threshold)}
    if audit.people.labels is not None:
        charts["rocs"] = _charts.rocs(curves, names)
        charts["calibrations"] = _charts.calibrations(curves, names)
    return {
        "name": name,
        "decisions": rates_view(decisions, threshold, least),
        "charts": charts,
        "curves": [*zip(curves, names)],
        "hidden": len(every) - len(curves),
        "few": [name for curve, name in zip(curves, names) if not curve.calibration],
        "findings": [(finding, _finding_charts(finding)) for finding in findings],
    }


def _finding_charts(finding: Finding) -> dict[str, Markup]:
    """Return the charts of one notion and attribute."""
    every, cost = finding.violation.groups, finding.cost
    largest = sorted(every, key=lambda g: -g.people)[:SHOWN_GROUPS]
    groups = [g for g in every if g in largest]
    charts = {"groups": _charts.group_dots(groups, [short(finding, g.group) for g in groups])}
    if cost.flows:
        names = {name: short(finding, name) for name in cost.types}
        charts["flows"] = _charts.sankey(cost.flows, names)
    return charts


@cache
def _environment() -> Environment:
    """Return the templates, which escape whatever they are given unless it is ours."""
    environment = templates("otfair.auditing.report")
    environment.filters |= {name: f for name, f in vars(_words).items() if isfunction(f)}
    environment.globals["short"] = short
    return environment
