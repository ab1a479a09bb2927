"""What an audit found, all of it: tables, JSON, and the report."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from otfair._io.files import write_bytes, write_named
from otfair._io.pdf import to_pdf
from otfair._io.rendering import to_json
from otfair.auditing._baseline import FORMAT, Figures, read_baseline
from otfair.auditing._card import card
from otfair.auditing._changes import Changes, compare_figures
from otfair.auditing._features import Features
from otfair.auditing._mlflow import log
from otfair.auditing._reading import AuditData
from otfair.auditing._results import (
    SHOWN_PAIRS,
    Curve,
    Decisions,
    Finding,
    Places,
    Record,
    Status,
    Violation,
)
from otfair.auditing.report._page import notebook_cell, page
from otfair.metrics import Estimate


@dataclass(frozen=True, kw_only=True, repr=False)
class Audit:
    """What `audit` found: tables for people, a page for readers, JSON for programs."""

    findings: tuple[Finding, ...]  #: One for each notion and attribute.
    decisions: tuple[Decisions, ...]  #: How groups are decided, one for each attribute.
    statuses: tuple[Status, ...]  #: How findings stand to the limits that were set.
    curves: tuple[Curve, ...]  #: Score distributions, ROC and calibration of each group.
    record: Record  #: Rows used and dropped, settings, versions, checksum.
    #: The rows that were audited: `scores`, `labels`, `weight`, and `rows`, their row numbers.
    people: AuditData
    #: The columns that distances were taken from, as `table`; None where there were none.
    features: Features | None
    #: Where the rows are in a file; without one they are counted from 0.
    places: Places | None = None
    #: What changed since an earlier audit, for the page and the JSON to tell.
    changed: Changes | None = None

    def __repr__(self) -> str:
        return (
            f"Audit({len(self.findings)} findings, {self.record.rows_used} people, "
            f"worst={self.worst:.4g})"
        )

    @property
    def violations(self) -> tuple[Violation, ...]:
        """The violation of each finding."""
        return tuple(finding.violation for finding in self.findings)

    @property
    def worst(self) -> float:
        """Largest violation of any notion and attribute."""
        return max(violation.value.value for violation in self.violations)

    def summary(self) -> pd.DataFrame:
        """Return one row for each notion and attribute.

        Returns
        -------
        DataFrame
            Intervals are columns that end in ``_low`` and ``_high``. Costs are as in
            `otfair.auditing.Cost`, and missing where there were no features.
        """
        return pd.DataFrame([_row(finding) for finding in self.findings])

    def counterparts(
        self, notion: str | None = None, attribute: str | None = None, top: int = SHOWN_PAIRS
    ) -> pd.DataFrame:
        """Return pairs of people between whom most score moves, features of both side by side.

        Parameters
        ----------
        notion, attribute : str, default=None
            Those of the finding; by default, of the first one that fits.
        top : int, default=40
            How many pairs.

        Returns
        -------
        DataFrame
            One row for each pair, the one that moves most score first.
        """
        for finding in self.findings:
            if notion in (None, finding.notion) and attribute in (None, finding.attribute):
                return _counterparts(self, finding, top)
        found = [(f.notion, f.attribute) for f in self.findings]
        raise ValueError(
            f"no finding is of notion {notion!r} and attribute {attribute!r}; there are {found}."
        )

    def changes(self, baseline: Audit | Figures | str | Path) -> Changes:
        """Compare with an earlier audit of other people, such as last year's.

        A figure changed beyond chance where the intervals of both audits leave less than 5 % for no
        change, by Holm's correction for all figures of its family: those of unfairness, and those
        of groups.

        Parameters
        ----------
        baseline : Audit, str or Path
            The earlier audit, or the file that its `to_json` wrote; or that file as it was read by
            `otfair.auditing.read_baseline`.

        Returns
        -------
        Changes
            Each figure before and after, and what could not be compared.

        Examples
        --------
        >>> import dataclasses, otfair
        >>> def audited(seed, power):
        ...     loans = otfair.make_synthetic(n=800, seed=seed)
        ...     scores, sex = loans.truth.scores**power, loans.sensitive_features["sex"]
        ...     return otfair.audit(scores, sensitive_features=sex)
        >>> last_year, this_year = audited(seed=0, power=1), audited(seed=1, power=2)
        >>> changes = this_year.changes(last_year)
        >>> changes.to_frame()[["group", "figure", "before", "after", "beyond"]].round(2)
                group          figure  before  after  beyond
        0                decision gap    0.30   0.18    True
        1                   score gap    0.22   0.18   False
        2                   violation    0.36   0.32   False
        3    sex=Male      mean score    0.48   0.32    True
        4    sex=Male  selection_rate    0.48   0.27    True
        5  sex=Female      mean score    0.27   0.13    True
        6  sex=Female  selection_rate    0.18   0.09    True
        >>> changes.worse
        ()
        >>> told = dataclasses.replace(this_year, changed=changes)    # its page tells of them
        """
        if isinstance(baseline, Audit):
            baseline = baseline._figures()
        elif not isinstance(baseline, Figures):
            baseline = read_baseline(baseline)
        return compare_figures(baseline, self._figures())

    def _figures(self) -> Figures:
        return read_baseline(json.loads(self.to_json()))

    def to_json(self, path: str | Path | None = None) -> str:
        """Return everything but the people as JSON, and write it to a file if one is named.

        Parameters
        ----------
        path : str or Path, default=None
            The file, replaced as a whole or not at all.

        Returns
        -------
        str
            The JSON.
        """
        findings = []
        for finding in self.findings:
            out = asdict(replace(finding, cost=replace(finding.cost, pairs=None)))
            del out["facts"]  # a class, whose name is there
            if finding.cost.pairs is not None:
                pairs = _counterparts(self, finding, SHOWN_PAIRS)
                out["cost"]["pairs"] = pairs[["giver", "receiver", "mass", "distance"]]
            findings.append(out)
        curves = [asdict(curve) for curve in self.curves]
        found = {
            "format": FORMAT,
            "worst": self.worst,
            "statuses": [asdict(status) for status in self.statuses],
            "decisions": [asdict(one) for one in self.decisions],
            "findings": findings,
            "curves": curves,
        }
        if self.changed is not None:
            found["changes"] = asdict(self.changed) | {"sentences": self.changed.sentences()}
        return write_named(path, to_json(found | {"record": asdict(self.record)}, indent=1))

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the report, one page that needs nothing else, and write it if a file is named.

        Parameters
        ----------
        path : str or Path, default=None
            The file, replaced as a whole or not at all.

        Returns
        -------
        str
            The page.
        """
        return write_named(path, page(self))

    def to_pdf(self, path: str | Path) -> None:
        """Write the report as PDF, which takes a Chromium on the machine.

        Parameters
        ----------
        path : str or Path
            The file, replaced as a whole or not at all.
        """
        write_bytes(Path(path), to_pdf(page(self)))

    def to_card(self, path: str | Path | None = None, command: str = "") -> str:
        """Return a model card in Markdown, and write it if a file is named.

        It says what was audited, how each group is decided, how unfair the scores are, how that
        stands to the limits that were set, what the audit can't tell, and how to repeat it.

        Parameters
        ----------
        path : str or Path, default=None
            The file, replaced as a whole or not at all.
        command : str, default=""
            The command line that made the audit, to be shown.

        Returns
        -------
        str
            The card.
        """
        return write_named(path, card(self, command))

    def log_mlflow(self, *, run_id: str | None = None, prefix: str = "") -> str:
        """Log figures as metrics, settings as parameters, and page and JSON as artifacts to MLflow.

        Metrics have plain names, such as ``sex.demographic_parity.violation`` or
        ``sex.Female.selection_rate``, and the ends of their intervals ``.low`` and ``.high`` behind
        these. It needs MLflow, which the extra ``mlflow`` installs.

        Parameters
        ----------
        run_id : str, default=None
            The run to log to; by default the active one, or a new one where none is.
        prefix : str, default=""
            Put before all names, such as ``"test/"``, for a second audit in one run.

        Returns
        -------
        str
            The id of the run.
        """
        return log(self, run_id, prefix)

    def _repr_html_(self) -> str:
        return notebook_cell(self)


