"""How a run is made: the data of a split, the two protocols, and what is measured."""

from __future__ import annotations

import platform
import subprocess
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy
import sklearn
import torch
from scipy.special import expit
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

import otfair
from otfair.datasets import load_dataset
from otfair.geometry import PointCloud
from otfair.losses import BarycenterLoss, FairnessLoss, NormLoss, OTFLoss
from otfair.metrics import pdp_violation, peo_violation
from otfair.models import OTFClassifier
from otfair.notions import Constraints, as_notion
from otfair.reproduction._batches import Known, KnownBatches
from otfair.reproduction._plan import EPSILON, NOTIONS, Run
from otfair.reproduction._store import Result
from otfair.tables import TableEncoder
from otfair.transport import Coordinate, adjusted_otf, exact_otf

BATCH, EPOCHS, LEARNING_RATE = 1000, 100, 1e-3  # of the paper
PAPER = {
    "solver": "adam", "mode": "batch", "epochs": EPOCHS, "batch_size": BATCH,
    "learning_rate": LEARNING_RATE,
}  # fmt: skip
POSTPROCESS_EPOCHS = 25
BETA = 1000.0  # the paper's factor of the barycenter
RESIDUAL = 1e-5  # of the solver in mini-batches, whose noise is far larger
# Factor of OTF in the paper's protocol, by dataset, attribute and notion: where the two terms pull
# equally hard on the logits of 1000 people at the unconstrained model of split 0
# (`OTFLoss.balance_`, the median of three batches, to one digit).
OTF_SCALE = {
    ("adult", "sex", "pdp"): 90.0,
    ("adult", "sex", "peo"): 100.0,
    ("bank", "age_binned", "pdp"): 100.0,
    ("bank", "age_binned", "peo"): 80.0,
    ("bank", "age", "pdp"): 60.0,
    ("bank", "age", "peo"): 60.0,
    ("dutch", "sex", "pdp"): 3000.0,
    ("dutch", "sex", "peo"): 20000.0,
    ("diabetes", "gender", "pdp"): 500.0,
    ("diabetes", "gender", "peo"): 400.0,
}
COMPARED = 2000  # test people by whom the exact cost is compared with the smooth one
QUANTILES = np.linspace(0.01, 0.99, 99)


@dataclass(frozen=True)
class Split:
    """A dataset's training and test people, encoded by what the training people show."""

    X: dict[str, np.ndarray]
    y: dict[str, np.ndarray]
    sensitive: dict[str, pd.DataFrame]


@lru_cache(maxsize=1)
def load_split(dataset: str, seed: int) -> Split:
    """Load and encode a split: 80 % to train on."""
    data = load_dataset(dataset)
    y = np.asarray(data.y)
    fit, test = train_test_split(np.arange(len(y)), test_size=0.2, random_state=seed, stratify=y)
    encoder = TableEncoder().fit(data.X.iloc[fit])
    parts = {"train": fit, "test": test}
    return Split(
        {k: np.asarray(encoder.transform(data.X.iloc[r]), dtype=float) for k, r in parts.items()},
        {k: y[r] for k, r in parts.items()},
        {k: data.sensitive_features.iloc[r] for k, r in parts.items()},
    )


