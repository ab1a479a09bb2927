"""An audit in MLflow: figures as metrics, settings as parameters, page and JSON as artifacts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from otfair.metrics import Estimate

if TYPE_CHECKING:
    from otfair.auditing._audit import Audit

T = TypeVar("T")
UNNAMED = re.compile(r"[^\w\-. ]")  # what MLflow refuses in names, and what makes folders of them
MOST_AT_ONCE = 500  # metrics; a server takes 1000
MOST_LETTERS = 80  # of an attribute or group; MLflow takes names of 250
MOST_VALUE = 500  # letters of a parameter, as older servers allow


def log(audit: Audit, run_id: str | None, prefix: str) -> str:
    """Log an audit to a run, by default the active one or a new one; return its id."""
    try:
        mlflow: Any = import_module("mlflow")
    except ImportError as error:
        raise ImportError(
            "logging to MLflow needs it, which the extra `mlflow` of otfair brings. Install it: "
            "pip install mlflow-skinny."
        ) from error
    figures, settings = _named(metrics(audit), prefix), _named(params(audit), prefix)
    active = mlflow.active_run()
    if active is not None and run_id in (None, active.info.run_id):
        _send(mlflow, audit, figures, settings, prefix)
        return str(active.info.run_id)
    with mlflow.start_run(run_id=run_id, nested=active is not None) as run:
        _send(mlflow, audit, figures, settings, prefix)
        return str(run.info.run_id)


def _send(
    mlflow: Any, audit: Audit, figures: dict[str, float], settings: dict[str, str], prefix: str
) -> None:
    mlflow.log_params(settings)
    names = list(figures)
    for start in range(0, len(names), MOST_AT_ONCE):
        mlflow.log_metrics({n: figures[n] for n in names[start : start + MOST_AT_ONCE]})
    mlflow.log_text(audit.to_html(), f"{prefix}audit.html")
    mlflow.log_text(audit.to_json(), f"{prefix}audit.json")


def metrics(audit: Audit) -> Iterator[tuple[str, float]]:
    """Yield figures by plain names, such as "sex.demographic_parity.violation"."""
    for finding in audit.findings:
        name, v = f"{finding.attribute[:MOST_LETTERS]}.{finding.notion}", finding.violation
        figures = {
            "violation": v.value, "mean_difference": v.mean_difference,
            "rate_difference": v.rate_difference, "rate_ratio": v.rate_ratio,
            "otf_cost": finding.cost.exact,
        }  # fmt: skip
        for figure, e in figures.items():
            yield from _ends(f"{name}.{figure}", e)
        if v.chance == v.chance:
            yield f"{name}.chance", v.chance
    for decisions in audit.decisions:
        name = decisions.attribute[:MOST_LETTERS]
        if decisions.gap is not None:
            yield from _ends(f"{name}.decision_gap", decisions.gap.difference)
        for group in decisions.groups:
            value = group.group.removeprefix(f"{decisions.attribute}=")
            own = f"{name}.{value[:MOST_LETTERS]}"
            yield f"{own}.people", float(group.people)
            for rate, e in group.rates.items():
                yield from _ends(f"{own}.{rate}", e)


def params(audit: Audit) -> Iterator[tuple[str, str]]:
    """Yield the settings, and what was audited."""
    record = audit.record
    told = {
        "title": record.title, "score": record.score, "outcome": record.outcome,
        "favourable": record.favourable, "weight": record.weight, "rows_used": record.rows_used,
        "rows_received": record.rows_received, "checksum": record.checksum,
        "otfair": record.versions["otfair"],
    }  # fmt: skip
    for name, value in (told | record.settings).items():
        if value not in (None, "", []):
            text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            yield name, text[:MOST_VALUE]


def _ends(name: str, e: Estimate | None) -> Iterator[tuple[str, float]]:
    if e is None or e.value != e.value:
        return
    yield name, e.value
    if e.low == e.low:
        yield f"{name}.low", e.low
        yield f"{name}.high", e.high


def _named(pairs: Iterable[tuple[str, T]], prefix: str) -> dict[str, T]:
    """Return values by names that MLflow takes; two that look alike there are numbered."""
    out: dict[str, T] = {}
    for text, value in pairs:
        plain = UNNAMED.sub("_", text).replace("..", "__")
        name, k = prefix + plain, 1
        while name in out:
            k += 1
            name = f"{prefix}{plain} {k}"
        out[name] = value
    return out
