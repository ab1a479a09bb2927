"""The page that says which claims of the paper hold, written from results alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from otfair._io.files import write_bytes
from otfair._io.rendering import templates
from otfair.reproduction._claims import INTERVAL, SHARES, Difference, at, curve, difference
from otfair.reproduction._figures import STYLES
from otfair.reproduction._frames import BOTH, PANEL_OF, PANELS, select, title, to_frame, violins
from otfair.reproduction._store import Result
from otfair.reproduction._train import OTF_SCALE
from otfair.reproduction._verdicts import CLAIMS, UNKNOWN, Evidence, by_epsilon

CAPTIONS = {
    "curves_full_test": "Full protocol, test set",
    "curves_full_train": "Full protocol, train set",
    "curves_paper_test": "The paper's protocol, test set",
    "curves_paper_train": "The paper's protocol, train set",
    "postprocess": "Post-processing: nothing but cross-entropy, then nothing but OTF",
    "epsilon": "Scores by smoothing and strength, full protocol",
    "epsilon_paper": "Scores by smoothing and strength, the paper's protocol",
    "epsilon_published": "Scores by smoothing and strength, the published ascent",
}


@dataclass(frozen=True)
class Table:
    """A heading and rows of text, as Markdown."""

    head: list[str]
    rows: list[list[str]]

    def __str__(self) -> str:
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

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
    claims = [
        (text, {protocol: judge(evidence, protocol) for protocol in protocols})
        for text, judge in CLAIMS.items()
    ]
    kinds = set(zip(frame["experiment"], frame["protocol"]))
    there = {"postprocess"} if ("postprocess", "paper") in kinds else set()
    there |= set(violins(frame))
    there |= {f"curves_{p}_{k}" for e, p in kinds if e == "curves" for k in ("test", "train")}
    drawn = [name for name in CAPTIONS if name in there]
    return (
        templates("otfair.reproduction", escape=False)
        .get_template("results.md")
        .render(
            runs=len(results),
            dates=sorted({r.finished[:10] for r in results if r.finished}),
            versions=sorted({f"{k} {v}" for r in results for k, v in r.versions.items()}),
            protocols=protocols,
            claims=claims,
            unknown=UNKNOWN,
            figures={f"{figures}/{name}.png": CAPTIONS[name] for name in drawn},
            comparisons={
                (protocol, part): _compared(table)
                for (protocol, part), table in evidence.tables.items()
                if len(table)
            },
            counts=_counts(frame),
            commands=_commands(frame),
            scales=[
                f"{dataset.capitalize()} by {attribute} {factor:g} ({notion.upper()})"
                for (dataset, attribute, notion), factor in OTF_SCALE.items()
            ],
            full_minutes=_minutes(frame),
            converged=_converged(frame),
            published=_published(frame),
            protocols_compared=_protocols(frame),
            costs=_costs(frame),
            smoothing={
                f"{protocol} protocol{', published ascent' * (method == 'coordinate')}": table
                for protocol, method in (("full", "otf"), ("paper", "otf"), ("paper", "coordinate"))
                if (table := _smoothing(evidence, protocol, method))
            },
        )
    )


def _compared(table: pd.DataFrame) -> Table:
    """Tabulate differences by panel, notion and baseline; a column for each share."""
    rows: dict[tuple[str, ...], dict[float, Difference]] = {}
    for row in table.to_dict("records"):
        panel = PANEL_OF[row["dataset"], row["attribute"]]
        key = (title(panel), row["notion"].upper(), row["against"].capitalize(), str(row["ran"]))
        rows.setdefault(key, {})[row["share"]] = row["difference"]
    head = ["dataset, attribute", "notion", "against", "splits", *(f"{s:g}" for s in SHARES)]
    return Table(
        head, [[*key, *(_cell(d[s], int(key[3])) for s in SHARES)] for key, d in rows.items()]
    )


def _cell(found: Difference, ran: int) -> str:
    """Return the text of a difference, bold where it is not zero, with the splits if not all."""
    text = str(found)
    sure = found.splits >= INTERVAL and (found.above(0) or found.below(0))
    if sure and abs(found.mean) >= 5e-5:
        text = f"**{text}**"
    if found.splits in (0, ran):
        return text
    return f"{text} ({found.splits} split{'s' if found.splits > 1 else ''})"


def _smoothing(evidence: Evidence, protocol: str, method: str) -> Table:
    table = by_epsilon(evidence, protocol, method)
    rows = {
        epsilon: {row["share"]: row["difference"] for row in own.to_dict("records")}
        for epsilon, own in ((e, select(table, epsilon=e)) for e in table["epsilon"].unique())
    }
    none = Difference(0.0, 0.0, 0.0, 0)
    ran = max((d.splits for own in rows.values() for d in own.values()), default=0)
    head = ["epsilon 1e-3 against", *(f"{s:g}" for s in SHARES)]
    return Table(
        head,
        [
            [f"{epsilon:g}", *(_cell(d.get(s, none), ran) for s in SHARES)]
            for epsilon, d in rows.items()
        ],
    )


def _counts(frame: pd.DataFrame) -> Table:
    """Tabulate what was run: splits, runs, minutes of one core."""
    frame = frame.assign(trained=[" and ".join(c) for c in frame["columns"]])
    by = ["protocol", "experiment", "dataset", "method", "trained"]
    rows = []
    for key, own in frame.groupby(by):
        protocol, experiment, dataset, method, trained = map(str, key)
        spent = own["seconds"].sum() / 60
        splits, runs = str(own["split"].nunique()), str(len(own))
        label = STYLES[method][0]
        rows.append([protocol, experiment, dataset, label, trained, splits, runs, f"{spent:.1f}"])
    return Table([*by[:4], "trained on", "splits", "runs", "minutes"], rows)


def _commands(frame: pd.DataFrame) -> list[str]:
    """Return the commands that make these runs."""
    out = []
    for (protocol, experiment, dataset), own in frame.groupby(
        ["protocol", "experiment", "dataset"]
    ):
        target, splits = dataset if experiment == "curves" else experiment, own["split"].nunique()
        out.append(f"otfair reproduce {target} --protocol {protocol} --splits {splits}")
    return out


def _minutes(frame: pd.DataFrame) -> dict[str, float]:
    """Minutes of one core that the curves of the full protocol took, Bank by age apart."""
    own = select(frame, protocol="full", experiment="curves")
    apart = own["columns"].map(lambda c: c == ("age",))
    return {
        "within": float(own[~apart]["seconds"].sum() / 60),
        "apart": float(own[apart]["seconds"].sum() / 60),
    }


def _converged(frame: pd.DataFrame) -> dict[str, tuple[int, int]]:
    """Count by method the models of the full protocol that settled, and all."""
    own = frame[(frame["protocol"] == "full") & frame.get("converged", pd.Series()).notna()]
    return {
        STYLES[str(method)][0]: (int(each["converged"].astype(bool).sum()), len(each))
        for method, each in own.groupby("method")
    }


def _published(frame: pd.DataFrame) -> Table:
    """Tabulate the published ascent beside OTF with converged duals at the same share, on Adult."""
    frame = select(frame, protocol="paper", dataset="adult")
    runs = select(frame, experiment="curves", split=0)
    panel, rows = PANEL_OF["adult", BOTH], []
    by = {(r["method"], r["notion"], r["alpha"], r["sweeps"]): r for r in runs.to_dict("records")}
    for notion, alpha in product(("pdp", "peo"), (0.1, 0.5, 0.9)):
        x, cells = f"test_{notion}_{BOTH}", []
        own = curve(frame, panel, notion, "otf", protocol="paper")
        for sweeps in (100, 1):
            found = by.get(("coordinate", notion, alpha, sweeps))
            if found:
                same = at(own, 0, x, "test_auc", found[x])
                there = "-" if np.isnan(same) else f"{same:.4f}"
                cells += [f"{found[x]:.0%}, {found['test_auc']:.4f}", there]
        if len(cells) == 4:
            rows.append([notion.upper(), f"{alpha:g}", *cells])
    head = ["notion", "alpha", "up to 100 sweeps", "OTF there", "one sweep", "OTF there"]
    return Table(head, rows)


def _protocols(frame: pd.DataFrame) -> Table:
    """Tabulate the AUC that the full protocol gains over the paper's, at equal violation."""
    rows = []
    for panel, notion, method in product(PANELS, ("pdp", "peo"), ("otf", "norm")):
        one, other = (curve(frame, panel, notion, method, protocol=p) for p in ("full", "paper"))
        both = sorted(set(one["split"]) & set(other["split"]))
        if not len(one) or method not in set(other["method"]):
            continue
        cells = [
            _cell(
                difference(
                    one[one["split"].isin(both)], other, one[one["split"].isin(both)],
                    f"{part}_{notion}_{panel[1]}", f"{part}_auc", share,
                ),
                len(both),
            )
            for part, share in product(("train", "test"), (0.5, 0.25))
        ]  # fmt: skip
        rows.append([title(panel), notion.upper(), STYLES[method][0], str(len(both)), *cells])
    head = ["dataset, attribute", "notion", "method", "splits"]
    return Table([*head, "train, 0.5", "train, 0.25", "test, 0.5", "test, 0.25"], rows)


