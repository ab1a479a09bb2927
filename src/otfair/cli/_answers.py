"""The first lines of what `otfair audit` prints: who is worse off, and how groups are decided."""

from __future__ import annotations

import pandas as pd

from otfair._io.visible import visible
from otfair.auditing import (
    Audit,
    Decisions,
    Estimate,
    answers,
    called,
    favourable_sentence,
    sort_statuses,
    status_sentence,
)
from otfair.cli._output import text_table

SHOWN = {  # rates that are printed, and what to call them
    "selection_rate": "selection rate",
    "true_positive_rate": "true pos. rate",
    "false_positive_rate": "false pos. rate",
    "precision": "precision",
}


def first_lines(audit: Audit) -> list[str]:
    """Return the sentences of the report's first screen, and how limits are kept."""
    said = [favourable_sentence(audit)]
    for answer in answers(audit):
        said += ["", answer.title, *(f"  {text}" for text in answer.sentences)]
    if audit.statuses:
        said += ["", *map(status_sentence, sort_statuses(audit.statuses))]
    return [visible(line) for line in said]  # names may hold ends of lines


def decision_tables(audit: Audit) -> list[str]:
    """Return a table of each attribute's decisions at the threshold."""
    said: list[str] = []
    for decisions in audit.decisions:
        said += ["", text_table(_table(decisions))]
    if any(group.unsure for decisions in audit.decisions for group in decisions.groups):
        said.append("?: rough, as too few people tell it")
    return said


def _table(decisions: Decisions) -> pd.DataFrame:
    """Return one row for each group, all cells as text."""
    rows = []
    for g in decisions.groups:
        row: dict[str, object] = {"group": called(decisions.attribute, g.group), "people": g.people}
        for rate, title in SHOWN.items():
            if rate in g.rates:
                row[title] = _with_ends(g.rates[rate], rate in g.unsure)
        rows.append(row)
    return pd.DataFrame(rows)


def _with_ends(e: Estimate, unsure: bool) -> str:
    """Write a rate with its interval, and a question mark where too few people tell it."""
    if e.value != e.value:
        return "-"
    ends = f" ({e.low:.3f} to {e.high:.3f})" if e.low == e.low else ""
    return f"{e.value:.3f}{'?' * unsure}{ends}"
