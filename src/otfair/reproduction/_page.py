"""The page that says which claims of the paper hold, written from results alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from otfair._io.files import write_bytes
from otfair._io.rendering import templates
from otfair.reproduction._claims import (
    SHARED,
    SHARES,
    WIDEST_STEP,
    Difference,
    compare,
    curve,
    difference,
    mean_difference,
)
from otfair.reproduction._commands import commands
from otfair.reproduction._evidence import MARGIN, UNKNOWN, Evidence, Verdict
from otfair.reproduction._figures import REST, drawings
from otfair.reproduction._frames import (
    PANELS,
    PROTOCOLS,
    SETUPS,
    Setup,
    select,
    title,
    to_frame,
    trained,
)
from otfair.reproduction._plan import BETWEEN
from otfair.reproduction._stands import detailed, left_out, reading, verdict
from otfair.reproduction._store import Result
from otfair.reproduction._styles import STYLES
from otfair.reproduction._summary import SEX_OVER_RACE, bound, multiplicity, summary
from otfair.reproduction._tables import Table
from otfair.reproduction._train import OTF_SCALE
from otfair.reproduction._verdicts import CLAIMS, by_epsilon

MARGINS = (0.0, 0.001, 0.002, 0.005)  # by which it is shown what the margin decides


def write_page(results: Iterable[Result], path: Path, *, figures: str = ".") -> None:
    """Write the page as Markdown; `figures` is the folder of the pictures, seen from the page."""
    results = [r for r in results if not r.error]
    write_bytes(path, page(results, figures).encode())


def page(results: list[Result], figures: str = ".") -> str:
    """Return the text of the page."""
    frame = to_frame(results)
    evidence = Evidence.of(frame)
    protocols = [p for p in ("full", "paper") if (frame["protocol"] == p).any()]
    ran = set(zip(frame["protocol"], frame["method"]))
    setups = [s for s in SETUPS if (s.protocol, s.method) in ran]
    claims = {text: {s.name: judge(evidence, s) for s in setups} for text, judge in CLAIMS.items()}
    template = templates("otfair.reproduction", escape=False).get_template("results.md")
    return template.render(
        runs=len(results),
        dates=sorted({r.finished[:10] for r in results if r.finished}),
        versions=sorted(
            {f"{k} {v}" for r in results for k, v in r.versions.items() if k != "commit"}
        ),
        protocols=protocols,
        setups=setups,
        claims=claims,
        found={text: _found(verdicts) for text, verdicts in claims.items()},
        few_splits=_few_splits(frame),
        unknown=UNKNOWN,
        margin=MARGIN,
        widest_step=WIDEST_STEP,
        shared=SHARED,
        verdict=verdict(frame),
        reading=reading(frame),
        standings=detailed(frame),
        left_out=left_out(frame),
        bound=bound(frame),
        summary=summary(frame, claims),
        figures_by_claim={text: _judged(found, setups) for text, found in claims.items()},
        sex_over_race=SEX_OVER_RACE,
        margins=_margins(evidence, setups),
        folded=REST,
        figures={f"{figures}/{name}.png": text for name, (text, _) in drawings(frame).items()},
        comparisons={
            f"{s.title}, {part} set": _compared(evidence.tables[s.name, part])
            for s, part in product(setups, ("test", "train"))
            if len(evidence.tables[s.name, part])
        },
        multiplicity=multiplicity(evidence),
        others=_against(frame, {"otf": ("norm2", "correlation")}, ("full",)),
        commits=_commits([r for r in results if "commit" in r.versions]),
        unnamed=_unnamed([r for r in results if "commit" not in r.versions]),
        counts=_counts(frame),
        commands=commands([r.run for r in results]),
        scales={(d, trained([a]), n): scale for (d, a, n), scale in OTF_SCALE.items()},
        between=_between(frame),
        full_minutes=_minutes(frame),
        converged=_converged(frame),
        published=_against(frame, {"otf": ("coordinate",)}, ("paper",)),
        protocols_compared=_protocols(frame),
        costs=_costs(frame),
        smoothing=_smoothing(evidence),
        by_attribute=_against(
            frame, {"otf_attributes": ("otf", "norm", "norm2", "correlation")}, ("full", "paper")
        ),
    )


def _found(verdicts: Mapping[str, Verdict]) -> str:
    """Return the first verdict on a claim that enough runs allow."""
    words = [v.word for v in sorted(verdicts.values(), key=lambda v: not v.judged)]
    return words[0] if words else UNKNOWN


def _judged(verdicts: Mapping[str, Verdict], setups: Sequence[Setup]) -> Table:
    """Tabulate the verdicts on a claim, with the figures behind them."""
    known = [s for s in setups if verdicts[s.name].word != UNKNOWN]
    columns = list(dict.fromkeys(k for s in known for k in verdicts[s.name].figures))
    rows = []
    for setup in known:
        found = verdicts[setup.name]
        said = f"**{found.word}**" if found.judged else found.word
        figures = [found.figures.get(column, "") for column in columns]
        rows.append([setup.title, said, found.count, *figures])
    return Table(["", "verdict", "as claimed in", *columns], rows)


def _compared(table: pd.DataFrame) -> Table:
    names = {method: style[0] for method, style in STYLES.items()}
    words = {"notion": table["notion"].str.upper(), "against": table["against"].map(names)}
    head = ["dataset, attribute", "notion", "against", "splits"]
    return _by_share(table.assign(**words), ["panel", "notion", "against", "ran"], head)


def _against(
    frame: pd.DataFrame, compared: dict[str, tuple[str, ...]], protocols: tuple[str, ...]
) -> dict[str, Table]:
    """Compare methods with others, by protocol and part; only where both were run."""
    out = {}
    for protocol, part, (mine, others) in product(protocols, ("test", "train"), compared.items()):
        table = compare(frame, protocol, part, mine, others)
        if len(table):
            out[f"{PROTOCOLS[protocol]}, {part} set"] = _compared(table)
    return out


def _margins(evidence: Evidence, setups: Sequence[Setup]) -> Table:
    """Tabulate how the verdicts on the first five claims depend on the margin."""
    rows = []
    for number, (setup, judge) in enumerate(product(setups, list(CLAIMS.values())[:5])):
        found = [judge(replace(evidence, margin=margin), setup) for margin in MARGINS]
        if any(v.judged for v in found):
            cells = [f"{v.word}, {v.count}" if v.count else v.word for v in found]
            rows.append([setup.title, number % 5 + 1, *cells])
    return Table(["", "claim", *(f"{margin:g}" for margin in MARGINS)], rows)


def _commits(results: list[Result]) -> Table:
    """Tabulate by which commit of the package runs were made."""
    rows = [(r.versions["commit"], r.run.protocol, r.run.method, r.finished) for r in results]
    frame = pd.DataFrame(rows, columns=["commit", "protocol", "method", "finished"])
    out = []
    for (commit, protocol), own in frame.groupby(["commit", "protocol"]):
        methods = ", ".join(STYLES[m][0] for m in STYLES if m in set(own["method"]))
        dates = sorted({text[:10] for text in own["finished"]})
        out.append(
            [commit, protocol, methods, len(own), " to ".join(dict.fromkeys([dates[0], dates[-1]]))]
        )
    return Table(["commit", "protocol", "methods", "runs", "made"], out)


def _unnamed(results: list[Result]) -> Table:
    """Tabulate which runs name no commit."""
    frame = pd.DataFrame([vars(r.run) for r in results])
    by, rows = ["protocol", "experiment", "dataset", "columns"], []
    for (*settings, _), own in frame.groupby(by) if len(frame) else ():
        splits: dict[str, list[str]] = {}  # methods by the splits that they have
        for method in STYLES:
            found = sorted(set(select(own, method=method)["split"]))
            if found:
                splits.setdefault(_listed(found), []).append(STYLES[method][0])
        said = "; ".join(f"{', '.join(names)}: {text}" for text, names in splits.items())
        rows.append([*settings, trained(own["columns"].iloc[0]), said, len(own)])
    return Table([*by[:3], "trained on", "methods: splits", "runs"], rows)


def _few_splits(frame: pd.DataFrame) -> str:
    """Name the tables on which the published method has fewer splits than on others."""
    own = select(frame, experiment="curves", protocol="paper", method="coordinate")
    counts = {
        f"{str(dataset).capitalize()} by {trained(part['columns'].iloc[0])}": part[
            "split"
        ].nunique()
        for (dataset, _), part in own.groupby(["dataset", "columns"], sort=False)
    }
    most = max(counts.values(), default=0)
    return ", ".join(f"{name} {n} of {most}" for name, n in counts.items() if n < most)


def _listed(numbers: list[int]) -> str:
    """Write sorted numbers with runs of them as a span: 0, 3 to 5."""
    out: list[list[int]] = []
    for n in numbers:
        if out and out[-1][-1] == n - 1:
            out[-1].append(n)
        else:
            out.append([n])
    return ", ".join(f"{s[0]} to {s[-1]}" if len(s) > 1 else str(s[0]) for s in out)


def _smoothing(evidence: Evidence) -> dict[str, Table]:
    """Tabulate how the AUC of epsilon 1e-3 compares with that of others."""
    out = {}
    for setup in SETUPS:
        table = by_epsilon(evidence, setup)
        if len(table):
            out[setup.title] = _by_share(table, ["epsilon"], ["epsilon 1e-3 against"])
    return out


def _by_share(table: pd.DataFrame, by: list[str], head: list[str]) -> Table:
    """Tabulate differences; a column for each share."""
    rows = []
    for key, own in table.groupby(by, sort=False):
        found, ran = dict(zip(own["share"], own["difference"])), int(own["ran"].max())
        cells = (_cell(found.get(s, mean_difference([])), ran) for s in SHARES)
        rows.append([*key, *cells])
    return Table([*head, *(f"{share:g}" for share in SHARES)], rows)


def _cell(found: Difference, ran: int) -> str:
    """Return the text of a difference, bold where it is not zero, with the splits if not all."""
    text = str(found)
    if (found.above(0) or found.below(0)) and abs(found.mean) >= 5e-5:
        text = f"**{text}**"
    if found.splits in (0, ran):
        return text
    return f"{text} ({found.splits} split{'s' if found.splits > 1 else ''})"


def _between(frame: pd.DataFrame) -> list[str]:
    """Name the strengths of the paper's protocol that the paper does not have, and were run."""
    own = select(frame, protocol="paper", experiment="curves")
    ran = set(zip(own["dataset"], own["method"], own["alpha"]))
    said = []
    for (dataset, method), alphas in BETWEEN.items():
        made = [f"{alpha:g}" for alpha in alphas if (dataset, method, alpha) in ran]
        if made:
            said.append(f"{dataset.capitalize()}, {STYLES[method][0]}: {', '.join(made)}")
    return said


