"""The tables of networks on ACSIncome, for docs/benchmarks.md."""

from __future__ import annotations

import numpy as np
import pandas as pd

from . import runs as data
from .runs import number

ORDER = (
    "none", "none, shrunk", "fairret, Norm", "fairret, KL projection", "OTF", "OTF, by group",
    "Norm",
)  # fmt: skip
TITLES = {
    "none": "no penalty", "none, shrunk": "no penalty, scores shrunk", "OTF": "`OTFLoss`",
    "OTF, by group": '`OTFLoss(weigh="groups")`', "Norm": "`NormLoss`",
}  # fmt: skip
# Largest shares by which the mean score of a group may be off, as in ABCFair where it has them.
BELOW = {"sex": (0.05, 0.03, 0.01), "race": (0.16, 0.12, 0.08), "sex and race": (0.35, 0.2, 0.1)}
SHARES = (0.75, 0.5, 0.25)  # of the correlation without a penalty
PUBLISHED = {"sex": "sex", "sex and race": "crossed"}


def means(runs: pd.DataFrame, groups: str, method: str) -> pd.DataFrame:
    """Return means over seeds that a method has finished for these groups, by strength."""
    part = runs[(runs["groups"] == groups) & (runs["method"] == method)]
    columns = [c for c in part if c.split("_")[-1] in ("validation", "test")]
    return part.groupby("strength")[[*columns, "train", "predict"]].mean()


def chosen(runs: pd.DataFrame, groups: str, method: str, most: float) -> pd.Series | None:
    """Return the strength of the best validation AUC of those within a validation violation."""
    mean = means(runs, groups, method)
    within = mean[mean["violation_validation"] < most]
    return within.loc[within["auc_validation"].idxmax()] if len(within) else None


def below(runs: pd.DataFrame) -> str:
    """Return test AUC, and test violation, where the violation of validation people is below k."""
    rows = []
    for method in ORDER:
        cells = []
        for groups, limits in BELOW.items():
            for most in limits:
                own = chosen(runs, groups, method, most) if have(runs, groups, method) else None
                cells.append(
                    "-" if own is None
                    else f"{number(own['auc_test'])} ({number(own['violation_test'], 3)})"
                )  # fmt: skip
        rows.append([TITLES.get(method, method), *cells])
    head = [f"{g}, {number(k, 2)}" for g, limits in BELOW.items() for k in limits]
    return table(["below", *head], rows)


def correlated(runs: pd.DataFrame) -> str:
    """Return test AUC where the correlation of scores and groups is a share of the free one's."""
    rows = []
    for method in ORDER[1:]:
        cells = []
        for groups in BELOW:
            for share in SHARES:
                found = at_share(runs, groups, method, share)
                cells.append("-" if np.isnan(found) else number(found))
        rows.append([TITLES.get(method, method), *cells])
    head = [f"{groups}, {number(share, 2)}" for groups in BELOW for share in SHARES]
    return table(["share left", *head], rows)


def at_share(runs: pd.DataFrame, groups: str, method: str, share: float) -> float:
    """Return the AUC between the points of a curve that begins without a penalty."""
    if not have(runs, groups, method):
        return np.nan
    both = kept(runs, groups, method, "correlation").sort_values("correlation_test")
    target = share * means(runs, groups, "none")["correlation_test"].iloc[0]
    x, y = both["correlation_test"].to_numpy(), both["auc_test"].to_numpy()
    return float(np.interp(target, x, y)) if target >= x[0] else np.nan


def shrunk(runs: pd.DataFrame) -> str:
    """Return what shrinking does to each measure, and fairret's KL projection beside it."""
    rows = []
    for method in ("none", "none, shrunk", "fairret, KL projection", "OTF"):
        for strength, own in means(runs, "sex", method).iterrows():
            left = {"none, shrunk": f", {strength:g} left", "none": ""}
            rows.append(
                [TITLES.get(method, method) + left.get(method, f", {strength:g}"),
                 number(own["auc_test"]), number(own["violation_test"], 3),
                 number(own["correlation_test"], 3), number(own["loss_test"], 3)]
            )  # fmt: skip
    return table(["", "AUC", "ABCFair's violation", "correlation", "log-loss"], rows)


def kept(runs: pd.DataFrame, groups: str, method: str, measure: str) -> pd.DataFrame:
    """Return the points of a curve that validation people would keep, and that without a penalty.

    A point goes where another of the method has as low a measure and no lower AUC.
    """
    both = pd.concat([means(runs, groups, "none"), means(runs, groups, method)])
    both = both.sort_values([f"{measure}_validation", "auc_validation"], ascending=[True, False])
    return both[both["auc_validation"] > both["auc_validation"].cummax().shift(fill_value=-1.0)]


def have(runs: pd.DataFrame, groups: str, method: str) -> bool:
    """Tell whether a method ran for these groups."""
    return bool(((runs["groups"] == groups) & (runs["method"] == method)).any())


def costs(runs: pd.DataFrame) -> str:
    """Return seconds of processor of training and predicting."""
    rows = []
    for method in ORDER:
        part = runs[(runs["method"] == method)]
        if not len(part):
            continue
        rows.append(
            [TITLES.get(method, method), "no", "yes", f"{part['train'].mean():.0f} s",
             f"{part['predict'].mean():.1f} s"]
        )  # fmt: skip
    return table(
        ["", "attribute needed to predict", "deterministic", "to train", "to predict 100 000"], rows
    )


def quoted() -> str:
    """Return what ABCFair's authors have published, for each strength of fairret."""
    known = data.published()
    known = known[known["table"] == "income"]
    rows = []
    for (method, base), part in known.groupby(["method", "base"], sort=False):
        for strength, own in part.groupby("setting"):
            by = own.set_index("notion")
            if float(strength) < 0.01:
                continue
            rows.append(
                [f"{method}, {base}", f"{float(strength):g}", number(by["accuracy"].iloc[0]),
                 number(by["gap"]["sex"], 3), number(by["gap"]["crossed"], 3)]
            )  # fmt: skip
    return table(["as published", "strength", "AUROC", "violation, sex", "crossed"], rows)


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines)


def summary(runs: pd.DataFrame) -> dict[str, str]:
    """Return where penalties of ours stand, in two lines."""
    said = []
    for groups in BELOW:
        found = {m: at_share(runs, groups, m, 0.5) for m in ORDER[2:]}
        known = {m: v for m, v in found.items() if not np.isnan(v)}
        best = max(known, key=lambda m: known[m])
        own = "does not come so low" if np.isnan(found["OTF"]) else number(found["OTF"])
        said.append(f"{groups} {own}, best {TITLES.get(best, best)} {number(known[best])}")
    free, flat = means(runs, "sex", "none").iloc[0], chosen(runs, "sex", "none, shrunk", 0.03)
    assert flat is not None
    return {
        "Networks, AUC of `OTFLoss` at half the correlation": "; ".join(said),
        "Networks, ABCFair's own measure": f"decides nothing: shrunk scores meet .03 by sex at "
        f"{number(flat['auc_test'])}, the AUC without a penalty ({number(free['auc_test'])})",
    }


def made(runs: pd.DataFrame) -> dict[str, str]:
    """Return the tables of networks."""
    return {
        "networks below": below(runs), "networks correlation": correlated(runs),
        "networks shrunk": shrunk(runs), "networks costs": costs(runs),
        "networks published": quoted(),
    }  # fmt: skip
