"""Columns of a table that options name: sensitive ones as groups or numbers, scores, weights."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from otfair.tables import (
    MAX_GROUPS,
    Column,
    Kind,
    Table,
    TableError,
    is_number,
    nearest,
    percentages,
    plain_text,
    sensitive_kinds,
    shown,
)


def require_columns(table: Table, names: Iterable[str], option: str) -> list[str]:
    """Return the names, all of which the table must have."""
    known = table.columns
    absent = [name for name in names if name not in known]
    if absent:
        hint = nearest(absent[0], known)
        listed = ", ".join(map(shown, known[:20])) + (", ..." if len(known) > 20 else "")
        raise TableError(
            f"{table.source} has no column {', '.join(map(repr, absent))} for {option}"
            f"{hint or '.'} Its columns are: {listed}."
        )
    return list(names)


def split_names(given: Iterable[str], columns: Iterable[str]) -> list[str]:
    """Split "a,b" into names; a comma may be part of one where a column is called so."""
    known, out = set(columns), []
    for text in given:
        if text in known:
            out.append(text)
            continue
        parts = text.split(",")
        while parts:
            joined = (",".join(parts[:k]).strip() for k in range(1, len(parts) + 1))
            name = next((name for name in joined if name in known), parts[0].strip())
            out.append(name)
            parts = parts[name.count(",") + 1 :]
    return list(dict.fromkeys(name for name in out if name))


def named_columns(table: Table, given: Iterable[str], option: str) -> list[str]:
    """Return the columns of a table that texts such as "a,b" name."""
    return require_columns(table, split_names(given, table.columns), option)


def read_sensitive(table: Table, given: Iterable[str]) -> pd.DataFrame:
    """Return sensitive columns given as "sex", "age:continuous", "code:categorical" or "sex,race".

    A column whose name holds a colon is meant where the whole text is its name. A column of floats
    is a number; every other one, of text or whole numbers, is groups.
    """
    out: dict[str, Any] = {}
    for name, kind in split_kinds(table, given).items():
        out[name] = _as_kind(table, name, kind)
        if out[name].dtype == object and (groups := out[name].nunique()) > MAX_GROUPS:
            raise TableError(
                f"sensitive column {name!r} has {groups} groups, more than {MAX_GROUPS}. Merge the "
                "rare ones, or write :continuous behind its name if it holds numbers."
            )
    return pd.DataFrame(out)


def split_kinds(table: Table, given: Iterable[str]) -> dict[str, str]:
    """Return sensitive columns, and which kind each is said to be: "" where nothing is said."""
    out: dict[str, str] = {}
    for text in _split_kinds(given, table.columns):
        name, _, kind = text.rpartition(":")
        if text in table.columns or not name:
            name, kind = text, ""
        elif kind not in ("continuous", "categorical"):
            if name in table.columns:
                raise TableError(
                    f"--sensitive {text}: received {kind!r}, which is no kind of column. Write "
                    f"{name}:continuous or {name}:categorical."
                )
            name, kind = text, ""
        require_columns(table, [name], "--sensitive")
        if name in out:
            raise TableError(f"--sensitive names {name!r} twice; name it once.")
        out[name] = kind
    return out


def _split_kinds(given: Iterable[str], columns: Iterable[str]) -> list[str]:
    """Split "sex,age:continuous" at commas that are no part of a column's name."""
    known, out = set(columns), []
    for text in given:
        whole = text in known or text.rpartition(":")[0] in known
        out += [text] if whole else [part for p in text.split(",") if (part := p.strip())]
    return out


def continuous_names(sensitive: pd.DataFrame) -> list[str]:
    """Return which columns of `read_sensitive` are numbers rather than groups."""
    return [str(c) for c in sensitive if sensitive[c].dtype == np.float64]


def kind_names(sensitive: pd.DataFrame) -> dict[str, str]:
    """Return what each column of `read_sensitive` is taken for, "groups" or "number"."""
    numbers = continuous_names(sensitive)
    kinds = {str(c): Kind.NUMBER if str(c) in numbers else Kind.GROUP for c in sensitive}
    return {name: kind.value for name, kind in kinds.items()}


def say_kinds(sensitive: pd.DataFrame) -> str:
    """Say what the columns of `read_sensitive` are taken for: "sex (2 groups), age (number)"."""
    counts = {c: f"{sensitive[c].nunique()} " for c in sensitive}
    return ", ".join(
        f"{shown(name)} ({'' if kind == Kind.NUMBER.value else counts[name]}{kind})"
        for name, kind in kind_names(sensitive).items()
    )