def _counts(frame: pd.DataFrame) -> Table:
    """Tabulate what was run: splits, runs, minutes of one core."""
    frame = frame.assign(trained=frame["columns"].map(trained))
    by, rows = ["protocol", "experiment", "dataset", "method", "trained"], []
    for (*settings, method, columns), own in frame.groupby(by):
        counts = [own["split"].nunique(), len(own), f"{own['seconds'].sum() / 60:.1f}"]
        rows.append([*settings, STYLES[str(method)][0], columns, *counts])
    return Table([*by[:4], "trained on", "splits", "runs", "minutes"], rows)


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


def _protocols(frame: pd.DataFrame) -> Table:
    """Tabulate the AUC that the full protocol gains over the paper's, at equal shares.

    Each is compared where a share of the violation of its own unfair model is left.
    """
    rows, compared = [], list(product(("train", "test"), (0.5, 0.25)))
    for panel, notion, method in product(PANELS, ("pdp", "peo"), ("otf", "norm")):
        one, other = (curve(frame, panel, notion, method, protocol=p) for p in ("full", "paper"))
        mutual = [set(select(each, method=method)["split"]) for each in (one, other)]
        splits = len(set.intersection(*mutual))
        cells = []
        for part, share in compared if splits else ():
            found = difference(one, other, part, f"{notion}_{panel[1]}", share)
            cells.append(_cell(found, splits))
        if splits:
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
        what = f"{str(dataset).capitalize()}, {trained(each['columns'].iloc[0])}"
        rows.append([protocol, what, str(notion).upper(), len(each), *compared])
    head = ["protocol", "dataset, attribute", "notion", "models", "exact cost per person"]
    return Table([*head, "smooth / exact", "rank correlation"], rows)
