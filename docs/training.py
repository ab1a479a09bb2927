"""Write the tables of docs/training.md from the runs that are committed."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
from pages import BENCHMARKS, DOCS, fill, mean_and_reach, number, shown, table, where_it_falls

from otfair.reproduction import read_csv, to_frame
from otfair.reproduction._claims import compare, counting, mean_difference
from otfair.reproduction._frames import LARGER
from otfair.reproduction._verdicts import MARGIN

PAGE = DOCS / "training.md"
SHARES = (0.75, 0.5, 0.25, 0.1)  # of the violation of the unfair model
NOTIONS = {"pdp": "PDP", "peo": "PEO"}
ATTRIBUTES = {
    "adult:sex,race": "Adult, sex and race",
    "acs_income:sex,race": "ACSIncome, sex and race",
    "bank:age_binned,marital": "Bank, age and marital status",
    "dutch:sex,country_birth": "Dutch, sex and country of birth",
    "diabetes:gender,race": "Diabetes, gender and race",
    "synthetic:sex,origin": "Synthetic, sex and origin",
}
BY_ATTRIBUTE = {
    "norm": "Norm p = 1", "people": "OTF, one for all", "attributes": "OTF, one for each",
}  # fmt: skip
GROUPS = {
    "acs_income:race": "ACSIncome, race (9)", "diabetes:race": "Diabetes, race (5)",
    "synthetic:origin": "Synthetic, origin (3)",
}  # fmt: skip
BY_GROUP = {"people": "OTF, one for all", "groups": "OTF, one for each group"}
DATASETS = {"adult": "Adult", "bank": "Bank", "dutch": "Dutch", "diabetes": "Diabetes"}
WORDS = {"pdp": "demographic parity", "peo": "equalized odds"}
RIDGES = {
    "C=None": "none", "C=10.0": "C = 10", "C=1.0": "C = 1", "C=0.1": "C = 0.1",
    "C=0.01": "C = 0.01", "C=0.001": "C = 0.001",
}  # fmt: skip
WIDE = {"acs": "ACSIncome, 529 occupations", "wide": "Diabetes with diagnoses"}
AGAINST = {
    "adult:sex,race": "Adult by sex and race", "bank:age": "Bank by age",
    "compas:race,sex": "COMPAS by race and sex", "law:race,Sex": "Law school by race and sex",
}  # fmt: skip
PENALTIES = {"otf": "OTF", "norm": "Norm p = 1", "norm2": "Norm p = 2"}
VIOLATIONS = (0.15, 0.10, 0.06, 0.03)
NEAR = {0.15: (0.5, "half"), 0.03: (0.1, "a tenth")}  # about what share that is on Adult
TESTED = 0.2 / 0.8  # test people for each who trains
PROMISES = {
    ("logistic", 0.12, "default"): "as it is: `cv=5`, `new_people=1/3`",
    ("logistic", 0.1, "new_people=1"): "`new_people=1`",
    ("xgboost", 0.12, "new_people=1"): "`new_people=1`, XGBoost",
    ("logistic", 0.12, "cv=2"): "`cv=2`, Adult alone",
    ("logistic", 0.12, "cv=10"): "`cv=10`, Adult alone",
    ("logistic", 0.12, "validation_fraction=0.2"): "`validation_fraction=0.2`",
}
LIMIT = 0.05  # that models were asked to keep
MODELS = {"logistic": "logistic", "xgboost": "XGBoost"}
SIZES = {1000: "1000", 5000: "5000", 0: "whole"}


def cell(paths: pd.DataFrame) -> str:
    """Return the AUC at each share, means over splits."""
    splits = [path for _, path in paths.sort_values("alpha").groupby("split")]
    found = (
        np.mean([where_it_falls(path["share"], path["train_auc"], share) for path in splits])
        for share in SHARES
    )
    return "/".join(map(number, found))


def at_shares(runs: pd.DataFrame, tables: dict[str, str], methods: dict[str, str]) -> str:
    """Return the AUC of methods at equal shares, by table and notion."""
    rows = []
    for name, title in tables.items():
        for notion, called in NOTIONS.items():
            part = runs[(runs["table"] == name) & (runs["notion"] == notion)]
            cells = [cell(part[part["method"] == method]) for method in methods]
            rows.append([title if notion == "pdp" else "", called, *cells])
    return table(["", "notion", *methods.values()], rows)


def targets(runs: pd.DataFrame) -> str:
    """Return how often a limit was kept among other people: before, and with people kept out."""
    runs = runs.assign(size=runs["n"].where(runs["n"].isin([*SIZES]), 0))
    key = ["table", "n", "seed", "model"]
    old, new = (
        runs[runs["judges"] == who].set_index(key) for who in ("training people", "people kept out")
    )
    old = old.loc[new.index]  # not all whole tables were run again
    rows = []
    for size, called in SIZES.items():
        for model, title in MODELS.items():
            was, now = (
                x[(x["size"] == size) & (x.index.isin([model], "model"))] for x in (old, new)
            )
            sure, missed = now["said"] == 0, now["others"] > LIMIT
            rows.append(
                [called if model == "logistic" else "", title, f"{len(now)}",
                 f"{(was['others'] > LIMIT).sum()}", number(was["others"].max(), 3),
                 number(was["auc"].mean(), 3), f"{sure.sum()}", f"{missed.sum()}",
                 f"**{(missed & sure).sum()}**",
                 number(now["others"][sure].max(), 3) if sure.any() else "-",
                 number(now["auc"].mean(), 3)]
            )  # fmt: skip
    return table(
        ["people", "model", "runs", "before: missed, all unsaid", "worst", "AUC", "now: promised",
         "missed", "unsaid", "worst of the promised", "AUC"], rows,
    )  # fmt: skip


def promises(runs: pd.DataFrame) -> str:
    """Return how often promises were kept, among new people and among all others."""
    rows = []
    for model, limit, setting in PROMISES:
        own = runs[(runs["model"] == model) & (runs["limit"] == limit)]
        own = own[own["setting"] == setting]
        sure = own[own["said"] == 0]
        kept = [f"{(sure[c] <= limit).sum()} of {len(sure)}" for c in ("sample", "others")]
        rows.append(
            [PROMISES[model, limit, setting], f"{limit:g}", f"{len(sure)} of {len(own)}", *kept,
             number(own["judged"].mean(), 3), number(own["others"].mean(), 3),
             f"{own['seconds'].mean():.1f} s"]
        )  # fmt: skip
    return table(
        ["", "limit", "promised", "kept among new people", "among all others", "judged, mean",
         "found among the others", "time"], rows,
    )  # fmt: skip


def alphas(runs: pd.DataFrame) -> str:
    """Return what strengths leave of the unconstrained training violation."""
    runs, rows = runs[runs["model"] == "logistic"], []
    strengths = sorted(set(runs["alpha"]) - {0.0})
    for name, title in DATASETS.items():
        for notion, called in WORDS.items():
            own = runs[(runs["dataset"] == name) & (runs["notion"] == notion)].set_index("alpha")
            left = own["train_violation"] / own["train_violation"][0.0]
            balance = float(f"{own['balance'].iloc[0]:.3g}")
            cells = [f"{left[alpha]:.2f}" for alpha in strengths]
            rows.append([f"{title}, {called}", *cells, f"{balance:.0f}"])
    return table(["alpha", *[f"{alpha:g}" for alpha in strengths], "balance"], rows)


def ridges(runs: pd.DataFrame) -> str:
    """Return test log-loss and AUC by ridge; the lowest loss of a row is bold."""
    runs, rows = runs[(runs["alpha"] == 0) & runs["setting"].isin([*RIDGES])], []
    for name, title in {**DATASETS, **WIDE}.items():
        part = runs[runs["table"] == name]
        for people, own in part.groupby("rows"):
            means = own.groupby("setting")[["loss", "auc"]].mean()
            low = number(means["loss"].min(), 3)
            cells = [
                f"**{loss}** {auc}" if loss == low else f"{loss} {auc}"
                for loss, auc in ((number(means.loc[c, x], 3) for x in ("loss", "auc"))
                                  for c in RIDGES)
            ]  # fmt: skip
            first = title if people == part["rows"].min() else ""
            rows.append([first, f"{people}", number(own["rate_loss"].mean(), 3), *cells])
    return table(["", "people", "base rate", *RIDGES.values()], rows)


def by_split(
    part: pd.DataFrame, notion: str, target: float, column: str
) -> dict[str, np.ndarray] | None:
    """Return a column of each penalty at a violation, split by split; None if one is not so low."""
    found = {
        method: np.array(
            [where_it_falls(path[f"train_{notion}"], path[column], target)
             for _, path in part[part["method"] == method].sort_values("alpha").groupby("split")]
        )
        for method in PENALTIES
    }  # fmt: skip
    return None if any(np.isnan(x).any() for x in found.values()) else found


def against_norm(runs: pd.DataFrame) -> tuple[str, str]:
    """Return AUC at equal training violations with OTF's leads, and where intervals tell."""
    rows: list[list[str]] = []
    sure: dict[bool, dict[str, list[str]]] = {True: {}, False: {}}  # ahead or not, where
    count = level = 0
    for (name, title), notion in product(AGAINST.items(), ("peo", "pdp")):
        part = runs[(runs["table"] == name) & (runs["notion"] == notion)]
        free = part[(part["alpha"] == 0) & (part["method"] == "otf")].mean(numeric_only=True)
        auc, unfair = number(free["train_auc"]), number(free[f"train_{notion}"], 3)
        first = f"{title}, {WORDS[notion]} (unconstrained {auc} at {unfair})"
        for target in VIOLATIONS:
            train, test = (by_split(part, notion, target, f"{x}_auc") for x in ("train", "test"))
            if train is None or test is None:
                continue
            high = max(number(x.mean()) for x in train.values())
            cells = []
            for method in PENALTIES:
                own, other = number(train[method].mean()), number(test[method].mean())
                cells.append(f"**{own}** ({other})" if own == high else f"{own} ({other})")
            for peer in ("norm", "norm2"):
                lead = test["otf"] - test[peer]
                cells.append(shown(lead, sign=True, tested=TESTED))
                mean, reach = mean_and_reach(lead, TESTED)
                where = f"{title}, {WORDS[notion]}, of {PENALTIES[peer]}"
                if abs(mean) > reach and cells[-1].split(" ± ")[0] not in ("+.0000", "-.0000"):
                    sure[mean > 0].setdefault(where, []).append(number(target, 2))
                else:
                    level += abs(mean) + reach < MARGIN
                count += 1
            rows.append([first, number(target, 2), *cells])
            first = ""
    counts = {kind: sum(map(len, found.values())) for kind, found in sure.items()}
    where = {
        kind: "; ".join(f"{place} at {' and '.join(targets)}" for place, targets in found.items())
        for kind, found in sure.items()
    }
    words = (
        f"Of the {count} leads OTF is surely ahead in {counts[True]} ({where[True]}) and surely "
        f"behind in {counts[False]} ({where[False]}). Of the others {level} are level, with "
        f"intervals within {MARGIN:g} of zero, and {count - level - sum(counts.values())} are "
        "undecided: so few splits do not tell."
    )
    head = [*PENALTIES.values(), "test lead over p = 1", "over p = 2"]
    return table(["", "violation", *head], rows), words


