"""From options to people: which rows and columns of a table are used, and what was left out."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from operator import and_
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np
import pandas as pd

from otfair import __version__
from otfair.auditing import Audit, read_control
from otfair.cli._columns import (
    continuous_names,
    kind_names,
    named_columns,
    read_scores,
    read_sensitive,
    read_weight,
    require_columns,
    say_kinds,
    without_gaps,
)
from otfair.cli._options import UsageError
from otfair.datasets import list_datasets, load_dataset
from otfair.notions import (
    NOTIONS,
    ConditionalParity,
    DemographicParity,
    Notion,
    PredictiveParity,
)
from otfair.tables import (
    Kind,
    Reason,
    Table,
    TableError,
    Why,
    explain_copy,
    foretells,
    kind_of,
    known_column,
    label_names,
    label_values,
    likely_positive,
    listed,
    plain_text,
    positive_value,
    read_labels,
    read_table,
    shown,
    type_name,
    unsuited,
)

SAVED_LABEL = "label"  # what to call the label of a dataset
UNKNOWN = "have no {}: the model learns from them, and they have no part in its fairness"
ALONE = (
    "there is no feature: the rule has the score alone to tell groups apart, which may cost much; "
    "bring features, or pass --use-sensitive"
)
LEAKS = (Why.LABEL_COPY, Why.LABEL_LEAK)
UNUSED = "have no {}: they have no part in the rule"


@dataclass(frozen=True)
class Label:
    """The column that is predicted, and what its values are called."""

    name: str
    positive: str
    negative: str


@dataclass(frozen=True, kw_only=True)
class Task:
    """People to train on and to judge by: their features, labels and sensitive columns."""

    X: pd.DataFrame
    y: np.ndarray  # (n,) 0 or 1
    sensitive: pd.DataFrame
    label: Label
    table: Table
    notions: list[str]  # by name
    notes: tuple[str, ...]  # what was left out, and why
    control: pd.DataFrame = field(default_factory=pd.DataFrame)  # within which people are compared
    weight: np.ndarray | None = None  # (n,)
    score: str | None = None  # the column of X that holds scores of another model

    @property
    def compared(self) -> pd.DataFrame:
        """What notions read: sensitive columns, and those within which people are compared."""
        return pd.concat([self.sensitive, self.control], axis=1)

    @property
    def notion(self) -> Notion:
        """The notions, stacked."""
        return read_notion(self.notions, self.sensitive, list(map(str, self.control)))

    def head(self) -> str:
        """Say in a few lines what is used."""
        n, p = self.X.shape
        by = f"{p} features"
        if self.score is not None:
            by = f"scores {shown(self.score)!r} and {p - 1} features"
        used = f"{self.table.source}: {n} people, {by}"
        sensitive = f"sensitive: {say_kinds(self.sensitive)}"
        share = f"{self.label.positive!r} is positive ({100 * self.y.mean():.1f} %)"
        label = f"label {self.label.name!r}: {share}, {self.label.negative!r} is not"
        within = ", ".join(map(shown, map(str, self.control)))
        more = [f"compared within: {within}"] if within else []
        notes = (f"note: {note}" for note in self.notes)
        return "\n".join([used, sensitive, *more, label, *notes])

    def record(self, options: argparse.Namespace) -> dict[str, Any]:
        """Return what the record of a command says first."""
        return {
            "otfair": __version__,
            "table": {"source": self.table.source, "sha256": self.table.sha256},
            "label": asdict(self.label),
            "sensitive": options.sensitive,
            "kinds": kind_names(self.sensitive),
            "missing_sensitive": int(self.sensitive.isna().any(axis=1).sum()),
            "features": list(self.X.columns),
            "notes": self.notes,
            "notion": self.notions,
            "control": list(map(str, self.control)),
            "test_size": options.test_size,
            "seed": options.seed,
        }


def model_record(options: argparse.Namespace) -> dict[str, Any]:
    """Return what a record says of the model that was trained."""
    params = {k: v for some in options.params for k, v in some.items()}
    how = {"weigh": options.weigh, "bounded": options.bounded, "receivers": options.receivers}
    return {"model": options.model, **how, "params": params}


def load(options: argparse.Namespace) -> tuple[Table, list[str] | None]:
    """Read the table; of a dataset, which of its columns are features, too."""
    name = str(options.table)
    if name not in list_datasets() or Path(name).is_file():
        how = (options.separator, options.encoding, options.decimal, options.max_memory)
        return read_table(name, *how), None
    data = load_dataset(name, data_home=getattr(options, "data_home", None))
    label = pd.DataFrame({SAVED_LABEL: data.y})
    frame = pd.concat([data.sensitive_features, data.X, label], axis=1)
    return Table(frame, source=f"dataset {name}", format="dataset"), list(data.X.columns)


def read_task(options: argparse.Namespace) -> Task:
    """Read the people that the options of `fit`, `decide` and `curve` describe.

    With scores of another model, these are the first column of X, and features may be absent.
    """
    table, own = load(options)
    given: dict[str, Any] = {"control": [], "weight": None, "score": None} | vars(options)
    name = options.label or (SAVED_LABEL if own else None)
    if name is None:
        raise UsageError("--label is missing: name the column that is to be predicted")
    single = {"label": name, "score": given["score"], "weight": given["weight"]}
    taken = [require_columns(table, [c], f"--{o}")[0] for o, c in single.items() if c is not None]
    sensitive = read_sensitive(table, options.sensitive)
    control = named_columns(table, given["control"], "--control")
    for column in [*taken, *sensitive, *control]:
        uses = [f"--{option}" for option, c in single.items() if c == column]
        uses += ["--sensitive"] * (column in sensitive) + ["--control"] * (column in control)
        if len(uses) > 1:
            raise TableError(f"{column!r} is both {uses[0]} and {uses[1]}; it can be one of them.")
    features, notes = choose_features(
        table, [*taken, *sensitive.columns], options.features, options.drop, own
    )
    needed, weight = table.frame[[name]].copy(), read_weight(table, given["weight"])
    score = given["score"]
    if score is not None:
        needed[score] = read_scores(table, score, options.skip_unscored)
    if weight is not None:
        needed[given["weight"]] = _heavy(weight)
    rows, dropped = complete_rows(needed)
    whole, unknown = complete_rows(sensitive[rows], UNKNOWN if score is None else UNUSED)
    labels = table.frame.loc[rows, name].reset_index(drop=True)
    y, label, said = read_label(labels, options.positive)
    X = table.frame.loc[rows, features].reset_index(drop=True)
    people = without_gaps(sensitive, rows)
    known, groups = (part[whole].reset_index(drop=True) for part in (X, people))
    told = labels[whole].reset_index(drop=True)
    counts = None if weight is None else weight[rows].to_numpy()
    heavy = None if counts is None else counts[whole]
    named = options.features is not None
    copies, warned = find_copies(known, groups, told, y[whole], named, heavy)
    for line in warned:
        warnings.warn(line, stacklevel=2)  # now, and not only when all is done
    X = X.drop(columns=copies)
    if score is not None:
        if X.columns.empty and not options.use_sensitive:
            notes.append(ALONE)
        X.insert(0, score, needed.loc[rows, score].to_numpy(dtype=np.float64))
    elif X.empty:
        raise TableError(f"no feature is left of {table.source}; name some with --features.")
    return Task(
        X=X,
        y=y,
        sensitive=people,
        label=label,
        table=table,
        notions=_notions(options.notion, bool(control)),
        notes=(*dropped, *unknown, *notes, *warned, *said),
        control=_read_controls(table.frame.loc[rows, control], counts),
        weight=counts,
        score=score,
    )


def _heavy(weight: pd.Series[Any]) -> pd.Series[Any]:
    """Return weights; 0 is as good as missing."""
    if (weight < 0).any():
        raise TableError(
            f"--weight {weight.name}: weights must not be negative; received {weight.min():g}."
        )
    return weight.where(weight > 0)


def _read_controls(frame: pd.DataFrame, weight: np.ndarray | None) -> pd.DataFrame:
    """Return columns to compare within as text, numbers of many values in quarters; gaps stay."""
    out = {}
    counts = np.ones(len(frame)) if weight is None else weight
    for name in frame:
        known = frame[name].notna().to_numpy()
        values = np.full(len(frame), None, dtype=object)
        values[known] = read_control(frame[name][known], counts[known]).values
        out[str(name)] = values
    return pd.DataFrame(out)


def _notions(asked: Sequence[str] | None, control: bool) -> list[str]:
    """Return the names of notions; columns to compare within ask for conditional parity."""
    names = list(dict.fromkeys(asked or []))
    if not control and ConditionalParity.name in names:
        raise UsageError(
            f"--notion {ConditionalParity.name} needs --control: the columns to compare within"
        )
    if control and ConditionalParity.name not in names:
        names.append(ConditionalParity.name)
    return names or [DemographicParity.name]


def find_copies(
    X: pd.DataFrame,
    sensitive: pd.DataFrame,
    labels: pd.Series[Any],
    y: np.ndarray,
    named: bool,
    weight: np.ndarray | None = None,
) -> tuple[list[str], list[str]]:
    """Return features that are sensitive, or the label, under another name, and lines about them.

    Where the user named the features all are kept; lines also tell of columns whose values each go
    with one group, or label, only, and of those that alone predict the label too well.
    """
    known = [known_column(v) for v in (y, labels.astype(object).map(plain_text).to_numpy())]
    for name in sensitive:
        known.append(known_column(sensitive[name].to_numpy(), sensitive=str(name)))
    found, lines = [], []
    for name in map(str, X.columns):
        copied, notes = explain_copy(X[name], known, seen="the model learns from it")
        reasons = notes if copied is None else [copied]
        if not any(reason.why is Why.LABEL_COPY for reason in reasons):
            reasons += filter(None, [foretells(X[name], y, weight)])
        leak = " (leakage)" * any(reason.why in LEAKS for reason in reasons)
        if copied is not None and not named:
            found.append(name)
            used = "it is used if --features names it"
            lines.append(f"column {name!r} is no feature: {copied}{leak}; {used}")
        elif reasons:
            said = "; ".join(reasons) + ", and used as --features names it" * (copied is not None)
            lines.append(f"column {name!r}: {said}{leak}; --drop {quote(name)} leaves it out")
    return found, lines


def described(
    found: Audit, table: Table, title: str, notes: Sequence[str] = (), **more: str
) -> Audit:
    """Return an audit whose report says what it is of: a table, notes on it, and more by name."""
    source = {"Table": shown(table.source)}
    source |= {"Format": table.format} if table.format else {}
    source |= {"File": f"SHA-256 {table.sha256}"} if table.sha256 else {}
    source["Rows of the table"] = f"{max(found.record.rows_received, len(table.frame)):,}"
    noted = (*found.record.notes, *notes)
    record = replace(found.record, title=title, source=source | more, notes=noted)
    return replace(found, record=record)


def complete_rows(
    needed: pd.DataFrame, said: str = "are left out: they have no {}"
) -> tuple[np.ndarray, list[str]]:
    """Return which rows, (n,) bool, have a value in every column, and notes on those that don't.

    A note says of each column what comes of rows that lack it.
    """
    gaps = needed.isna()
    rows = ~gaps.any(axis=1).to_numpy()
    notes = [
        f"{count} of {len(needed)} rows {said.format(repr(name))}"
        for name, count in gaps.sum().items()
        if count
    ]
    if not rows.any():
        raise TableError(f"no row has a value in each of {', '.join(map(repr, needed))}.")
    return rows, notes


def choose_features(
    table: Table,
    taken: Sequence[str],
    features: Sequence[str] | None,
    drop: Sequence[str],
    known: Sequence[str] | None = None,
) -> tuple[list[str], list[str]]:
    """Return the feature columns, and notes on those that were left out unasked."""
    dropped = named_columns(table, drop, "--drop")
    left = list(known or table.columns)  # those of a dataset are known to be features
    reasons: dict[str, Reason] = {}
    if features is not None:
        left = named_columns(table, features, "--features")
        if wrong := [c for c in left if c in taken]:
            raise TableError(
                f"--features names {wrong[0]!r}, which is the label or sensitive: predicting would "
                "need it. Leave it out."
            )
    left = [c for c in left if c not in taken and c not in dropped]
    if features is None and known is None:
        reasons = {c: why for c in left if (why := unsuited(c, table.frame[c])) is not None}
    for name in left:
        if name not in reasons:
            refuse_unusable(table.frame[name])
    notes = [f"column {c!r} is no feature: {why}" for c, why in reasons.items()]
    notes += remarks(table, left)
    if any(reason.why is Why.IDENTIFIER for reason in reasons.values()):
        notes.append("a column that is no identifier is used if --features names it")
    return [c for c in left if c not in reasons], notes


def remarks(table: Table, columns: Iterable[str]) -> list[str]:
    """Return what is to be said of columns that are, or could have been, numbers."""
    return [f"column {c!r}: {table.remarks[c]}" for c in columns if c in table.remarks]


def refuse_unusable(column: pd.Series[Any]) -> None:
    """Raise where a column can be no feature, such as one of dates or lists."""
    if kind_of(column) is Kind.OTHER:
        raise TableError(
            f"column {column.name!r} holds values of type {type_name(column)}, neither numbers "
            "nor categories. Turn it into one of these, such as days for a date, or pass --drop "
            f"{column.name}."
        )


def read_label(column: pd.Series[Any], positive: str | None) -> tuple[np.ndarray, Label, list[str]]:
    """Return labels as 0 and 1, what they are called, and notes on the choice."""
    name, values, said = str(column.name), label_values(column), []
    if len(values) < 2:
        raise TableError(
            f"label {name!r} must have two values; received {listed(values)} alone. Is it the "
            "right column?"
        )
    if positive is None and len(values) > 2:
        raise TableError(
            f"label {name!r} must have two values; received {len(values)}: {listed(values)}. Say "
            "which one is positive with --positive VALUE, and all others are negative."
        )
    if positive is None:
        positive = likely_positive(values)
        if positive_value(values) is None:
            said = [f"{positive!r} is taken as positive; choose with --positive"]
    try:
        y = read_labels(column, positive)
    except ValueError:
        raise TableError(
            f"--positive {positive!r} is no value of {name!r}, which has {listed(values)}."
        ) from None
    if len(values) > 2:
        said = [f"{len(values) - 1} other values of {name!r} are all negative"]
    no, yes = label_names(column, y)
    return y, Label(name, yes, no), said


def read_notion(
    names: Sequence[str] | None,
    sensitive: pd.DataFrame | None = None,
    control: Sequence[str] = (),
) -> Notion:
    """Return the notions of these names, stacked; demographic parity by default.

    They read the columns of `read_sensitive` as what these were taken for.
    """
    numbers = [] if sensitive is None else continuous_names(sensitive)
    if sensitive is not None:
        refuse_numbers(names or (), sensitive)
    by_name = {kind.name: kind for kind in NOTIONS}
    given: list[Notion] = []
    for name in dict.fromkeys(names or [DemographicParity.name]):
        settings: dict[str, Any] = {"continuous": numbers}
        if control and sensitive is not None:
            settings["columns"] = list(sensitive)
        if by_name[name].needs_control:
            settings["control"] = list(control)
        given.append(by_name[name](**settings))
    return reduce(and_, given)


def refuse_numbers(names: Sequence[str], sensitive: pd.DataFrame) -> None:
    """Raise where a notion that compares groups only is asked for, and a column is a number."""
    if PredictiveParity.name in names and (numbers := continuous_names(sensitive)):
        raise TableError(
            f"--notion {PredictiveParity.name} compares the precision of groups, and sensitive "
            f"column {numbers[0]!r} is a number. Bin it in the table, or leave it out of "
            "--sensitive."
        )


def smaller(task: Task, rows: np.ndarray) -> Task:
    """Return some of the people."""
    frames = {name: getattr(task, name) for name in ("X", "sensitive", "control")}
    some = {n: f.iloc[rows].reset_index(drop=True) if len(f) else f for n, f in frames.items()}
    weight = None if task.weight is None else task.weight[rows]
    return replace(task, y=task.y[rows], weight=weight, **some)