def _costs(frame: pd.DataFrame) -> Table:
    """Tabulate how far smooth and exact costs of the trained models agree."""
    if "exact_cost" not in frame:
        return Table([], [])
    own = frame[frame["exact_cost"].notna()]
    rows = []
    for (protocol, dataset, _, notion), each in own.groupby(
        ["protocol", "dataset", "columns", "notion"]
    ):
        costly = each[each["exact_cost"] > 0]
        ratio = costly["smooth_cost"] / costly["exact_cost"]
        compared = [f"0 (smooth: up to {each['smooth_cost'].max():.1e})", "-", "-"]
        if len(costly):
            compared = [
                f"{each['exact_cost'].max():.1e} to {each['exact_cost'].min():.1e}",
                f"{ratio.min():.3f} to {ratio.max():.3f}",
                f"{each['smooth_cost'].rank().corr(each['exact_cost'].rank()):.3f}",
            ]
        rows.append(
            [
                str(protocol),
                f"{str(dataset).capitalize()}, {' and '.join(each['columns'].iloc[0])}",
                str(notion).upper(),
                str(len(each)),
                *compared,
            ]
        )
    head = ["protocol", "dataset, attribute", "notion", "models", "exact cost per person"]
    return Table([*head, "smooth / exact", "rank correlation"], rows)