def _as_kind(table: Table, name: str, kind: str) -> Any:
    """Return a sensitive column as floats, whole numbers or text; gaps stay missing."""
    column = table.frame[name]
    gaps, numeric = column.isna(), is_number(column)
    if gaps.all():
        raise TableError(f"--sensitive {name}: the column is empty. Is it the right one?")
    if kind == "continuous":
        if not numeric:
            value, place, count = table.no_number(name)
            raise TableError(
                f"sensitive column {name!r} is to be continuous but holds text in {count} of "
                f"{len(column)} rows, the first is {value!r} in {place}. Write its numbers "
                "plainly, or leave ':continuous' out."
            )
        return column.astype(np.float64)
    if kind == "" and numeric:
        kinds = sensitive_kinds([Column(name, column[~gaps].to_numpy(np.float64))])
        if kinds[name] is Kind.NUMBER:
            return column.astype(np.float64)
        return column.astype("Int64" if gaps.any() else np.int64)
    text = column.astype(object)
    text[~gaps] = [plain_text(v) for v in text[~gaps]]
    return text.where(~gaps, None)


def without_gaps(frame: pd.DataFrame, rows: Any) -> pd.DataFrame:
    """Return some rows of sensitive columns, with plain integers where there is no gap."""
    kept: pd.DataFrame = frame[rows].reset_index(drop=True)
    nullable = [c for c in kept if isinstance(kept[c].dtype, pd.Int64Dtype)]
    return kept.astype({c: np.int64 for c in nullable if not kept[c].isna().any()})


def read_scores(
    table: Table,
    name: str,
    skip_unscored: bool,
    labels: pd.Series[Any] | None = None,
    outcome: str | None = None,
) -> pd.Series[Any]:
    """Return a column of scores as numbers; decisions may be written as the labels are."""
    column = table.frame[name]
    known = column.notna()
    if not known.any():
        raise TableError(f"--score {name}: the column is empty. Is it the right one?")
    if not known.all() and not skip_unscored:
        raise TableError(
            f"--score {name}: {int((~known).sum())} of {len(known)} scores are missing, the first "
            f"in {table.place(int((~known).argmax()))}. Score these people too, or pass "
            "`--skip-unscored` to leave them out."
        )
    if is_number(column):
        return column
    decisions = column.astype(object).map(decision_values(labels, outcome))
    if decisions.notna().equals(known):
        return decisions.astype(np.float64)
    value, place, count = table.no_number(name)
    remedy = percentages(value)
    if re.fullmatch(r"[0-9]*,[0-9]+", value):
        remedy = "If it writes them with a comma, pass `--decimal ,`."
    elif re.fullmatch(r"[0-9]*\.[0-9]+", value):
        remedy = "It writes them with a point: leave `--decimal ,` out."
    elif not remedy and count < len(known) / 2:
        remedy = "Mend these, or empty them and pass `--skip-unscored`."
    raise TableError(
        f"--score {name}: the column holds text in {count} of {len(known)} rows, the first is "
        f"{value!r} in {place}, where numbers from 0 to 1 are needed. "
        f"{remedy or 'Is it the right column?'}"
    )


def decision_values(labels: pd.Series[Any] | None, outcome: str | None) -> dict[Any, float]:
    """Return decisions as numbers, by what they may be written as."""
    values: dict[Any, float] = {"True": 1.0, "False": 0.0, True: 1.0, False: 0.0}
    if labels is not None:
        values |= {label: float(label == outcome) for label in labels.dropna().unique()}
    return values


def read_weight(table: Table, name: str | None) -> pd.Series[Any] | None:
    """Return weights; one that is missing is none, so that its row is left out."""
    if name is None:
        return None
    column = table.frame[name]
    if column.isna().all():
        raise TableError(f"--weight {name}: the column is empty. Is it the right one?")
    if not is_number(column):
        value, place, _ = table.no_number(name)
        raise TableError(
            f"--weight {name}: the column holds text, such as {value!r} in {place}, where numbers "
            "are needed."
        )
    return column.fillna(0).astype(np.float64)


def read_reference(
    given: list[str], columns: Iterable[str], crossed: Iterable[Iterable[str]] = ()
) -> Any:
    """Return the groups that others are compared with: one name, or one by attribute."""
    known, by_column = [str(column) for column in columns], {}
    together = [[c for c in known if c in names] for names in crossed]
    for text in given:
        marks = {" & ".join(names): [f"{c}=" for c in names] for names in together}
        if of := [
            a for a, m in marks.items() if text.startswith(m[0]) and all(x in text for x in m)
        ]:
            by_column[of[0]] = text  # such as sex=Female & race=Black
            continue
        column, found, group = text.partition("=")
        if not found or column not in known:
            if len(given) > 1:
                raise TableError(
                    f"--reference {text}: of several, each must name its column, such as sex=Male; "
                    f"sensitive columns are {', '.join(known)}."
                )
            return text
        by_column[column] = group
    return by_column or None
