"""A model card in Markdown: what was audited, what was found, what it can't tell, how to repeat it.

Text of users is escaped: it makes no table, link, picture, heading or HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from otfair._io.visible import visible
from otfair.auditing._baseline import COMPLEMENTS
from otfair.auditing._results import RATES, Decisions
from otfair.auditing.report._words import interval, status_sentence, verdict

if TYPE_CHECKING:
    from otfair.auditing._audit import Audit

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#!|~&^$])")
LINK = re.compile(r"(?<=www)\.|:(?=//)", re.IGNORECASE)  # what makes a link of an address
FIRST = re.compile(r"^([-+=]|\d+[.)])")  # what begins a list at the beginning of a line
TOO_FEW = " (too few to say)"
CANNOT = (
    "Whether a difference is justified. It says that groups differ, not why.",
    "Whether the labels are fair themselves, or the people are those whom decisions will be about.",
    "How a group fares inside another one, unless the two were crossed.",
    "Anything sure about small groups.",
    "How the sample was drawn. Intervals speak of chance in who is in it.",
    "Whether decisions are fair at other thresholds.",
)


def escaped(text: object) -> str:
    r"""Return text that Markdown shows as it is, in one line.

    Examples
    --------
    >>> print(escaped("a|b\n<i>"))
    a\|b\\n\<i\>
    """
    out = LINK.sub(r"\\\g<0>", SPECIAL.sub(r"\\\1", visible(str(text)))).replace("@", "&#64;")
    return FIRST.sub(lambda found: f"{found[0][:-1]}\\{found[0][-1]}", out)


def card(audit: Audit, command: str = "") -> str:
    """Return the card of an audit."""
    record = audit.record
    title = f"Fairness of {record.title or record.score}"
    blocks = [f"# {escaped(title)}", _about(audit), _list(_facts(audit))]
    for decisions in audit.decisions:
        blocks += [f"## Decisions by {escaped(decisions.attribute)}", *_decisions(audit, decisions)]
    blocks += ["## Unfairness of scores", _violations(audit)]
    if audit.statuses:
        lines = (escaped(status_sentence(status)) for status in audit.statuses)
        blocks += ["## Limits that were set", _list(lines)]
    if audit.changed is not None:
        blocks += ["## What changed", _list(map(escaped, audit.changed.sentences()))]
    blocks += ["## What it can't tell", _list(CANNOT)]
    blocks += ["## How to repeat it", *_repeat(audit, command)]
    return "\n\n".join(blocks) + "\n"


def _about(audit: Audit) -> str:
    attributes = ", ".join(escaped(d.attribute) for d in audit.decisions)
    record = audit.record
    return (
        f"An audit of {record.rows_used:,} people, scored by {escaped(record.score)}, for "
        f"{attributes}; made with otfair {record.versions['otfair']} on "
        f"{record.made}."
    )


def _facts(audit: Audit) -> Iterator[str]:
    record = audit.record
    lost = "".join(f"; {count:,} left out: {why}" for why, count in record.dropped.items())
    yield escaped(f"Rows: {record.rows_received:,} received, {record.rows_used:,} used{lost}")
    for name, value in record.source.items():
        yield escaped(f"{name}: {value}")
    yield escaped(f"Data checksum: SHA-256 {record.checksum}")
    if record.weight:
        yield escaped(f"Weights: {record.weight}")
    if record.outcome:
        yield escaped(f"Positive outcome: {record.outcome}")
    good = {1: "a positive decision", 0: "a negative decision", None: "not said"}
    yield escaped(f"Favourable to people: {good[record.favourable]}")
    threshold = float(str(record.settings["threshold"]))
    yield escaped(f"A decision is positive where the score is above {threshold:g}")


def _decisions(audit: Audit, decisions: Decisions) -> Iterator[str]:
    rates = [rate for rate in decisions.groups[0].rates if rate not in COMPLEMENTS]
    head = ["group", "people", *(RATES[rate] for rate in rates)]
    rows = []
    for g in decisions.groups:
        name = escaped(g.group.removeprefix(f"{decisions.attribute}=")) + TOO_FEW * g.small
        cells = (interval(g.rates[r]) + "*" * (r in g.unsure and not g.small) for r in rates)
        rows.append([name, f"{g.people:,}", *(cell.replace("*", r"\*") for cell in cells)])
    yield _table(head, rows)
    if any(set(g.unsure) and not g.small for g in decisions.groups):
        yield r"\* too few people tell this rate."
    gap = decisions.gap
    if gap is not None:
        said = {True: ": no more than chance explains", False: ": more than chance explains"}
        what = "favourable" if audit.record.favourable is not None else "positive"
        yield (
            f"Lowest share of {what} decisions: {escaped(gap.worst)} "
            f"({gap.worst_figure.value:.3f}); highest: {escaped(gap.best)} "
            f"({gap.best_figure.value:.3f}). Difference {interval(gap.difference)}"
            f"{'' if gap.by_chance is None else said[gap.by_chance]}."
        )


def _violations(audit: Audit) -> str:
    head = ["attribute", "notion", "violation", "difference of decisions", "ratio", "meaning"]
    rows = []
    for f in audit.findings:
        v = f.violation
        figures = interval(v.value), interval(v.rate_difference), interval(v.rate_ratio, ".2f")
        rows.append([escaped(f.attribute), escaped(f.facts.title), *figures, escaped(verdict(v))])
    return _table(head, rows)


def _repeat(audit: Audit, command: str) -> Iterator[str]:
    record = audit.record
    if command:
        text = visible(command)
        fence = "`" * (max([2, *map(len, re.findall("`+", text))]) + 1)
        yield f"{fence}sh\n{text}\n{fence}"
    given = {k: v for k, v in record.settings.items() if v not in (None, [], "")}
    told = {k: " and ".join(map(str, v)) if isinstance(v, list) else v for k, v in given.items()}
    yield _list(
        [
            escaped(f"Settings: {', '.join(f'{k} = {v}' for k, v in told.items())}"),
            escaped("Versions: " + ", ".join(f"{k} {v}" for k, v in record.versions.items())),
            escaped(f"Seed: {record.settings['random_state']}"),
        ]
    )


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
