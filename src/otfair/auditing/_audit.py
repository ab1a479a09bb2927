"""An audit of scores: everything there is to say about each notion and attribute."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from otfair._io.arrays import Array
from otfair._io.files import write_bytes
from otfair._io.progress import track
from otfair._io.rendering import to_json
from otfair.auditing._curves import curves
from otfair.auditing._features import Features, choose_columns, read_features
from otfair.auditing._groups import compare, judge, read_notions
from otfair.auditing._reading import Audited, read
from otfair.auditing._regions import regions
from otfair.auditing._resampling import draw
from otfair.auditing._results import (
    SHOWN_PAIRS,
    Cost,
    Curve,
    Estimate,
    Finding,
    Places,
    Record,
    Violation,
)
from otfair.auditing.costs import Distances, cost_of_fairness
from otfair.auditing.report._page import notebook_cell, page
from otfair.notions import Notion
from otfair.tables import Columns, as_columns, same_people

LIBRARIES = ("numpy", "scipy", "torch", "pandas", "scikit-learn")
FOR_DISTANCES = 0.6  # of the time budget; the rest is for checking, solving and resampling


@dataclass(frozen=True, kw_only=True, repr=False)
class Audit:
    """What `audit` found: tables for people, a page for readers, JSON for programs.

    Attributes
    ----------
    findings : one for each notion and attribute.
    curves : score distributions, ROC and calibration of each group.
    record : rows used and dropped, settings, versions, checksum.
    places : where the user's rows are in a file; without one they are counted from 0.
    """

    findings: tuple[Finding, ...]
    curves: tuple[Curve, ...]
    record: Record
    people: Audited
    features: Features | None
    places: Places | None = None

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
        """One row for each notion and attribute; intervals are columns that end in low and high.

        Costs are shares of what it costs to move all score over the typical distance between two
        people; they are missing where there were no features.
        """
        return pd.DataFrame([_row(finding) for finding in self.findings])

    def counterparts(
        self, notion: str | None = None, attribute: str | None = None, top: int = SHOWN_PAIRS
    ) -> pd.DataFrame:
        """Pairs of people between whom most score moves, features of both side by side.

        Parameters
        ----------
        notion, attribute : which finding; by default the first that fits.
        top : how many pairs.
        """
        for finding in self.findings:
            if notion in (None, finding.notion) and attribute in (None, finding.attribute):
                return _counterparts(self, finding, top)
        found = [(f.notion, f.attribute) for f in self.findings]
        raise ValueError(
            f"no finding is of notion {notion!r} and attribute {attribute!r}; there are {found}."
        )

    def to_json(self, path: str | Path | None = None) -> str:
        """Return everything but the people as JSON, and write it to a file if one is named."""
        text = to_json(_plain(self), indent=1)
        if path is not None:
            _write(Path(path), text)
        return text

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the report, one page that needs nothing else, and write it if a file is named.

        A file is replaced as a whole or not at all.
        """
        text = page(self)
        if path is not None:
            _write(Path(path), text)
        return text

    def _repr_html_(self) -> str:
        return notebook_cell(self)


