"""An audit of scores, step by step: read, compare, measure, move, record."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec

import numpy as np

from otfair._io.arrays import ArgumentError, Array
from otfair._io.progress import track
from otfair._io.settings import MOST_RESAMPLES, check_epsilon, check_real, check_whole, shown
from otfair.auditing._audit import Audit
from otfair.auditing._curves import curves
from otfair.auditing._decisions import measure_decisions
from otfair.auditing._favourable import guess_favourable
from otfair.auditing._features import choose_columns, read_features
from otfair.auditing._groups import compare, read_notions, read_reference
from otfair.auditing._limits import Limit, judge
from otfair.auditing._neighbours import Neighbourhood
from otfair.auditing._precision import measure_precision
from otfair.auditing._reading import AuditData, read
from otfair.auditing._regions import find_regions
from otfair.auditing._results import Finding, Record
from otfair.auditing._steps import Steps
from otfair.auditing._violations import MIN_PEOPLE, measure_violation
from otfair.auditing.costs._bounding import add_bound
from otfair.auditing.costs._costs import cost_of_fairness
from otfair.auditing.costs._distances import Distances
from otfair.distributed import is_dask
from otfair.metrics import draw_counts
from otfair.notions import Notion, PredictiveParity
from otfair.tables import Columns, as_columns, is_number, same_people

LIBRARIES = ("otfair", "numpy", "scipy", "torch", "pandas", "scikit-learn", "numba")
MODULES = {"scikit-learn": "sklearn"}
BOUNDED_PEOPLE = 3000  # up to which bounds take seconds


def audit(
    scores: Array,
    X: Array = None,
    *,
    sensitive_features: Array,
    labels: Array = None,
    notions: Sequence[str | Notion] | str | Notion | None = None,
    threshold: float = 0.5,
    sample_weight: Array = None,
    continuous: Columns = (),
    categorical: Columns = (),
    positive_label: object = None,
    drop: Iterable[str] = (),
    keep: Iterable[str] = (),
    control_features: Array = None,
    skip_unscored: bool = False,
    epsilon: float = 1e-3,
    n_bootstrap: int = 200,
    random_state: int = 0,
    receivers: int | None = None,
    bounded: bool | None = None,
    favourable: int | None = None,
    reference: str | Mapping[str, str] | None = None,
    cross: Iterable[Sequence[str]] = (),
    names: Mapping[str, Mapping[str, str]] | None = None,
    min_people: int = MIN_PEOPLE,
    limits: Sequence[Limit] = (),
    title: str = "",
    verbose: bool = False,
) -> Audit:
    """Audit scores, whatever model made them: how unfair they are, to whom, and what it would take.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Scores in [0, 1], or decisions as 0 and 1. Where it is a Dask collection, so are all others,
        and rows stay on the workers.
    X : table or array-like of shape (n, p), default=None
        Features that say who is like whom. What looks like an identifier is left out, as are copies
        of what is sensitive, of labels and scores. Where no column is left, distances are ignored.
    sensitive_features : table or array-like of shape (n,) or (n, k)
        One or many columns, each audited by itself.
    labels : array-like of shape (n,), default=None
        Outcomes, with two values.
    notions : str, Notion or sequence of them, default=None
        By default demographic parity and, with labels, equalized odds. An `intersectional` one
        is audited by one attribute, of crossed groups. Predictive parity without a rate is judged
        by the rate that is cheapest to reach.
    threshold : float, default=0.5
        A score above it is a positive decision.
    sample_weight : array-like of shape (n,), default=None
        A row of weight w counts as w copies.
    continuous, categorical : str, int or iterable of them, default=()
        Sensitive columns to read as numbers or as groups, besides those that a notion names.
    positive_label : object, default=None
        Which label is positive, where its name does not tell.
    drop, keep : iterable of str, default=()
        Columns of `X` to leave out, and to use even if they look like identifiers or copies.
    control_features : table or array-like of shape (n,) or (n, k), default=None
        Columns within whose values, or quarters of numbers, conditional parity compares people.
    skip_unscored : bool, default=False
        Whether to leave rows without a score out, and count them, where it is an error else.
    epsilon : float, default=1e-3
        Smoothing of the smooth cost, in units of the typical distance.
    n_bootstrap : int, default=200
        Resamples of people for the intervals.
    random_state : int, default=0
        Seed of resamples and reference samples.
    receivers : int, default=None
        How many people may receive score. Where they are fewer than all, they are a sample, and the
        result says what this adds to the cost. By default all, where that takes at most 2.5e9
        comparisons of two people: up to 50 000 people and, with Numba, as many as boxes of near
        people allow. Else the largest power of two below 2.5e9 / n, but no fewer than 512: of a
        million people, 2048. The fewer, the faster. On Dask boxes are not counted: more than
        50 000 people are all receivers only if asked for.
    bounded : bool, default=None
        Whether nobody may end with a score above one, so that the plan is a proposal and not only
        a measure; by default, for up to 3000 people without a reference sample. More of them take
        minutes, and memory for the distances between all. By default, where fairness of more people
        looks free without it, the cost with it is found from a sample (`Cost.with_bound`).
    favourable : {0, 1}, default=None
        Whether a positive decision is good for people (1), such as a loan, or bad (0), such as
        being held for a risk. By default names tell, such as "approved" or "default"; where they
        don't, the audit speaks of the lowest and the highest group instead of worst and best off.
    reference : str or mapping from attribute to str, default=None
        Group that the decisions of others are compared with; by default the most favoured one
        that is large enough.
    cross : iterable of sequences of str, default=()
        Sensitive columns that are audited crossed too, such as ``[("sex", "race")]``.
    names : mapping from column to mapping from value to str, default=None
        Words for codes of sensitive columns and controls, such as ``{"sex": {"1": "men"}}``.
    min_people : int, default=30
        Groups of fewer are too small to say, and compared with nobody.
    limits : sequence of Limit, default=()
        What `Audit.statuses` holds findings against.
    title : str, default=""
        Title of the report, such as what was scored, by which model and when.
    verbose : bool, default=False
        Whether to show progress on stderr.

    Returns
    -------
    Audit
        What was found, with `summary()`, `to_html()` and `to_json()`.

    Examples
    --------
    >>> import otfair
    >>> data = otfair.load_dataset("synthetic", n=500)
    >>> sex = data.sensitive_features["sex"]
    >>> found = otfair.audit(data.truth.scores, data.X, sensitive_features=sex, labels=data.y)
    >>> found.summary()[["notion", "attribute", "violation", "moved", "distance"]].round(2)
                   notion attribute  violation  moved  distance
    0  demographic_parity       sex       0.35   0.13      0.33
    1      equalized_odds       sex       0.33   0.09      0.28
    """
    started = time.perf_counter()
    _check_settings(threshold, epsilon, n_bootstrap, random_state, receivers, min_people)
    if favourable not in (None, 0, 1):
        raise ArgumentError("favourable", f"must be 0 or 1; received {shown(favourable)}.")
    given = {
        "scores": scores, "X": X, "sensitive_features": sensitive_features, "labels": labels,
        "sample_weight": sample_weight, "control_features": control_features,
    }  # fmt: skip
    steps = HERE
    if is_dask(*given.values()):
        from otfair.auditing.parted import STEPS as steps
    else:
        same_people(given)
    asked = read_notions(notions, labels is not None)
    data = steps.read(
        **given,
        continuous=_all_names(continuous, *(notion.continuous for notion in asked)),
        categorical=_all_names(categorical, *(notion.categorical for notion in asked)),
        positive_label=positive_label,
        skip_unscored=skip_unscored,
        names=names,
    )
    comparisons = compare(data, asked, [tuple(columns) for columns in cross])
    told = None if favourable is None else int(favourable)
    if told is None:
        favourable = guess_favourable(data.outcomes[1], data.score)
    by_attribute = {c.attribute: c for c in comparisons}
    against = read_reference(reference, by_attribute.values())
    choice = steps.choose_columns(data, drop, keep, verbose)
    features = steps.read_features(choice, data)
    with track(None, "audit", 2 * len(comparisons) + 1, verbose=verbose, leave=False) as bar:
        distances = near_people = None
        if features is not None:
            distances = steps.distances(
                data, features, epsilon=epsilon, seed=random_state, reference=receivers,
                verbose=verbose,
            )  # fmt: skip
            near_people = steps.neighbourhood(data, features, distances.scale, random_state)
        bar.update()
        sampled = distances is not None and distances.sampled
        within = len(data) <= BOUNDED_PEOPLE and not sampled if bounded is None else bool(bounded)
        between = distances.between() if distances is not None and within else None
        counts = steps.draw_counts(data, n_bootstrap, random_state)
        findings = []
        for c in comparisons:
            if issubclass(c.notion, PredictiveParity):
                violation = measure_precision(data, c, threshold, counts, min_people)
            else:
                violation = measure_violation(data, c, threshold, counts, min_people, favourable)
            bar.update()
            near = None if distances is None else distances.of(c)
            cost = steps.cost_of_fairness(data, c, near, between, counts)
            if distances is not None and bounded is None:
                cost = steps.add_bound(cost, data, c, distances)
            finding = Finding(
                notion=c.notion.name, facts=c.notion, attribute=c.attribute,
                violation=violation, cost=cost,
                regions=steps.find_regions(data, features, cost.pairs, verbose),
                alike=None if near_people is None else near_people.of(c, counts),
            )  # fmt: skip
            findings.append(finding)
            bar.update()
        decisions = [
            measure_decisions(
                data, c, threshold, counts, favourable=favourable,
                reference=against.get(name), min_people=min_people,
            )
            for name, c in by_attribute.items()
        ]  # fmt: skip
        shapes = [x for c in by_attribute.values() for x in steps.curves(data, c)]
    used = () if features is None else tuple(map(str, features.table.columns))
    missing = {} if features is None else features.missing
    numbers = _numbers(data)
    findings, people, features = steps.keep_people(data, features, findings)
    failures = [f"{f.attribute}, {f.notion}: {f.cost.failure}" for f in findings if f.cost.failure]
    libraries = (*LIBRARIES, *steps.libraries)
    record = Record(
        title=title,
        score=data.score,
        weight=data.weighted,
        rows_received=data.received,
        rows_used=len(data),
        dropped=data.dropped,
        outcome=data.outcomes[1],
        favourable=favourable,
        columns_used=used,
        columns_left_out=choice.left_out,
        notes=(*choice.notes, *failures),
        missing=missing,
        settings={
            "threshold": float(threshold),
            "favourable": told,
            "epsilon": float(epsilon),
            "n_bootstrap": int(n_bootstrap),
            "random_state": int(random_state),
            "receivers": None if distances is None else distances.fewest,
            "bounded": within,
            "skip_unscored": bool(skip_unscored),
            "min_people": int(min_people),
            "notions": sorted({c.notion.name for c in comparisons}),
            "control": [str(c.name) for c in data.controls],
            "continuous": numbers,
        },
        versions={name: version(name) for name in libraries if find_spec(MODULES.get(name, name))}
        | {"python": platform.python_version()},
        checksum=data.checksum,
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        seconds=time.perf_counter() - started,
    )
    return Audit(
        findings=tuple(findings),
        decisions=tuple(decisions),
        statuses=judge(findings, limits, min_people, numbers),
        curves=tuple(shapes),
        record=record,
        people=people,
        features=features,
    )


HERE = Steps(
    read=read,
    choose_columns=choose_columns,
    read_features=lambda choice, data: read_features(choice, data.weight),
    distances=Distances,
    neighbourhood=Neighbourhood,
    draw_counts=lambda data, count, seed: draw_counts(len(data), count, seed),
    cost_of_fairness=cost_of_fairness,
    add_bound=add_bound,
    find_regions=find_regions,
    curves=lambda data, comparison: curves(data, comparison.groups),
    keep_people=lambda data, features, findings: (findings, data, features),
)


def _all_names(*chosen: Columns) -> list[str | int]:
    """Return the columns that any of several settings names."""
    return [name for one in chosen for name in as_columns(one)]


def _numbers(data: AuditData) -> list[str]:
    """Return the attributes that are numbers."""
    return [str(c.name) for c in data.columns if is_number(c.values)]


def _check_settings(
    threshold: float, epsilon: float, n_bootstrap: int, random_state: int,
    receivers: int | None, min_people: int,
) -> None:  # fmt: skip
    check_whole("min_people", min_people, 1)
    check_real("threshold", threshold, 0, 1)
    check_epsilon(epsilon)
    check_whole("n_bootstrap", n_bootstrap, 0, MOST_RESAMPLES)
    if receivers is not None:
        check_whole("receivers", receivers, 1)
    whole = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool)
    if not whole or random_state < 0:
        raise ValueError(
            f"`random_state` (on the command line, `--seed`) must be a whole number from 0 on, so "
            f"that the audit can be repeated; received {shown(random_state)}. Pass one, such as 0."
        )
