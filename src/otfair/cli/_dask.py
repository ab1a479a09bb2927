"""`otfair fit --dask`: a line trained on a folder of Parquet files, by the workers of a cluster."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from dataclasses import asdict
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.pipeline import make_pipeline

from otfair import __version__
from otfair.cli._columns import named_columns, split_kinds
from otfair.cli._decisions import named_limits
from otfair.cli._models import make_classifier
from otfair.cli._options import NOT_MET, Outcome
from otfair.cli._output import output_folder, write_json
from otfair.cli._task import Label, model_record, read_label
from otfair.cli.options.fit import strength_of
from otfair.notions import NOTIONS, DemographicParity, Notion
from otfair.saving import save_model
from otfair.tables import Table, TableEncoder, TableError, is_number, plain_text

LOCAL = "local"
SECONDS = 20  # to wait for a scheduler


def fit_on_workers(options: argparse.Namespace, model: str, record: str) -> Outcome:
    """Train, and write the model and what it is, into files of these names."""
    with output_folder(options.output, (model, record), options.force) as folder:
        with connected(options.dask) as client:
            rows, table = read_rows(str(options.table))
            people = _read(options, rows, table)
            limit = named_limits(options, "max_violation", list(people["sensitive"].columns))
            strength = strength_of(options) | ({} if limit is None else {"max_violation": limit})
            free, fair = (
                _trained(options, people, how)
                for how in ({"alpha": 0.0, "criterion": options.criterion}, strength)
            )
            workers = len(client.scheduler_info()["workers"])
        line = fair[-1]
        found, n = line.judgement_, free[-1].judgement_.n
        told = people["record"] | model_record(options)
        told |= {
            "people": {"train": n},
            "alpha": line.alpha_,
            "max_violation": limit,
            "balance": line.balance_,
            "received": line.receivers_,
            "missing_sensitive": line.n_missing_sensitive_,
            "violation": line.violation_,
            "violation_before": free[-1].violation_,
            "seed": options.seed,
            "judgement": asdict(found) | {"met": found.met, "text": str(found)},
        }
        save_model(folder / model, fair)
        write_json(folder / record, told)
    path = str(options.output / model)
    label: Label = people["label"]
    who = (
        f"{table.source}: {n} people on {workers} workers, {len(told['features'])} features; "
        f"{label.positive!r} of {label.name!r} is positive"
    )
    what = (
        f"violation without fairness {free[-1].violation_:.4f}, by the people it was trained on; "
        f"at alpha {line.alpha_:.3g}: {found}"
    )
    said = [who, *(f"note: {note}" for note in told["notes"]), what, f"model: {path}"]
    return Outcome("\n".join(said), {**told, "files": {"model": path}}, 0 if found.met else NOT_MET)


@contextlib.contextmanager
def connected(address: str) -> Iterator[Any]:
    """Connect to a scheduler, or start workers on this machine."""
    try:
        import distributed
    except ImportError:
        raise TableError("--dask needs Dask; install it with `pip install otfair[dask]`.") from None
    where: dict[str, Any] = {"dashboard_address": ":0"} if address == LOCAL else {}
    module: Any = distributed
    try:
        client = module.Client(None if address == LOCAL else address, timeout=SECONDS, **where)
    except (OSError, ValueError, TimeoutError) as error:
        raise TableError(
            f"--dask {address}: there is no scheduler ({error}). Start one with `dask scheduler` "
            "and `dask worker ADDRESS`, or pass `local` for workers on this machine."
        ) from None
    with client:
        yield client


def read_rows(source: str) -> tuple[Any, Table]:
    """Return a folder of Parquet files, and its first rows as a table."""
    import dask.dataframe as frames

    dd: Any = frames
    if Path(source).is_dir() and not any(Path(source).glob("**/*.parquet")):
        raise TableError(f"{source} has no Parquet files; --dask reads files named *.parquet.")
    rows = dd.read_parquet(source)
    head = rows.head(1000, npartitions=-1)
    return rows, Table(head, source=source, format="parquet")


def _read(options: argparse.Namespace, rows: Any, table: Table) -> dict[str, Any]:
    """Return features, labels and sensitive columns of all people, and what is told of them."""
    (name,) = named_columns(table, [options.label], "--label")
    values = rows[name].drop_duplicates().compute()
    if values.isna().any():
        raise TableError(f"label {name!r} has gaps; leave those rows out before.")
    _, label, notes = read_label(values.reset_index(drop=True), options.positive)
    kinds = split_kinds(table, options.sensitive)
    given = options.features
    chosen = table.columns if given is None else named_columns(table, given, "--features")
    taken = {name, *kinds, *named_columns(table, options.drop, "--drop")}
    features = [c for c in chosen if c not in taken]
    if not features:
        raise TableError(f"{table.source} has no column left to be a feature.")
    y = rows[name].map_partitions(_is_positive, label.positive, meta=(name, "int64"))
    record = {
        "otfair": __version__,
        "table": {"source": table.source, "format": table.format},
        "label": asdict(label),
        "sensitive": options.sensitive,
        "kinds": {c: {"continuous": "number"}.get(kind, "groups") for c, kind in kinds.items()},
        "features": {c: "number" if is_number(table.frame[c]) else "text" for c in features},
        "notes": notes,
        "notion": options.notion or [DemographicParity.name],
        "control": [],
    }
    notion = _notion(record["notion"], kinds)
    return {
        "X": rows[features], "y": y, "sensitive": rows[list(kinds)], "label": label,
        "notion": notion, "record": record,
    }  # fmt: skip


def _notion(names: list[str], kinds: dict[str, str]) -> Notion:
    by_name = {kind.name: kind for kind in NOTIONS}
    columns: dict[str, Any] = {
        kind: [name for name, own in kinds.items() if own == kind]
        for kind in ("continuous", "categorical")
    }
    return reduce(and_, (by_name[name](**columns) for name in names))


def _trained(options: argparse.Namespace, people: dict[str, Any], how: dict[str, Any]) -> Any:
    line = make_classifier(
        "logistic", people["notion"], options.params, random_state=options.seed,
        weigh=options.weigh, receivers=options.receivers, **how,
    )  # fmt: skip
    model = make_pipeline(TableEncoder(), line)
    given = {"otfclassifier__sensitive_features": people["sensitive"]}
    return model.fit(people["X"], people["y"], **given)


def _is_positive(column: pd.Series[Any], positive: str) -> pd.Series[Any]:
    return (column.astype(object).map(plain_text) == positive).astype("int64")
