"""The tables of networks on ACSIncome, for docs/benchmarks.md."""

from __future__ import annotations

import numpy as np
import pandas as pd
from pages import mean_and_reach, number, shown, table

from otfair.reproduction._claims import WIDEST_STEP

from . import runs as data

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
PEER = "fairret, Norm"
COLLAPSED = 0.6  # AUC below which scores say next to nothing, and a curve has ended


def means(runs: pd.DataFrame, groups: str, method: str) -> pd.DataFrame:
    """Return means over seeds that a method has finished for these groups, by strength."""
    part = runs[(runs["groups"] == groups) & (runs["method"] == method)]
    columns = [c for c in part if c.split("_")[-1] in ("validation", "test")]
    return part.groupby("strength")[[*columns, "train", "predict"]].mean()


def reaches(runs: pd.DataFrame, groups: str, method: str) -> pd.DataFrame:
    """Return half widths of 95 % intervals over seeds, by strength; 0 of one seed, for no bar."""
    part = runs[(runs["groups"] == groups) & (runs["method"] == method)]
    columns = [c for c in part if c.endswith("_test")]
    found = part.groupby("strength")[columns].agg(lambda own: mean_and_reach(own)[1])
    return found.fillna(0.0)


def chosen(runs: pd.DataFrame, groups: str, method: str, most: float) -> pd.Series | None:
    """Return the strength of the best validation AUC of those within a validation violation."""
    mean = means(runs, groups, method)
    within = mean[mean["violation_validation"] < most]
    return within.loc[within["auc_validation"].idxmax()] if len(within) else None


def ran(runs: pd.DataFrame) -> list[str]:
    """Return the groups that all methods were trained for, but one that needs more than two."""
    needed = set(runs["method"]) - {"OTF, by group"}
    return [g for g in BELOW if needed <= set(runs[runs["groups"] == g]["method"])]


def below(runs: pd.DataFrame) -> str:
    """Return test AUC, and test violation, where the violation of validation people is below k."""
    rows = []
    for method in (m for m in ORDER if m in set(runs["method"])):
        cells = []
        for groups in ran(runs):
            for most in BELOW[groups]:
                own = chosen(runs, groups, method, most) if have(runs, groups, method) else None
                cells.append(
                    "-" if own is None
                    else f"{number(own['auc_test'])} ({number(own['violation_test'], 3)})"
                )  # fmt: skip
        rows.append([TITLES.get(method, method), *cells])
    head = [f"{g}, {number(k, 2)}" for g in ran(runs) for k in BELOW[g]]
    return table(["below", *head], rows)


def correlated(runs: pd.DataFrame) -> str:
    """Return test AUC where the correlation of scores and groups is a share of the free one's."""
    rows = []
    for method in (m for m in ORDER[1:] if m in set(runs["method"])):
        cells = []
        for groups in ran(runs):
            for share in SHARES:
                found = at_share(runs, groups, method, share).dropna()
                cells.append(number(found.mean()) + _some(found, runs) if len(found) else "-")
        rows.append([TITLES.get(method, method), *cells])
    head = [f"{groups}, {number(share, 2)}" for groups in ran(runs) for share in SHARES]
    return table(["share left", *head], rows)


def _some(found: pd.Series, runs: pd.DataFrame) -> str:
    count = runs["seed"].nunique()
    return f" ({len(found)} of {count})" if len(found) < count else ""


def at_share(runs: pd.DataFrame, groups: str, method: str, share: float) -> pd.Series:
    """Return the AUC of each seed where a share of the correlation is left, along its curve.

    Nothing where the curve does not come so low. Nor of any seed where the two points about the
    share are too far apart in the median seed: between these AUC would be read off a line.
    """
    if not have(runs, groups, method):
        return pd.Series(dtype=float)
    found = {seed: _crossing(own, groups, method, share) for seed, own in runs.groupby("seed")}
    both = pd.DataFrame(found, index=["auc", "step"]).T
    return both["auc"] * np.nan if both["step"].median() > WIDEST_STEP else both["auc"]


def shares(runs: pd.DataFrame, groups: str, method: str) -> pd.DataFrame:
    """Return what is left of the correlation, and AUC, by the points of a curve; shares rise."""
    line = kept(runs, groups, method, "correlation").sort_values("correlation_test")
    whole = means(runs, groups, "none")["correlation_test"].iloc[0]
    return pd.DataFrame({"left": line["correlation_test"] / whole, "auc": line["auc_test"]})


def _crossing(runs: pd.DataFrame, groups: str, method: str, share: float) -> tuple[float, float]:
    x, y = shares(runs, groups, method).to_numpy().T
    if share < x[0]:
        return np.nan, np.nan
    k = int(np.searchsorted(x, share))
    return float(np.interp(share, x, y)), float(x[k] - x[k - 1]) if 0 < k < len(x) else 0.0


def ahead(runs: pd.DataFrame, groups: str, ours: str, peer: str, share: float) -> pd.Series:
    """Return our AUC less a peer's where a share of the correlation is left, of each seed."""
    mine, theirs = (at_share(runs, groups, method, share) for method in (ours, peer))
    return (mine - theirs).dropna()


def every_lead(runs: pd.DataFrame) -> list[pd.Series]:
    """Return the leads of the table that have intervals."""
    found = (
        ahead(runs, groups, method, PEER, share)
        for method in ("OTF", "OTF, by group", "Norm") for groups in BELOW for share in SHARES
    )  # fmt: skip
    return [values for values in found if len(values) > 1]


