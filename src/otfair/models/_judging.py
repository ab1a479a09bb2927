"""Who judges a target: people kept out of training, by cross-fitting or as a share.

With folds each person is scored by a model that was trained on the others, so that all people judge
and all may train the last model. docs/training.md says what is promised, and how it was checked.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import numpy as np
from scipy.special import expit
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state

from otfair.metrics import Bound, LimitWarning, criterion_of, people_needed, title_of
from otfair.models._validation import split_off
from otfair.notions import People

WHO = {  # by how they were chosen
    "training": "the {n} people it was trained on",
    "validation": "{n} people kept out of training",
    "cross-fitted": "{n} people, each kept out of training in one of {folds} folds",
}


class Scorer(Protocol):
    """Anything trained that scores people."""

    def logits(self, X: np.ndarray) -> np.ndarray:
        """Return logits of the positive class, (n,)."""


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """How unfair a model is, by which criterion and by whom, and whether that is within a limit.

    Its text says all of it in a sentence.
    """

    criterion: str  #: "correlation", "difference", or "precision" for predictive parity.
    people: str  #: "training", "validation" (a share kept out) or "cross-fitted".
    n: int  #: How many people judged.
    folds: int  #: In how many parts they were kept out.
    violation: float  #: As measured by them.
    bound: float  #: What it stays below among new people; infinite where nobody can tell.
    new_people: float  #: How many of them; infinity for the population.
    confidence: float  #: With which it does.
    limit: float | None  #: What was asked for, `max_violation`.
    decided_by: str  #: The group, or groups, that the bound hangs on.
    #: Of each attribute its own limit, where `max_violation` has them. Then `violation` and `bound`
    #: are the largest of an attribute's times the largest limit, `limit`, over its own.
    limits: dict[str, float] = field(default_factory=dict)
    #: Of each attribute its violation, as measured.
    violations: dict[str, float] = field(default_factory=dict)

    @property
    def met(self) -> bool:
        """Whether the bound is within the limit, if there is one."""
        return self.limit is None or bool(self.bound <= self.limit)

    @property
    def needed(self) -> int | None:
        """How many people would have to judge to meet the limit; None where no number would do."""
        if self.limit is None:
            return None
        return people_needed(self.violation, self.bound, self.limit, self.n)

    def __str__(self) -> str:
        who = WHO[self.people].format(n=f"{self.n:,}", folds=self.folds)
        found = f"{self.violation:.3f}"
        if self.limits:
            limits = self.limits.items()
            each = (f"{self.violations[a]:.3f} by {a} (limit {limit:g})" for a, limit in limits)
            found = ", ".join(each)
        said = f"{title_of(self.criterion)}: {found}, by {who}"
        if np.isfinite(self.bound):
            new = "in the population"
            if np.isfinite(self.new_people):
                new = f"among {round(self.new_people):,} new people"
            bound = f"{self.bound:.3f}"
            if self.limits and self.limit:
                bound = f"{100 * self.bound / self.limit:.0f} % of each limit"
            said += f"; {new} at most {bound}"
            said += f", with {100 * self.confidence:g} % confidence"
        return said


def by_training(criterion: str, people: People | None, h: np.ndarray) -> Judgement:
    """Judge scores, (n,), by the people that their model was trained on; 0 without attributes."""
    judge = None if people is None else criterion_of(criterion, people)
    found = 0.0 if judge is None else judge(h)
    criterion = criterion if judge is None else judge.name
    return Judgement(
        violations={} if judge is None else judge.by_attribute(h),
        criterion=criterion, people="training", n=len(h), folds=0, violation=found, bound=np.inf,
        new_people=np.inf, confidence=0.0, limit=None, decided_by="",
    )  # fmt: skip


class Jury:
    """People kept out of training, who judge models that were trained on the others."""

    def __init__(self, estimator: Any, people: People, labels: np.ndarray) -> None:
        self._limits, self._confidence = read_limits(estimator, people), estimator.confidence
        self.splits, self.people = split_people(estimator, people, labels)
        rows = np.concatenate([judged for _, judged in self.splits])
        self._each = criterion_of(estimator.criterion, people, rows)
        self._criterion = self._each.limited(self._limits) if self._limits else self._each
        self._limit = max(self._limits.values()) if self._limits else estimator.max_violation
        self._n = int((people.weight[rows] > 0).sum())  # not those who lack a sensitive value
        many = float(estimator.new_people)
        self._new = many if many > 1 else many * self._n

    def __call__(self, models: Sequence[Scorer], seen: np.ndarray) -> Judgement:
        """Judge the models of one strength, one per split; `seen`, (n, p), are all people."""
        parts = zip(models, self.splits, strict=True)
        return self.judge(
            np.concatenate([expit(model.logits(seen[judged])) for model, (_, judged) in parts])
        )

    def judge(self, h: np.ndarray) -> Judgement:
        """Judge the scores of those who judge, split after split."""
        found: Bound = self._criterion.bound(h, self._confidence, self._new)
        return Judgement(
            criterion=self._criterion.name,
            people=self.people,
            n=self._n,
            folds=len(self.splits),
            violation=found.value,
            bound=found.upper,
            new_people=self._new,
            confidence=float(self._confidence),
            limit=float(self._limit),
            decided_by=found.name,
            limits=self._limits,
            violations=self._each.by_attribute(h),
        )


def read_limits(estimator: Any, people: People) -> dict[str, float]:
    """Return the limits of attributes, if they have their own; a name that is none is an error."""
    given = estimator.max_violation
    if not isinstance(given, Mapping):
        return {}
    known = list(dict.fromkeys(attribute for attribute, _ in people.compared))
    if unknown := [name for name in given if name not in known]:
        raise ValueError(
            f"`max_violation` names {unknown[0]!r}; the attributes are {', '.join(known)}."
        )
    return {name: float(limit) for name, limit in given.items()}


def split_people(
    estimator: Any, people: People, labels: np.ndarray
) -> tuple[list[tuple[np.ndarray, np.ndarray]], str]:
    """Return whom to train on and who judges, one pair per split, and how they were chosen."""
    if estimator.validation_fraction:
        rows = np.arange(len(labels))
        return [split_off(estimator, "validation_fraction", rows, labels)], "validation"
    if not isinstance(estimator.cv, numbers.Integral):
        splits = check_cv(estimator.cv, labels, classifier=True).split(
            np.zeros(len(labels)), labels
        )
        return [(_numbers(kept), _numbers(judged)) for kept, judged in splits], "cross-fitted"
    least = int(np.bincount(labels, minlength=2).min())
    folds = min(int(estimator.cv), least)
    if folds < 2:
        raise ValueError(
            f"`max_violation` is judged by people kept out of training, but one label has {least} "
            "of the people only. Pass more people, or an `alpha`."
        )
    # Dealt out in the order of label and type, so that each fold has its share of every group;
    # without a seed in the order of the rows, so that a fit can be repeated.
    rows = np.arange(len(labels))
    if estimator.random_state is not None:
        rows = check_random_state(estimator.random_state).permutation(len(labels))
    order = np.lexsort((rows, people.types.numpy(), labels))
    fold = np.empty(len(labels), dtype=np.int64)
    fold[order] = np.arange(len(labels)) % folds
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(folds)], (
        "cross-fitted"
    )


def _numbers(rows: Any) -> np.ndarray:
    """Return the numbers of rows that are given so, or by one flag per person."""
    rows = np.asarray(rows)
    return np.flatnonzero(rows) if rows.dtype == bool else rows


def warn_not_met(judgement: Judgement, alpha: float, remedy: str, stacklevel: int) -> None:
    """Say that no strength met a limit, by how much, for whom, and what would help."""
    more = ""
    if (needed := judgement.needed) is not None:
        more = f" About {needed:,} people would do, where {judgement.n:,} judged."
    asked = judgement.limits or f"{judgement.limit:g}"
    warnings.warn(
        f"no alpha meets max_violation={asked}. The nearest, at alpha={alpha:g}: "
        f"{judgement}; it hangs on {judgement.decided_by}.{more} {remedy}",
        LimitWarning,
        stacklevel=stacklevel + 1,
    )


def as_record(alpha: float, judgement: Judgement) -> dict[str, float]:
    """Return what a search tells of one strength."""
    told = asdict(judgement)
    return {"alpha": alpha, "violation": told["violation"], "bound": told["bound"]}