def _row(finding: Finding) -> dict[str, object]:
    """Return a finding as one row of the summary."""
    v, cost = finding.violation, finding.cost
    row: dict[str, object] = {"notion": finding.notion, "attribute": finding.attribute}
    figures = {
        "violation": v.value, "mean_difference": v.mean_difference, "mean_ratio": v.mean_ratio,
        "rate_difference": v.rate_difference, "rate_ratio": v.rate_ratio,
        "otf_cost": cost.exact, "least_moved": cost.least_moved,
        "neighbour_gap": None if finding.alike is None else finding.alike.gap,
    }  # fmt: skip
    for name, figure in figures.items():
        e = figure or Estimate(np.nan, np.nan, np.nan)
        row |= {name: e.value, f"{name}_low": e.low, f"{name}_high": e.high}
    low, high = cost.sampling or (np.nan, np.nan)
    bound = cost.exact.value if cost.bounded and cost.exact else None
    bound = cost.with_bound.value if cost.with_bound else bound
    others = {
        "chance": v.chance, "otf_bounded": bound, "otf_gap": cost.gap, "otf_smooth": cost.smooth,
        "moved": cost.moved, "distance": cost.distance, "sampling_low": low, "sampling_high": high,
    }  # fmt: skip
    row |= {name: np.nan if value is None else value for name, value in others.items()}
    small = [g.whole for g in v.groups if g.small]
    return row | {"worst": v.worst, "small_groups": ", ".join(small)}


def _counterparts(audit: Audit, finding: Finding, top: int) -> pd.DataFrame:
    pairs = finding.cost.pairs
    if pairs is None or audit.features is None:
        raise ValueError("there are no counterparts without features; pass `X` to `audit`.")
    if top > len(pairs.mass) and len(pairs) > len(pairs.mass):
        raise ValueError(
            f"an audit on Dask keeps the first {SHOWN_PAIRS} pairs of a finding; received "
            f"`top={top}`. Audit a sample on one machine for more."
        )
    columns = {"mass": pairs.mass[:top], "distance": pairs.distance[:top]}
    features: list[pd.DataFrame] = []
    for side in ("giver", "receiver"):
        who, types = getattr(pairs, side)[:top], getattr(pairs, f"{side}_type")[:top]
        columns[side] = audit.people.rows[who]
        columns[f"{side}_type"] = np.array(finding.cost.types, dtype=object)[types]
        columns[f"{side}_score"] = audit.people.scores[who]
        table = audit.features.table.iloc[who]
        features.append(table.reset_index(drop=True).add_prefix(f"{side}: "))
    return pd.concat([pd.DataFrame(columns), *features], axis=1)