def leads(runs: pd.DataFrame) -> str:
    """Return by how much penalties of ours are ahead of fairret's Norm, which alone comes low."""
    rows = []
    for method in ("OTF", "OTF, by group", "Norm"):
        cells = []
        for groups in BELOW:
            for share in SHARES:
                values = ahead(runs, groups, method, PEER, share)
                text = shown(values, 4, sign=True) + _some(values, runs) if len(values) else "-"
                cells.append(text)
        rows.append([TITLES[method], *cells])
    head = [f"{groups}, {number(share, 2)}" for groups in BELOW for share in SHARES]
    return table(["share left", *head], rows)


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

    A point goes where another of the method has as low a measure and no lower AUC, or where scores
    have collapsed: between such a model and the next there is no curve.
    """
    both = pd.concat([means(runs, groups, "none"), means(runs, groups, method)])
    both = both[both["auc_validation"] > COLLAPSED]
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


def quoted_below() -> str:
    """Return the AUROC below k that ABCFair's authors have published."""
    known = data.published()
    known = known[known["table"] == "income below"]
    said = [
        f"{own.notion} within {number(own.gap, 2)}, {own.method} {number(own.accuracy, 3)}"
        for own in known.itertuples()
    ]
    return f"Their own table of AUROC below k, on all their rows, has: {'; '.join(said)}."


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


def at_half(runs: pd.DataFrame) -> str:
    """Say how OTF stands to fairret's Norm where half of the correlation is left."""
    words = {}
    for groups in ran(runs):
        values = ahead(runs, groups, "OTF", PEER, 0.5)
        words[groups] = data.verdict(values) if len(values) else not_compared(runs, groups, 0.5)
    return data.together(words)


def not_compared(runs: pd.DataFrame, groups: str, share: float) -> str:
    """Say why OTF and fairret's Norm can't be compared where a share is left.

    A curve may end because its next strength leaves scores that say nothing. That a method comes
    no lower is not known then: a strength between was not run.
    """
    for method in (PEER, "OTF"):
        title = TITLES.get(method, method)
        left = shares(runs, groups, method)["left"]
        above, under = left[left >= share], left[left < share]
        if not len(under):
            least = number(above.min(), 2)
            if (means(runs, groups, method)["auc_validation"] <= COLLAPSED).any():
                after = f"{least} of it left and scores that have collapsed"
                return f"not compared, as {title} has no strength between {after}"
            return f"not compared, as {title} was run down to {least} of it only"
        if at_share(runs, groups, method, share).isna().all():
            ends = f"{number(above.min(), 2)} and {number(under.max(), 2)} of it left"
            return f"not compared, as {title} has no strength between {ends}"
    return "not compared, as no seed has both"


def summary(runs: pd.DataFrame) -> dict[str, str]:
    """Return where penalties of ours stand."""
    return {
        "Networks, `OTFLoss` against fairret's Norm at half the correlation": f"{at_half(runs)}. "
        f"{by_their_measure(runs)}",
    }


def by_their_measure(runs: pd.DataFrame) -> str:
    """Say how OTF stands to the KL projection by ABCFair's measure, and what that is worth."""
    leads = []
    for groups in ran(runs):
        for most in BELOW[groups]:
            own, other = (
                chosen(runs, groups, method, most) for method in ("OTF", "fairret, KL projection")
            )
            if own is not None and other is not None:
                leads.append(own["auc_test"] - other["auc_test"])
    below = [lead for lead in leads if lead < 0]
    most_by = f", by up to {number(-min(below))} of AUC" if below else ""
    return (
        f"By ABCFair's own measure it is below fairret's KL projection at {len(below)} of "
        f"{len(leads)} limits{most_by}; but that measure decides nothing, as shrinking all scores "
        "to their mean meets it at no cost"
    )


def on_all(runs: pd.DataFrame, few: pd.DataFrame) -> str:
    """Say who trained, and how much more AUC that gives."""
    people, rate = int(runs["people"].iloc[0]), means(runs, "sex", "none").iloc[0]
    gain = rate["auc_test"] - means(few, "sex", "none").iloc[0]["auc_test"]
    count = runs["seed"].nunique()
    seeds = "One seed, so there are no intervals" if count == 1 else f"{count} seeds"
    return (
        f"{people} people train, {int(few['people'].iloc[0])} above: without a penalty that gives "
        f"an AUC of {number(rate['auc_test'])}, {number(gain)} more. Groups: "
        f"{', '.join(ran(runs))}. {seeds}. `OTFLoss` against fairret's Norm at half the "
        f"correlation: {at_half(runs)}."
    )


def made(runs: pd.DataFrame, all_people: pd.DataFrame) -> dict[str, str]:
    """Return the tables of networks, on few people and on all."""
    return {
        "networks below": below(runs), "networks correlation": correlated(runs),
        "networks leads": leads(runs), "networks shrunk": shrunk(runs),
        "networks as they have it": quoted_below(), "networks published": quoted(),
        "networks costs": costs(runs),
        "all people": on_all(all_people, runs), "all people below": below(all_people),
        "all people correlation": correlated(all_people), "all people costs": costs(all_people),
    }  # fmt: skip