def make(runs: list[Run]) -> list[Result]:
    """Make runs of one path; a failure is a result too."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # runs are made side by side
    try:
        with torch.random.fork_rng(devices=[]):
            return _made(runs)
    finally:
        torch.set_num_threads(threads)


def _made(runs: list[Run]) -> list[Result]:
    began = time.perf_counter()
    results: list[Result] = []
    try:
        for run, metrics in _metrics(runs):
            now = time.perf_counter()
            results.append(_result(run, metrics, now - began))
            began = now
    except Exception:
        spent = (time.perf_counter() - began) / (len(runs) - len(results))
        error = traceback.format_exc()
        results += [_result(run, {}, spent, error) for run in runs[len(results) :]]
    return results


def _metrics(runs: list[Run]) -> Iterator[tuple[Run, dict[str, Any]]]:
    split = load_split(runs[0].dataset, runs[0].split)
    if runs[0].experiment == "postprocess":
        for run in runs:
            yield run, _postprocess(run, split)
        return
    for run, model in zip(runs, _models(runs, split)):
        scores = {part: model.predict_proba(X)[:, 1] for part, X in split.X.items()}
        metrics: dict[str, Any] = dict(judge(scores, split))
        metrics |= {"iterations": model.n_iter_, "converged": bool(model.converged_)}
        if run.method != "unfair":
            metrics["balance"] = model.balance_  # the penalty's factor
        if run.protocol == "paper":
            metrics["adam"] = {"epochs": EPOCHS, "batch": BATCH, "learning_rate": LEARNING_RATE}
        if run.method == "otf" and run.split == 0 and run.experiment == "curves":
            metrics |= _compare_costs(run, scores["test"], split)
        if run.split == 0 and run.experiment == "epsilon":
            sex = split.sensitive["test"]["sex"].to_numpy(dtype=str)
            for group in np.unique(sex):
                at = np.quantile(scores["test"][sex == group], QUANTILES)
                metrics[f"quantiles_{group}"] = [round(float(q), 4) for q in at]
        yield run, metrics


def judge(scores: dict[str, np.ndarray], split: Split) -> dict[str, float]:
    """AUC and the violations by each attribute, on both parts."""
    out: dict[str, float] = {}
    for part, h in scores.items():
        y, sensitive = split.y[part], split.sensitive[part]
        out[f"{part}_auc"] = float(roc_auc_score(y, h))
        for column in sensitive:
            out[f"{part}_pdp_{column}"] = pdp_violation(h, sensitive[[column]])
            out[f"{part}_peo_{column}"] = peo_violation(h, sensitive[[column]], y)
    return {name: round(value, 6) for name, value in out.items()}


def _models(runs: list[Run], split: Split) -> Iterator[OTFClassifier]:
    """Train the runs' models, from strength to strength in the full protocol."""
    first = runs[0]
    X, y = split.X["train"], split.y["train"]
    if first.method == "unfair":
        yield _unfair(first, **(PAPER if first.protocol == "paper" else {})).fit(X, y)
        return
    S = split.sensitive["train"][list(first.columns)]
    by_attribute = first.method == "otf_attributes"
    regularizer: str | FairnessLoss = "otf" if by_attribute else first.method
    if first.method == "norm2":
        regularizer = NormLoss(NOTIONS[first.notion], p=2)
    clf = OTFClassifier(
        NOTIONS[first.notion],
        C=None,  # as in the paper
        epsilon=first.epsilon or EPSILON,
        regularizer=regularizer,
        weigh="attributes" if by_attribute else "people",  # one cost for all, as in the paper
        random_state=first.split,
        standardize=False,
    )
    if first.protocol == "full":
        if first.experiment == "epsilon":  # one factor for all, so that they can be compared
            clf.set_params(epsilon=EPSILON)
            factor = next(clf.fit_path(X, y, S, [0.5])).balance_
            clf.set_params(epsilon=first.epsilon, balance=factor)
        yield from clf.fit_path(X, y, S, [run.alpha for run in runs])
        return
    loss, scale = _paper_loss(first)
    for run in runs:
        clf.set_params(regularizer=loss, weigh=None, balance=scale, alpha=run.alpha, **PAPER)
        yield clf.fit(X, y, sensitive_features=S)


def _unfair(run: Run, **settings: Any) -> OTFClassifier:
    return OTFClassifier(alpha=0, C=None, random_state=run.split, standardize=False, **settings)


def released_scale(epsilon: float) -> float:
    """Return the factor of the released code's loss."""
    return 100 / epsilon if epsilon <= 0.01 else 1e4


def _paper_loss(run: Run) -> tuple[FairnessLoss, float | str]:
    """Return the penalty in the paper's protocol, and its factor; "auto" finds each attribute's."""
    notion = NOTIONS[run.notion]
    if run.method == "norm":
        return NormLoss(notion), 1.0
    if run.method == "barycenter":
        return BarycenterLoss(notion), BETA
    known = _known(run.dataset, run.split, run.columns, run.epsilon)
    if run.method == "coordinate":
        loss = KnownBatches(notion, run.epsilon, **_as_released(run), known=known)
        return loss, released_scale(run.epsilon)
    if run.method == "otf_attributes":
        settings: dict[str, Any] = {"weigh": "attributes", "tol": RESIDUAL}
        return KnownBatches(notion, run.epsilon, **settings, known=known), "auto"
    loss = KnownBatches(notion, run.epsilon, tol=RESIDUAL, known=known)
    return loss, OTF_SCALE[run.dataset, run.columns[0], run.notion]


def _as_released(run: Run) -> dict[str, Any]:
    """Return the settings of a loss by which the authors' code was released."""
    return {"solver": Coordinate(max_sweeps=run.sweeps, released=True), "warm_start": False}


@lru_cache(maxsize=1)
def _known(*of: object) -> Known:
    """Return the batches that runs of a split have seen, while they follow one another."""
    return Known()


def _postprocess(run: Run, split: Split) -> dict[str, Any]:
    """Train without penalty, then with nothing else; costs and PDP of each epoch, or after both."""
    records = (_by_epoch if run.protocol == "paper" else _before_and_after)(run, split)
    series = [[float(f"{number:.6g}") for number in each] for each in zip(*records)]
    return dict(zip(("smooth", "relaxed", "adjusted", "pdp", "auc"), series))


