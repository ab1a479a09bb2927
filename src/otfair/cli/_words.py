"""Words for the codes of columns, from a file."""

from __future__ import annotations

import json
from pathlib import Path

from otfair.cli._columns import require_columns
from otfair.tables import Table, TableError, plain_text, read_table

MOST_BYTES = 10_000_000
SHOWN = 3  # names in a note
EXAMPLE = '{"sex": {"1": "men", "2": "women"}}'


def read_names(path: Path) -> dict[str, dict[str, str]]:
    """Return words by column and code, from JSON or a table of column, code and name."""
    if path.suffix.casefold() != ".json":
        table = read_table(path)
        require_columns(table, ("column", "code", "name"), f"--names {path}")
        out: dict[str, dict[str, str]] = {}
        rows = table.frame[["column", "code", "name"]].dropna().astype(object)
        for column, code, name in rows.itertuples(index=False):
            out.setdefault(plain_text(column), {})[plain_text(code)] = plain_text(name)
        return out
    try:
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1)
        found = json.loads(text.decode()) if len(text) <= MOST_BYTES else None
    except (ValueError, RecursionError):
        found = None
    except OSError as error:
        raise TableError(f"--names {path}: {error.strerror}.") from error
    sound = isinstance(found, dict) and all(
        isinstance(words, dict) and all(isinstance(word, str) for word in words.values())
        for words in found.values()
    )
    if found is None or not sound:
        raise TableError(
            f"--names {path}: must hold words by column and code, such as {EXAMPLE}, or be a table "
            "with the columns column, code and name."
        )
    return dict(found)


def say_unused(names: dict[str, dict[str, str]], table: Table) -> list[str]:
    """Say which columns and codes that have words are not in a table."""
    absent = [column for column in names if column not in table.columns]
    said = [f"--names has words for {_listed(absent)}, no column of the table"] if absent else []
    for column in (c for c in names if c not in absent):
        known = {plain_text(value) for value in table.frame[column].dropna().unique()}
        unseen = [code for code in names[column] if code not in known]
        if unseen:
            said.append(f"--names has words for {_listed(unseen)}, which no row has in {column!r}")
    return said


def _listed(texts: list[str]) -> str:
    return ", ".join(map(repr, texts[:SHOWN])) + (", ..." if len(texts) > SHOWN else "")
