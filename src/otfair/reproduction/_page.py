"""The page that says which claims of the paper hold, written from results alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from otfair._io.files import write_bytes
from otfair._io.rendering import templates
from otfair.reproduction._claims import (
    INTERVAL,
    SHARES,
    Difference,
    at,
    compare,
    curve,
    difference,
    mean_difference,
)
from otfair.reproduction._figures import STYLES, drawings
from otfair.reproduction._frames import BOTH, PANEL_OF, PANELS, select, title, to_frame
from otfair.reproduction._store import Result
from otfair.reproduction._train import OTF_SCALE
from otfair.reproduction._verdicts import CLAIMS, UNKNOWN, Evidence, by_epsilon


@dataclass(frozen=True)
class Table:
    """A heading and rows, as Markdown."""

    head: list[str]
    rows: list[list[Any]]

    def __str__(self) -> str:
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)

    def __bool__(self) -> bool:
        return bool(self.rows)


def write_page(results: Iterable[Result], path: Path, *, figures: str = ".") -> None:
    """Write the page as Markdown; `figures` is the folder of the pictures, seen from the page."""
    results = [r for r in results if not r.error]
    write_bytes(path, page(results, figures).encode())


def page(results: list[Result], figures: str = ".") -> str:
    """Return the text of the page."""
    frame = to_frame(results)
    evidence = Evidence.of(frame)
    protocols = [p for p in ("full", "paper") if (frame["protocol"] == p).any()]
    template = templates("otfair.reproduction", escape=False).get_template("results.md")
    return template.render(
        runs=len(results),
        dates=sorted({r.finished[:10] for r in results if r.finished}),
        versions=sorted({f"{k} {v}" for r in results for k, v in r.versions.items()}),
        protocols=protocols,
        claims=[
            (text, {p: judge(evidence, p) for p in protocols}) for text, judge in CLAIMS.items()
        ],
        unknown=UNKNOWN,
        figures={f"{figures}/{name}.png": text for name, (text, _) in drawings(frame).items()},
        comparisons={key: _compared(t) for key, t in evidence.tables.items() if len(t)},
        counts=_counts(frame),
        commands=_commands(frame),
        scales=OTF_SCALE,
        full_minutes=_minutes(frame),
        converged=_converged(frame),
        published=_published(frame),
        protocols_compared=_protocols(frame),
        costs=_costs(frame),
        smoothing=_smoothing(evidence),
        by_attribute=_by_attribute(frame),
    )


def _compared(table: pd.DataFrame) -> Table:
    words = {"notion": table["notion"].str.upper(), "against": table["against"].str.capitalize()}
    head = ["dataset, attribute", "notion", "against", "splits"]
    return _by_share(table.assign(**words), ["panel", "notion", "against", "ran"], head)


def _by_attribute(frame: pd.DataFrame) -> dict[str, Table]:
    """Compare one OTF for each attribute with one for all, and with the norm."""
    out = {}
    for protocol, part in product(("full", "paper"), ("test", "train")):
        table = compare(frame, protocol, part, "otf_attributes", ("otf", "norm"))
        if len(table):
            names = {"otf": "OTF, one for all", "norm": "Norm"}
            words = {"notion": table["notion"].str.upper(), "against": table["against"].map(names)}
            head = ["dataset, attribute", "notion", "against", "splits"]
            shown = _by_share(table.assign(**words), ["panel", "notion", "against", "ran"], head)
            out[f"{protocol} protocol, {part} set"] = shown
    return out


def _smoothing(evidence: Evidence) -> dict[str, Table]:
    """Tabulate how the AUC of epsilon 1e-3 compares with that of others."""
    out = {}
    for protocol, method in (("full", "otf"), ("paper", "otf"), ("paper", "coordinate")):
        table = by_epsilon(evidence, protocol, method)
        if len(table):
            table["ran"] = max(d.splits for d in table["difference"])
            what = f"{protocol} protocol{', published ascent' * (method == 'coordinate')}"
            out[what] = _by_share(table, ["epsilon"], ["epsilon 1e-3 against"])
    return out


def _by_share(table: pd.DataFrame, by: list[str], head: list[str]) -> Table:
    """Tabulate differences; a column for each share."""
    rows = []
    for key, own in table.groupby(by, sort=False):
        found = dict(zip(own["share"], own["difference"]))
        cells = (_cell(found.get(s, mean_difference([])), own["ran"].iloc[0]) for s in SHARES)
        rows.append([*key, *cells])
    return Table([*head, *(f"{share:g}" for share in SHARES)], rows)


def _cell(found: Difference, ran: int) -> str:
    """Return the text of a difference, bold where it is not zero, with the splits if not all."""
    text = str(found)
    sure = found.splits >= INTERVAL and (found.above(0) or found.below(0))
    if sure and abs(found.mean) >= 5e-5:
        text = f"**{text}**"
    if found.splits in (0, ran):
        return text
    return f"{text} ({found.splits} split{'s' if found.splits > 1 else ''})"


def _counts(frame: pd.DataFrame) -> Table:
    """Tabulate what was run: splits, runs, minutes of one core."""
    frame = frame.assign(trained=[" and ".join(c) for c in frame["columns"]])
    by, rows = ["protocol", "experiment", "dataset", "method", "trained"], []
    for (*settings, method, trained), own in frame.groupby(by):
        counts = [own["split"].nunique(), len(own), f"{own['seconds'].sum() / 60:.1f}"]
        rows.append([*settings, STYLES[str(method)][0], trained, *counts])
    return Table([*by[:4], "trained on", "splits", "runs", "minutes"], rows)


def _commands(frame: pd.DataFrame) -> list[str]:
    """Return the commands that make these runs."""
    out = []
    for (protocol, kind, dataset), own in frame.groupby(["protocol", "experiment", "dataset"]):
        target, splits = dataset if kind == "curves" else kind, own["split"].nunique()
        out.append(f"otfair reproduce {target} --protocol {protocol} --splits {splits}")
    return out


def _minutes(frame: pd.DataFrame) -> dict[str, float]:
    """Minutes of one core that the curves of the full protocol took, Bank by age apart."""
    own = select(frame, protocol="full", experiment="curves")
    apart = np.array([columns == ("age",) for columns in own["columns"]], dtype=bool)
    each = {"within": own["seconds"][~apart], "apart": own["seconds"][apart]}
    return {name: float(seconds.sum() / 60) for name, seconds in each.items()}


def _converged(frame: pd.DataFrame) -> dict[str, tuple[int, int]]:
    """Count by method the models of the full protocol that settled, and all."""
    own = select(frame, protocol="full").reindex(columns=["method", "converged"]).dropna()
    settled = own["converged"].astype(bool).groupby(own["method"])
    return {STYLES[str(method)][0]: (int(each.sum()), len(each)) for method, each in settled}


def _published(frame: pd.DataFrame) -> Table:
    """Tabulate the published ascent, and OTF with converged duals at the same share, on Adult."""
    frame = select(frame, protocol="paper", dataset="adult")
    runs = select(frame, experiment="curves", split=0)
    panel, rows = PANEL_OF["adult", BOTH], []
    by = {(r["method"], r["notion"], r["alpha"], r["sweeps"]): r for r in runs.to_dict("records")}
    for notion, alpha in product(("pdp", "peo"), (0.1, 0.5, 0.9)):
        x, cells = f"test_{notion}_{BOTH}", []
        own = curve(frame, panel, notion, "otf", protocol="paper")
        for sweeps in (100, 1):
            if found := by.get(("coordinate", notion, alpha, sweeps)):
                same = at(own, 0, x, "test_auc", found[x])
                there = "-" if np.isnan(same) else f"{same:.4f}"
                cells += [f"{found[x]:.0%}, {found['test_auc']:.4f}", there]
        if len(cells) == 4:
            rows.append([notion.upper(), f"{alpha:g}", *cells])
    head = ["notion", "alpha", "up to 100 sweeps", "OTF there", "one sweep", "OTF there"]
    return Table(head, rows)


def _protocols(frame: pd.DataFrame) -> Table:
    """Tabulate the AUC that the full protocol gains over the paper's, at equal violation."""
    rows, compared = [], list(product(("train", "test"), (0.5, 0.25)))
    for panel, notion, method in product(PANELS, ("pdp", "peo"), ("otf", "norm")):
        one, other = (curve(frame, panel, notion, method, protocol=p) for p in ("full", "paper"))
        if one.empty or method not in set(other["method"]):
            continue
        one = one[one["split"].isin(other["split"])]
        splits = one["split"].nunique()
        cells = []
        for part, share in compared:
            x, y = f"{part}_{notion}_{panel[1]}", f"{part}_auc"
            cells.append(_cell(difference(one, other, one, x, y, share), splits))
        rows.append([title(panel), notion.upper(), STYLES[method][0], splits, *cells])
    head = ["dataset, attribute", "notion", "method", "splits"]
    return Table([*head, *(f"{part}, {share:g}" for part, share in compared)], rows)


def _costs(frame: pd.DataFrame) -> Table:
    """Tabulate how far smooth and exact costs of the trained models agree."""
    if "exact_cost" not in frame:
        return Table([], [])
    rows, by = [], ["protocol", "dataset", "columns", "notion"]
    for (protocol, dataset, _, notion), each in frame.dropna(subset="exact_cost").groupby(by):
        smooth, exact = each["smooth_cost"], each["exact_cost"]
        compared = [f"0 (smooth: up to {smooth.max():.1e})", "-", "-"]
        if (exact > 0).any():
            ratio = (smooth / exact)[exact > 0]
            compared = [
                f"{exact.max():.1e} to {exact.min():.1e}",
                f"{ratio.min():.3f} to {ratio.max():.3f}",
                f"{smooth.rank().corr(exact.rank()):.3f}",
            ]
        what = f"{str(dataset).capitalize()}, {' and '.join(each['columns'].iloc[0])}"
        rows.append([protocol, what, str(notion).upper(), len(each), *compared])
    head = ["protocol", "dataset, attribute", "notion", "models", "exact cost per person"]
    return Table([*head, "smooth / exact", "rank correlation"], rows)