def against_results(norm: pd.DataFrame, results: pd.DataFrame) -> str:
    """Say where the leads over Norm on Adult agree with those of the page of results."""
    norm = norm[norm["table"] == "adult:sex,race"]
    results = results[(results["attribute"] == LARGER) & counting(results)]
    lines = []
    for notion, (target, (share, left)) in product(("peo", "pdp"), NEAR.items()):
        test = by_split(norm[norm["notion"] == notion], notion, target, "test_auc")
        own = results[(results["notion"] == notion) & (results["share"] == share)]
        if test is None or own.empty:
            continue
        here, there = mean_difference((test["otf"] - test["norm"]).tolist()), own.iloc[0].difference
        one, two = (
            "surely ahead" if d.above(0) else "surely behind" if d.below(0) else "undecided"
            for d in (here, there)
        )
        lines.append(
            f"- {WORDS[notion].capitalize()}, about {left} left: they "
            f"**{'agree' if one == two else 'differ'}**. OTF is {one} at {number(target, 2)} "
            f"above, {here} ({here.splits} splits), and {two} in the results, {there} "
            f"({there.splits} splits)."
        )
    return "\n".join(lines)


def parts() -> dict[str, str]:
    """Return what stands between the marks of the page."""
    shares = pd.read_csv(BENCHMARKS / "attributes.csv")
    runs = pd.read_csv(BENCHMARKS / "norm.csv")
    norm, words = against_norm(runs)
    results = compare(to_frame(read_csv(DOCS / "results.csv")), "full", "test", "otf", ("norm",))
    return {
        "alphas": alphas(pd.read_csv(BENCHMARKS / "alphas.csv")),
        "ridges": ridges(pd.read_csv(BENCHMARKS / "defaults.csv")),
        "against norm": norm,
        "against norm in words": words,
        "against results": against_results(runs, results),
        "attributes": at_shares(shares, ATTRIBUTES, BY_ATTRIBUTE),
        "groups": at_shares(shares, GROUPS, BY_GROUP),
        "promises": promises(pd.read_csv(BENCHMARKS / "promises.csv")),
        "targets": targets(pd.read_csv(BENCHMARKS / "targets.csv")),
    }


if __name__ == "__main__":
    fill(PAGE, parts())