def audit(
    scores: Array,
    X: Array = None,
    *,
    sensitive_features: Array,
    labels: Array = None,
    notions: Sequence[str | Notion] | str | Notion | None = None,
    threshold: float = 0.5,
    sample_weight: Array = None,
    continuous: Columns = (),
    categorical: Columns = (),
    positive_label: object = None,
    drop: Iterable[str] = (),
    keep: Iterable[str] = (),
    control_features: Array = None,
    skip_unscored: bool = False,
    epsilon: float = 1e-3,
    n_bootstrap: int = 200,
    random_state: int = 0,
    time_budget: float = 300.0,
    reference: int | None = None,
    title: str = "",
    verbose: bool = False,
) -> Audit:
    """Audit scores, whatever model made them: how unfair they are, to whom, and what it would take.

    Parameters
    ----------
    scores : (n,) scores in [0, 1], or decisions as 0 and 1.
    X : features that say who is like whom: a table of mixed columns, or an array. Columns that look
        like identifiers are left out, as are copies of what is sensitive, of the labels and of the
        scores. Without `X`, or where no column is left, distances are ignored.
    sensitive_features : one or many columns, each audited by itself.
    labels : (n,) outcomes, with two values.
    notions : names or notions; by default demographic parity and, with labels, equalized odds. One
        that is `intersectional` has its groups crossed into one attribute, and is audited by it.
    threshold : a score above it is a positive decision.
    sample_weight : (n,), a person of weight w counts as w copies.
    continuous, categorical : sensitive columns to be read as numbers, or as groups, beside those
        that a notion names.
    positive_label : which label is positive, where its name does not tell.
    drop : columns of `X` to leave out.
    keep : columns of `X` to use even if they look like identifiers, or like copies.
    control_features : one or many columns within whose values people are compared too, by
        conditional parity; numbers in quarters.
    skip_unscored : leave people without a score out, and count them, where it is an error else.
    epsilon : smoothing of the smooth cost, in units of the typical distance.
    n_bootstrap : resamples of people for the intervals.
    random_state : seed of resamples and reference samples.
    time_budget : seconds; where distances between everybody would take longer, score may go to a
        reference sample only, and the result says what this adds to the cost.
    reference : size of that sample, to have the same one on every machine.
    title : of the report, such as what was scored, by which model and when.
    verbose : show progress on stderr.

    Examples
    --------
    >>> import otfair
    >>> data = otfair.load_dataset("synthetic", n=500)
    >>> sex = data.sensitive_features["sex"]
    >>> found = otfair.audit(data.truth.scores, data.X, sensitive_features=sex, labels=data.y)
    >>> found.summary()[["notion", "attribute", "violation", "moved", "distance"]].round(2)
                   notion attribute  violation  moved  distance
    0  demographic_parity       sex       0.35   0.13      0.30
    1      equalized_odds       sex       0.33   0.09      0.27
    """
    started = time.perf_counter()
    _check_settings(threshold, epsilon, n_bootstrap, random_state, time_budget, reference)
    settings: dict[str, object] = {
        "threshold": float(threshold), "epsilon": float(epsilon), "n_bootstrap": int(n_bootstrap),
        "random_state": int(random_state), "time_budget": float(time_budget),
        "reference": None if reference is None else int(reference),
        "skip_unscored": bool(skip_unscored),
    }  # fmt: skip
    same_people(
        {
            "scores": scores, "X": X, "sensitive_features": sensitive_features, "labels": labels,
            "sample_weight": sample_weight, "control_features": control_features,
        }
    )  # fmt: skip
    asked = read_notions(notions, labels is not None)
    people = read(
        scores, X, sensitive_features, labels, sample_weight,
        continuous=_all_names(continuous, *(notion.continuous for notion in asked)),
        categorical=_all_names(categorical, *(notion.categorical for notion in asked)),
        positive_label=positive_label,
        control_features=control_features, skip_unscored=skip_unscored,
    )  # fmt: skip
    compared = compare(people, asked)
    choice = choose_columns(people, drop, keep)
    features = read_features(choice, people.weight)
    n = len(people)
    with track(None, "audit", 2 * len(compared) + 1, verbose=verbose, leave=False) as bar:
        distances = Distances(
            people, features, compared,
            epsilon=epsilon, seed=random_state, reference=reference,
            seconds=FOR_DISTANCES * time_budget,
        )  # fmt: skip
        bar.update()
        counts = draw(n, n_bootstrap, random_state)
        findings = []
        for c in compared:
            violation = judge(people, c, threshold, counts)
            bar.update()
            cost = cost_of_fairness(people, c, distances.of(c), counts)
            found = regions(people, features, cost.pairs) if features and cost.pairs else ()
            findings.append(
                Finding(
                    notion=c.notion.name,
                    facts=c.notion,
                    attribute=c.attribute,
                    violation=violation,
                    cost=cost,
                    regions=found,
                )
            )
            bar.update()
    shown = {c.attribute: c.groups for c in compared}
    record = Record(
        title=title,
        score=people.score,
        weight=people.weighted,
        rows_received=people.received,
        rows_used=n,
        dropped=people.dropped,
        outcome=people.outcomes[1],
        columns_used=() if features is None else tuple(map(str, features.table.columns)),
        columns_left_out=choice.left_out,
        notes=(*choice.notes, *(_failure(f) for f in findings if f.cost.failure)),
        missing={} if features is None else features.missing,
        settings=settings
        | {"notions": sorted({c.notion.name for c in compared})}
        | {"control": [str(c.name) for c in people.controls]}
        | {"continuous": [str(c.name) for c in people.columns if c.values.dtype.kind == "f"]},
        versions={name: version(name) for name in ("otfair", *LIBRARIES)}
        | {"python": platform.python_version()},
        checksum=people.checksum,
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        seconds=time.perf_counter() - started,
    )
    return Audit(
        findings=tuple(findings),
        curves=tuple(curve for groups in shown.values() for curve in curves(people, groups)),
        record=record,
        people=people,
        features=features,
    )


def _failure(finding: Finding) -> str:
    return f"{finding.attribute}, {finding.notion}: {finding.cost.failure}"


def _all_names(*chosen: Columns) -> list[str | int]:
    """Return the columns that any of several settings names."""
    return [name for one in chosen for name in as_columns(one)]


