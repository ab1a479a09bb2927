"""Captions of the figures: first what one sees, with the runs' own numbers, then what is drawn."""

from __future__ import annotations

from collections.abc import Collection
from itertools import product

import numpy as np
import pandas as pd

from otfair.reproduction._claims import curve, price, signed
from otfair.reproduction._frames import BOTH, LARGER, PANELS, PROTOCOLS, select, title
from otfair.reproduction._plan import COLUMNS, VIOLIN_EPSILONS
from otfair.reproduction._standings import SHARE
from otfair.reproduction._train import POSTPROCESS_EPOCHS, QUANTILES

METHODS = {
    "full": ("otf", "the paper's OTF (one cost for all attributes, not the default)"),
    "paper": ("coordinate", "the published method"),
}


def of_poster() -> str:
    """Return what the panels are; what they come to is said in the figure's title."""
    return (
        "Above: AUC on test people of Adult against the share of unfairness that is left, by sex "
        "or by race, whichever is larger. Below: AUC of OTF, as by default, minus that of each "
        "other penalty where half is left (dotted above), with 95 % intervals; right of zero OTF "
        "predicts better, left of it worse"
    )


def of_curves(
    frame: pd.DataFrame,
    protocol: str,
    part: str,
    common: bool = False,
    datasets: Collection[str] = tuple(COLUMNS),
) -> str:
    """Say what it costs OTF to halve a violation."""
    names = ", ".join(name.capitalize() for name in COLUMNS if name in datasets)
    which = f"{names}; {PROTOCOLS[protocol]}, {part} set"
    if common:
        return (
            "On the whole AUC falls as less violation is left. All methods, on the splits that all "
            f"of them have: {which}"
        )
    method, name = METHODS[protocol]
    found = {}
    for panel, notion in product(PANELS, ("pdp", "peo")):
        if panel[1] in (BOTH, LARGER) or panel[0] not in datasets:
            continue
        own = curve(frame, panel, notion, method, protocol=protocol)
        paid = price(own, part, f"{notion}_{panel[1]}", SHARE)
        if paid.counts:
            found[f"{title(panel, brief=True)}, {notion.upper()}"] = paid.mean
    if not found:
        return f"On the whole AUC falls as less violation is left: {which}"
    low, high = max(found, key=found.__getitem__), min(found, key=found.__getitem__)
    return (
        f"Halving the unfairness changes the AUC of {name} by {signed(found[low])} ({low}) to "
        f"{signed(found[high])} ({high}): {which}"
    )


def of_postprocess(frame: pd.DataFrame) -> str:
    """Say how far cost and violation fall, and why two of the costs may be negative."""
    runs = select(frame, experiment="postprocess", protocol="paper", method="otf")
    ends = [POSTPROCESS_EPOCHS - 1, -1]
    cost, pdp, auc = (
        np.array(runs[name].tolist())[:, ends].mean(0) for name in ("adjusted", "pdp", "auc")
    )
    return (
        f"Trained by OTF alone, PDP goes from {pdp[0]:.3f} to {pdp[1]:.3f}, the adjusted cost from "
        f"{cost[0]:.1e} to {cost[1]:.1e} and AUC from {auc[0]:.3f} to {auc[1]:.3f}: "
        f"{PROTOCOLS['paper']}, Adult by sex, after {POSTPROCESS_EPOCHS} epochs of cross-entropy. "
        "The smooth and the relaxed cost are less epsilon times the plan's entropy, so they may be "
        "slightly negative. Their difference, the adjusted cost, is not"
    )


def of_violins(runs: pd.DataFrame, whose: str) -> str:
    """Say how far apart the medians of the two groups are, for the least and most smoothing."""
    strong = runs[runs["alpha"] == runs["alpha"].max()].set_index("epsilon")
    said = []
    for epsilon in (min(VIOLIN_EPSILONS), max(VIOLIN_EPSILONS)):
        if epsilon in strong.index:
            women, men = (
                float(np.interp(0.5, QUANTILES, strong.loc[epsilon, f"quantiles_{group}"]))
                for group in ("Female", "Male")
            )
            said.append(f"{abs(men - women):.2f} apart with epsilon {epsilon:g}")
    if not said:
        return f"Scores of women and men by smoothing and strength: {whose}, split 0"
    return (
        f"At alpha {strong['alpha'].iloc[0]:g} the median scores of women and men are "
        f"{' and '.join(said)}: {whose}, split 0. Dashes are quartiles"
    )