def _before_and_after(run: Run, split: Split) -> list[list[float]]:
    """Costs, PDP and AUC of the unfair model, and of where it comes by the penalty alone."""
    X, y, S = split.X["train"], split.y["train"], split.sensitive["train"][list(run.columns)]
    geometry, constraints = PointCloud(X), as_notion(NOTIONS[run.notion]).constraints(S)
    free = _unfair(run).fit(X, y)
    fair = OTFClassifier(
        NOTIONS[run.notion], 1.0, run.epsilon,
        init=free, geometry=geometry, random_state=run.split, standardize=False, C=None,
    ).fit(X, y, sensitive_features=S)  # fmt: skip
    out = []
    for model in (free, fair):
        h = model.predict_proba(X)[:, 1]
        costs = _costs(torch.as_tensor(h), geometry, constraints, run.epsilon)
        out.append([*costs, pdp_violation(h, S), float(roc_auc_score(y, h))])
    return out


def _by_epoch(run: Run, split: Split) -> list[list[float]]:
    """Costs, PDP and AUC after each epoch in batches, half of them with the penalty alone."""
    X, y = torch.as_tensor(split.X["train"], dtype=torch.float32), split.y["train"]
    labels = torch.as_tensor(y, dtype=torch.float32)
    S = split.sensitive["train"][list(run.columns)]
    people = as_notion(NOTIONS[run.notion]).people(S).to_tensors()
    solved: dict[str, Any] = _as_released(run) if run.method == "coordinate" else {"tol": RESIDUAL}
    loss, scale = OTFLoss(NOTIONS[run.notion], run.epsilon, **solved), released_scale(EPSILON)
    torch.manual_seed(run.split)
    model = torch.nn.Linear(X.shape[1], 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    out = []
    for epoch in range(2 * POSTPROCESS_EPOCHS):
        sums = np.zeros(3)
        for rows in torch.split(torch.randperm(len(X)), BATCH):
            logits = model(X[rows]).squeeze(1)
            if epoch < POSTPROCESS_EPOCHS:
                value = torch.nn.functional.binary_cross_entropy_with_logits(logits, labels[rows])
            else:
                value = scale * loss(logits, X[rows], people.take(rows))
            optimizer.zero_grad()
            value.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            h = torch.sigmoid(logits.detach().double())
            batch = people.take(rows).constraints()
            sums += len(rows) * _costs(h, PointCloud(X[rows]), batch, run.epsilon)
        with torch.no_grad():
            scores = expit(model(X).squeeze(1).double().numpy())
        out.append([*sums / len(X), pdp_violation(scores, S), float(roc_auc_score(y, scores))])
    return out


def _costs(
    h: torch.Tensor, geometry: PointCloud, constraints: Constraints, epsilon: float
) -> np.ndarray:
    """Smooth, relaxed and adjusted cost of scores, per person."""
    a = adjusted_otf(h.double().clamp_min(1e-12), geometry, constraints, epsilon)
    return np.array([a.smooth.value, a.relaxed.value, a.value]) / len(h)


def _compare_costs(run: Run, h: np.ndarray, split: Split) -> dict[str, float]:
    """Return the exact cost of some test people's scores and the smooth one, per person."""
    rows = np.random.default_rng(0).permutation(len(h))[:COMPARED]
    geometry = PointCloud(split.X["test"][rows])
    S = split.sensitive["test"].iloc[rows][list(run.columns)]
    constraints = as_notion(NOTIONS[run.notion]).constraints(S, split.y["test"][rows])
    h = np.clip(h[rows], 1e-12, 1.0)
    return {
        "exact_cost": exact_otf(h, geometry, constraints).value / len(rows),
        "smooth_cost": adjusted_otf(h, geometry, constraints, run.epsilon).value / len(rows),
    }


def _result(run: Run, metrics: dict[str, Any], seconds: float, error: str = "") -> Result:
    versions = {
        "otfair": otfair.__version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }
    versions = {name: version for name, version in versions.items() if version}
    return Result(run, metrics, seconds, versions, f"{datetime.now(UTC):%Y-%m-%d %H:%M}", error)


@lru_cache(maxsize=1)
def _commit() -> str:
    """Return the last commit that changed this package, with a + if files differ from it.

    It is empty where the package is not in a checkout of its own.
    """
    folder = Path(otfair.__file__).parent

    def git(*command: str) -> str:
        made = subprocess.run(
            ["git", "-C", str(folder), *command], capture_output=True, text=True, check=True
        )
        return made.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "__init__.py")
        return git("log", "-1", "--format=%h", "--abbrev=10", "--", ".") + (
            "+" if git("status", "--porcelain", "--", ".") else ""
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