def _write(path: Path, text: str) -> None:
    """Write a file as a whole; an error names it, not what it is written as."""
    try:
        write_bytes(path, text.encode())
    except OSError as error:
        if error.filename is not None:
            error.filename = str(path)
        raise


def _check_settings(
    threshold: float, epsilon: float, n_bootstrap: int, random_state: int, time_budget: float,
    reference: int | None,
) -> None:  # fmt: skip
    if not math.isfinite(threshold) or not 0 <= threshold <= 1:
        raise ValueError(f"`threshold` must lie in [0, 1]; received {threshold!r}.")
    if not 0 < epsilon < math.inf:
        raise ValueError(f"`epsilon` must be positive and finite; received {epsilon!r}.")
    if n_bootstrap < 0:
        raise ValueError(f"`n_bootstrap` must not be negative; received {n_bootstrap!r}.")
    if not isinstance(random_state, (int, np.integer)) or random_state < 0:
        raise ValueError(
            f"`random_state` (on the command line, `--seed`) must be a whole number from 0 on, so "
            f"that the audit can be repeated; received {random_state!r}. Pass one, such as 0."
        )
    if not time_budget > 0:
        raise ValueError(f"`time_budget` must be positive, in seconds; received {time_budget!r}.")
    if reference is not None and reference < 1:
        raise ValueError(f"`reference` must be at least one person; received {reference!r}.")


def _row(finding: Finding) -> dict[str, object]:
    """Return a finding as one row of the summary."""
    v, cost = finding.violation, finding.cost
    row: dict[str, object] = {"notion": finding.notion, "attribute": finding.attribute}
    figures: dict[str, Estimate | None] = {
        "violation": v.value,
        "mean_difference": v.mean_difference,
        "mean_ratio": v.mean_ratio,
        "rate_difference": v.rate_difference,
        "rate_ratio": v.rate_ratio,
        "otf_cost": cost.exact,
        "least_moved": cost.least_moved,
    }
    for name, figure in figures.items():
        ends = (np.nan,) * 3 if figure is None else (figure.value, figure.low, figure.high)
        row |= dict(zip((name, f"{name}_low", f"{name}_high"), ends))
    low, high = cost.sampling or (np.nan, np.nan)
    others = {
        "chance": v.chance, "otf_gap": cost.gap, "otf_smooth": cost.smooth, "moved": cost.moved,
        "distance": cost.distance, "sampling_low": low, "sampling_high": high,
    }  # fmt: skip
    row |= {name: np.nan if value is None else value for name, value in others.items()}
    small = [g.whole for g in v.groups if g.small]
    return row | {"worst": v.worst, "small_groups": ", ".join(small)}


def _counterparts(audit: Audit, finding: Finding, top: int) -> pd.DataFrame:
    pairs = finding.cost.pairs
    if pairs is None or audit.features is None:
        raise ValueError("there are no counterparts without features; pass `X` to `audit`.")
    giver, receiver = pairs.giver[:top], pairs.receiver[:top]
    rows, h, names = audit.people.rows, audit.people.scores, finding.cost.types
    table = pd.DataFrame(
        {
            "mass": pairs.mass[:top],
            "distance": pairs.distance[:top],
            "giver": rows[giver],
            "giver_type": [names[k] for k in pairs.giver_type[:top]],
            "giver_score": h[giver],
            "receiver": rows[receiver],
            "receiver_type": [names[k] for k in pairs.receiver_type[:top]],
            "receiver_score": h[receiver],
        }
    )
    both = [
        audit.features.table.iloc[who].reset_index(drop=True).add_prefix(prefix)
        for who, prefix in ((giver, "giver: "), (receiver, "receiver: "))
    ]
    return pd.concat([table, *both], axis=1)


def _plain(audit: Audit) -> dict[str, Any]:
    """Return an audit as plain dicts and lists."""
    findings = []
    for finding in audit.findings:
        pairs = finding.cost.pairs
        out = asdict(replace(finding, cost=replace(finding.cost, pairs=None)))
        del out["facts"]  # a class, whose name is there
        out["cost"]["pairs"] = None if pairs is None else _first_pairs(audit, finding.cost)
        findings.append(out)
    return {
        "worst": audit.worst,
        "findings": findings,
        "curves": [asdict(curve) for curve in audit.curves],
        "record": asdict(audit.record),
    }


def _first_pairs(audit: Audit, cost: Cost) -> list[dict[str, object]]:
    assert cost.pairs is not None
    pairs, rows = cost.pairs, audit.people.rows
    return [
        {
            "giver": int(rows[pairs.giver[p]]),
            "receiver": int(rows[pairs.receiver[p]]),
            "mass": float(pairs.mass[p]),
            "distance": float(pairs.distance[p]),
        }
        for p in range(min(len(pairs), SHOWN_PAIRS))
    ]
