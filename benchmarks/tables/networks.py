"""ACSIncome as in ABCFair: a network whose scores are to be alike in groups, by penalties.

Its protocol: layers of 512, 256 and 64, dropout 0.2, AdamW with weight decay 0.01, batches of 512,
40 epochs; features without the sensitive ones, and without place of birth and relationship;
occupations as one number. It is run twice: on few people, at a higher rate, with every method and
three seeds; and on all people of our table at its own rate, with one seed and fewer strengths. A
strength is chosen by validation people, not by test people.

Its measure of fairness, by what share the mean score of a group is off that of all, falls when all
scores are drawn to their mean, which no rank feels. So scores without a penalty that are shrunk so
are a method here, too, and the correlation of scores and groups is measured, which shrinking leaves
as it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import torch
from fairret.loss import KLProjectionLoss
from fairret.loss import NormLoss as FairretNorm
from fairret.statistic import PositiveRate
from sklearn.metrics import log_loss, roc_auc_score

import otfair

VALIDATION, TEST = 40_000, 100_000
LAYERS, DROPOUT, BATCH, EPOCHS, DECAY = (512, 256, 64), 0.2, 512, 40, 0.01
# Weights of a penalty beside the cross-entropy: those of ABCFair that do something, and between.
NORM, PROJECTION = (0.01, 0.03, 0.1, 0.2, 0.3, 1.0), (0.3, 1.0, 3.0)
SHRUNK = (0.5, 0.2, 0.1)  # what is left of a score's distance from the mean
OURS = (0.2, 0.4, 0.7, 0.9)  # alphas: weights of alpha / (1 - alpha), and a balance
BY_ALPHA = ("OTF", "Norm", "OTF, by group")
SENSITIVE = ("sex", "race", "sex and race")
MERGED = {
    "American Indian": "Other", "Alaska Native": "Other", "Pacific Islander": "Other",
    "American Indian or Alaska Native": "Other",
}  # fmt: skip

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]  # of logits and rows


class People:
    """Who trains, who chooses and who tests, by a seed; the same test for any number who train."""

    def __init__(self, seed: int, count: int) -> None:
        rng = np.random.default_rng(seed)
        first, second = (
            otfair.load_dataset("acs_income", part=part, all_codes=True)
            for part in ("train", "test")
        )
        rows = rng.permutation(len(first.y))[: count + VALIDATION]
        tested = rng.permutation(len(second.y))[:TEST]
        chosen = ((first, rows[:count]), (first, rows[count:]), (second, tested))
        tables = [data.X.iloc[own] for data, own in chosen]
        numbers = [
            np.column_stack([t["SCHL"], t["WKHP"], t["OCCP"].astype(str).astype(int)])
            for t in tables
        ]
        mean, spread = numbers[0].mean(axis=0), numbers[0].std(axis=0)
        kinds = sorted(tables[0]["COW"].astype(str).unique())
        self.X = [
            torch.tensor(
                np.column_stack(
                    [(n - mean) / spread, *[(t["COW"].astype(str) == k).to_numpy() for k in kinds]]
                ),
                dtype=torch.float32,
            )
            for n, t in zip(numbers, tables)
        ]
        self.y = [data.y[own] for data, own in chosen]
        self.groups = {}
        for name in SENSITIVE:
            found = []
            for data, own in chosen:
                S = data.sensitive_features.iloc[own].astype(str)
                S = S.assign(race=S["race"].replace(MERGED))
                found.append(S[name.split(" and ")].agg(", ".join, axis=1).to_numpy())
            self.groups[name] = found
        self.seed, self.rate = seed, RATES[count]


def violation(scores: np.ndarray, groups: np.ndarray) -> float:
    """Return by what share the mean score of a group is off that of all, at most."""
    means = pd.Series(scores).groupby(groups).mean()
    return float((means / scores.mean() - 1).abs().max())


def network(width: int) -> torch.nn.Module:
    layers: list[torch.nn.Module] = []
    for wide in LAYERS:
        layers += [torch.nn.Linear(width, wide), torch.nn.ReLU(), torch.nn.Dropout(DROPOUT)]
        width = wide
    return torch.nn.Sequential(*layers, torch.nn.Linear(width, 1))


def train(people: People, penalty: Loss | None, strength: float, epochs: int) -> torch.nn.Module:
    """Minimise cross-entropy and the penalty times a strength."""
    torch.manual_seed(people.seed)
    X, y = people.X[0], torch.tensor(people.y[0], dtype=torch.float32)
    model = network(X.shape[1])
    adam = torch.optim.AdamW(model.parameters(), lr=people.rate, weight_decay=DECAY)
    for _ in range(epochs):
        for rows in torch.randperm(len(X)).split(BATCH):
            logits = model(X[rows])[:, 0]
            loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, y[rows])
            if penalty is not None:
                loss = loss + strength * penalty(logits, rows)
            adam.zero_grad()
            loss.backward()
            adam.step()
    return model.eval()


def scores(model: torch.nn.Module, X: torch.Tensor) -> np.ndarray:
    with torch.no_grad():
        return torch.sigmoid(torch.cat([model(x)[:, 0] for x in X.split(10_000)])).double().numpy()


def fairret(kind: Any) -> Callable[[People, str, Any], Loss]:
    def make(people: People, name: str, _: Any) -> Loss:
        found = people.groups[name][0]
        one_hot = torch.tensor(found[:, None] == np.unique(found), dtype=torch.float32)
        loss = kind(PositiveRate())
        return lambda logits, rows: loss(logits[:, None], one_hot[rows])

    return make


def ours(kind: Any, **options: Any) -> Callable[[People, str, Any], Loss]:
    def make(people: People, name: str, free: torch.nn.Module) -> Loss:
        S = pd.DataFrame({"group": people.groups[name][0]})
        loss = kind("demographic_parity", **options).fit(people.X[0].double(), S)
        with torch.no_grad():
            logits = torch.cat([free(x)[:, 0] for x in people.X[0].split(10_000)])
        loss.balance_(logits, people.y[0], index=torch.arange(len(logits)))
        return lambda logits, rows: loss(logits, index=rows)

    return make


METHODS: dict[str, tuple[Any, tuple[float, ...]]] = {
    "none": (None, (0.0,)),
    "none, shrunk": (None, SHRUNK),
    "fairret, Norm": (fairret(FairretNorm), NORM),
    "fairret, KL projection": (fairret(KLProjectionLoss), PROJECTION),
    "OTF": (ours(otfair.OTFLoss), (*OURS, 0.8)),
    "Norm": (ours(otfair.NormLoss), OURS),
    "OTF, by group": (ours(otfair.OTFLoss, weigh="groups"), OURS),
}


ALL = 292_900  # of the 332 900 people of the table's first part, less those who choose
RATES = {25_600: 1e-3, ALL: 1e-4}


@dataclass(frozen=True)
class Setting:
    """How many people train, by which seeds, and the strengths of each method."""

    people: int
    seeds: range
    groups: tuple[str, ...]
    strengths: Mapping[str, tuple[float, ...]]


SETTINGS = {
    "networks": Setting(25_600, range(3), SENSITIVE, {m: own for m, (_, own) in METHODS.items()}),
    "networks_all": Setting(
        ALL, range(1), ("sex", "sex and race", "race"),
        {"none": (0.0,), "none, shrunk": SHRUNK, "OTF": (0.2, 0.4, 0.7),
         "fairret, Norm": (0.03, 0.1, 0.2, 0.3, 1.0), "fairret, KL projection": (3.0,)},
    ),
}  # fmt: skip


@cache
def read(seed: int, count: int) -> People:
    return People(seed, count)


@cache
def unpenalised(seed: int, count: int) -> tuple[torch.nn.Module, float]:
    """Return the network without a penalty, and its seconds of training."""
    began = time.process_time()
    return train(read(seed, count), None, 0.0, EPOCHS), time.process_time() - began


def runs(setting: Setting, seed: int, done: Callable[..., bool]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a seed that are not done."""
    for name, (method, strengths) in product(setting.groups, setting.strengths.items()):
        if method == "OTF, by group" and name == "sex":
            continue  # two groups are one comparison
        left = [s for s in strengths if not done(setting.people, seed, name, method, s)]
        if not left:
            continue
        people, (free, spent) = read(seed, setting.people), unpenalised(seed, setting.people)
        make, _ = METHODS[method]
        began = time.process_time()
        penalty = None if make is None else make(people, name, free)
        made = time.process_time() - began
        for strength in left:
            model = free
            if penalty is not None:
                weight = strength / (1 - strength) if method in BY_ALPHA else strength
                began = time.process_time()
                model = train(people, penalty, weight, EPOCHS)
                spent = made + time.process_time() - began
            yield {
                "people": setting.people, "seed": seed, "groups": name, "method": method,
                "strength": strength, "epochs": EPOCHS, "train": spent,
                **judge(model, people, name, strength if method == "none, shrunk" else 1.0),
            }  # fmt: skip


def judge(model: torch.nn.Module, people: People, name: str, left: float) -> dict[str, float]:
    """Return AUC and violations of the people who choose and who test, and seconds of predicting.

    Scores keep a share, `left`, of their distance from the mean of those who choose.
    """
    row = {}
    centre = scores(model, people.X[1]).mean()
    for k, part in ((1, "validation"), (2, "test")):
        began = time.process_time()
        found = centre + left * (scores(model, people.X[k]) - centre)
        row["predict"] = time.process_time() - began
        row[f"auc_{part}"] = roc_auc_score(people.y[k], found)
        row[f"violation_{part}"] = violation(found, people.groups[name][k])
        row[f"correlation_{part}"] = otfair.pdp_violation(found, people.groups[name][k])
        row[f"loss_{part}"] = log_loss(people.y[k], found)
    return row
