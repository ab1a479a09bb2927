"""OTF as a booster's objective: its terms, why they are safe, four calling conventions, metrics."""

from __future__ import annotations

from inspect import signature

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from scipy.special import expit
from sklearn.metrics import roc_auc_score

import otfair
from otfair import OTFObjective
from otfair.models._objective import APPROACH

QUIET = {"verbosity": -1, "num_threads": 1}
TREES = {"objective": "binary:logistic", "nthread": 1, "max_depth": 3, "eta": 0.1}


@pytest.fixture(scope="module")
def people():
    data = otfair.load_dataset("synthetic", n=600)
    X = otfair.TableEncoder().fit_transform(data.X)
    return X, np.asarray(data.y), data.sensitive_features["sex"]


@pytest.fixture
def objective(people):
    X, y, s = people
    return OTFObjective(alpha=0.5, balance=5.0).fit(X, s, y)


def margins_of(people, seed=0):
    X, _, s = people
    noise = np.random.default_rng(seed).normal(size=len(X))
    return 0.5 * X[:, 0] + (s == "Male").to_numpy() + noise


@pytest.mark.parametrize("regularizer", ["otf", "norm", "correlation"])
def test_at_scores_that_stay_the_first_order_term_becomes_the_slope_of_the_objective(
    people, regularizer
):
    X, y, s = people
    objective = OTFObjective(alpha=0.5, balance=5.0, regularizer=regularizer).fit(X, s, y)
    z = margins_of(people)
    for _ in range(300):
        slope, curvature = objective(y, z)
    assert (curvature > 0).all()
    value, step = objective.metric("objective").value, 1e-5
    for i in range(0, 600, 60):
        e = step * (np.arange(600) == i)
        difference = (value(y, z + e) - value(y, z - e)) / (2 * step)
        # A mean over people, of which the cross-entropy has weight 1 - alpha.
        assert slope[i] * 0.5 / 600 == pytest.approx(difference, rel=1e-3, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_no_tree_s_full_step_undoes_more_of_the_penalty_than_it_may(people, seed):
    X, y, s = people
    rng = np.random.default_rng(seed)
    objective = OTFObjective(alpha=1, balance=1.0).fit(X, s, y)
    z, y = margins_of(people, seed), np.asarray(y)
    penalty, slope = objective._train.penalty(expit(z))
    first, second = objective(y, z)
    for leaves in (2, 8, 600):
        leaf = np.digitize(X @ rng.normal(size=X.shape[1]), np.sort(rng.normal(size=leaves)))
        if leaves == 600:
            leaf = np.arange(600)
        total, curvature = np.bincount(leaf, first), np.bincount(leaf, second)
        step = -(total / np.where(curvature > 0, curvature, 1))[leaf]
        undone = -(slope * expit(z) * (1 - expit(z))) @ step
        # The tree that separates everybody attains the bound, by Cauchy and Schwarz.
        assert -1e-9 <= undone <= APPROACH * penalty * (1 + 1e-9)
        if leaves == 600:
            assert undone == pytest.approx(APPROACH * penalty)
        # A learning rate's share of it is a descent of the true penalty, if it does anything.
        after = objective._train.penalty(expit(z + 0.1 * step), slope=False)[0]
        assert after <= penalty * (1 + 1e-9)


def test_weights_are_copies(people):
    X, y, s = (np.asarray(v)[:200] for v in people)
    w = np.random.default_rng(0).integers(0, 4, 200)
    z, rows = margins_of(people)[:200], np.repeat(np.arange(200), w)
    weighted = OTFObjective(alpha=0.7, balance=5.0).fit(X, s, y, w)
    copied = OTFObjective(alpha=0.7, balance=5.0).fit(X[rows], s[rows], y[rows])
    for _ in range(3):
        ours, theirs = weighted(y, z), copied(y[rows], z[rows])
        for a, b in zip(ours, theirs):
            np.testing.assert_allclose(a, np.bincount(rows, b, 200), rtol=1e-3, atol=1e-4)
    assert weighted.base_score == pytest.approx(copied.base_score)


def test_the_factor_is_that_of_the_logistic_regression(people):
    X, y, s = people
    objective = OTFObjective(alpha=0.5).fit(X, s, y)
    line = otfair.OTFClassifier(alpha=0.5).fit(X, y, sensitive_features=s)
    assert objective.balance_ == pytest.approx(line.balance_, rel=0.2)


def by_xgboost(X, y, objective, rounds=30, **params):
    data = xgboost.DMatrix(X, y, nthread=1)
    start = {"base_score": objective.base_score} if callable(objective) else {}
    model = xgboost.train(
        {**TREES, **start, **params}, data, rounds, obj=objective if callable(objective) else None
    )
    return model.predict(data)


def by_xgboost_classifier(X, y, objective):
    start = {"base_score": objective.base_score} if callable(objective) else {}
    model = xgboost.XGBClassifier(n_estimators=30, n_jobs=1, objective=objective, **start)
    return model.fit(X, y).predict_proba(X)[:, 1]


def by_lightgbm(X, y, objective):
    start = objective.init_score if callable(objective) else None
    data = lightgbm.Dataset(X, y, init_score=start)
    model = lightgbm.train({**QUIET, "objective": objective}, data, 30)
    return expit(model.predict(X, raw_score=True) + (0 if start is None else start))


def by_lightgbm_classifier(X, y, objective):
    start = objective.init_score if callable(objective) else None
    model = lightgbm.LGBMClassifier(n_estimators=30, n_jobs=1, verbosity=-1, objective=objective)
    raw = model.fit(X, y, init_score=start).booster_.predict(X, raw_score=True)
    return expit(raw + (0 if start is None else start))


@pytest.mark.parametrize(
    ("run", "stock"),
    [
        (by_xgboost, "binary:logistic"),
        (by_xgboost_classifier, "binary:logistic"),
        (by_lightgbm, "binary"),
        (by_lightgbm_classifier, "binary"),
    ],
)
def test_all_four_ways_to_train_take_it_and_alpha_0_is_the_stock_booster(people, run, stock):
    X, y, s = people
    free = run(X, y, stock)
    objective = OTFObjective(alpha=0, balance=5.0).fit(X, s, y)
    np.testing.assert_allclose(run(X, y, objective), free, atol=1e-6)
    objective.alpha = 0.999
    fair = run(X, y, objective)
    assert otfair.pdp_violation(fair, s) < 0.5 * otfair.pdp_violation(free, s)
    assert roc_auc_score(y, fair) > 0.75
    # Training begins anew: what happened before is forgotten.
    np.testing.assert_array_equal(run(X, y, objective), fair)


@pytest.mark.slow
@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds"])
@pytest.mark.parametrize("eta", [0.1, 0.3])
def test_the_violation_falls_with_alpha_and_no_strength_diverges(people, notion, eta):
    X, y, s = people
    objective = OTFObjective(notion).fit(X, s, y)
    found = []
    for alpha in (0.0, 0.3, 0.6, 0.9, 0.99, 1 - 1e-9):
        objective.alpha = alpha
        h = by_xgboost(X, y, objective, 60, eta=eta)
        found.append(objective._train.violation(h.astype(float)))
        assert roc_auc_score(y, h) > 0.7
    free = found[0]
    assert np.diff(found).max() <= 0.05 * free
    assert found[2] < 0.75 * free
    assert found[-1] < 0.2 * free
    objective.alpha = 1  # nothing but fairness: equal scores are fair, so nothing is learnt
    assert np.ptp(by_xgboost(X, y, objective)) < 1e-6


@pytest.fixture(scope="module")
def shifted():
    """A table by whose one column nearly everything, and the groups, are told."""
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], 1000)
    X = np.column_stack([rng.normal(size=1000) + (sex == "m"), rng.integers(0, 5, (1000, 3))])
    y = (X[:, 0] + rng.logistic(size=1000) > 0.5).astype(int)
    return otfair.TableEncoder().fit_transform(X), y, sex


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "left"), [(0.9, 0.12), (0.99, 0.05)])
def test_what_is_fair_stays_fair_from_round_to_round(shifted, alpha, left):
    # The penalty's slope vanishes where scores pass through fairness; the force must not.
    X, y, sex = shifted
    objective = OTFObjective(alpha=alpha).fit(X, sex, y)
    rows = xgboost.DMatrix(X, y)
    booster = xgboost.Booster({**TREES, "base_score": objective.base_score}, [rows])
    violations = []
    for k in range(120):
        booster.update(rows, k, objective)
        violations.append(otfair.pdp_violation(booster.predict(rows), sex))
    assert min(violations[:80]) < 0.02 * max(violations)
    assert max(violations[80:]) < left * max(violations)


def test_full_steps_do_not_diverge_with_an_approach_to_match(shifted):
    X, y, sex = shifted
    objective = OTFObjective(alpha=0.5).fit(X, sex, y)
    objective.approach = 1.0
    rows, found = xgboost.DMatrix(X, y), []
    for alpha in (0.3, 0.9, 0.99):
        objective.reset().alpha = alpha
        params = {**TREES, "eta": 1.0, "max_depth": 6, "base_score": objective.base_score}
        scores = xgboost.train(params, rows, 40, obj=objective).predict(rows)
        found.append((otfair.pdp_violation(scores, sex), roc_auc_score(y, scores)))
    violations, aucs = zip(*found)
    assert violations[0] > violations[1] >= violations[2]
    assert min(aucs) > 0.8


def test_people_without_weight_are_as_if_they_were_not_there(people):
    X, y, s = people
    far = np.vstack([X, np.full((3, X.shape[1]), 1e4)])
    labels, sex = np.append(y, [0, 1, 0]), np.append(s, ["Male", "Female", "Male"])
    weight = np.append(np.ones(len(X)), [0, 0, 0])
    alone = OTFObjective(alpha=0.5, balance=5.0).fit(X, s, y)
    joined = OTFObjective(alpha=0.5, balance=5.0).fit(far, sex, labels, weight)
    z = margins_of(people)
    expected, found = alone(y, z)[0], joined(labels, np.append(z, [0.0, 0.0, 0.0]))[0]
    np.testing.assert_allclose(found[:-3], expected, atol=1e-7)
    np.testing.assert_array_equal(found[-3:], 0.0)


def test_datasets_are_told_by_their_labels(people, objective):
    X, y, s = people
    with pytest.raises(ValueError, match="boosters tell datasets by nothing else"):
        objective.watch(X, s, y)
    with pytest.raises(ValueError, match="call `fit` first"):
        OTFObjective().watch(X, s, y)
    with pytest.raises(ValueError, match="call `fit` first"):
        OTFObjective().metric("auc")(y, margins_of(people))
    with pytest.raises(ValueError, match="`X` is missing"):
        OTFObjective().fit(None, s, y, geometry=otfair.PointCloud(X))
    with pytest.raises(ValueError, match=r"`alpha` must lie in \[0, 1\]; received 5"):
        objective.alpha = 5


@pytest.mark.parametrize("label", [0, 1])
def test_people_of_one_label_only_give_no_start(people, label):
    X, y, s = people
    objective = OTFObjective(balance=1.0).fit(X, s, y, (y == label).astype(float))
    message = f"everybody who has weight has the label {label}. Pass people of both labels"
    for start in ("base_score", "init_score"):
        with pytest.raises(ValueError, match=message):
            getattr(objective, start)


def test_rows_may_be_sampled(people):
    X, y, s = people
    objective = OTFObjective(alpha=0.95, balance=5.0).fit(X, s, y)
    h = by_xgboost(X, y, objective, 60, subsample=0.5, colsample_bytree=0.7)
    assert otfair.pdp_violation(h, s) < 0.05
    assert roc_auc_score(y, h) > 0.75


def test_going_on_from_other_scores_needs_a_reset(people):
    X, y, s = people
    objective = OTFObjective(alpha=0.95, balance=5.0).fit(X, s, y)
    data = xgboost.DMatrix(X, y, nthread=1, base_margin=margins_of(people))
    trained = [xgboost.train(TREES, data, 5, obj=objective.reset()).predict(data) for _ in range(2)]
    np.testing.assert_array_equal(*trained)
    assert len(objective.history_) == 5
    assert objective.history_[-1] < objective.history_[0]


def test_metrics_are_what_they_say_for_all_boosters(people):
    X, y, s = people
    fit, held = np.arange(400), np.arange(400, 600)
    objective = OTFObjective(alpha=0.5, balance=5.0).fit(X[fit], s.iloc[fit], y[fit])
    objective.watch(X[held], s.iloc[held], y[held])
    z = margins_of(people)[held]
    metric = {name: objective.metric(name) for name in ("violation", "auc", "penalty")}
    violation = otfair.pdp_violation(expit(z), s.iloc[held])
    assert metric["violation"](y[held], z) == pytest.approx(violation)
    assert metric["auc"](y[held], z) == pytest.approx(roc_auc_score(y[held], z))
    cost = otfair.adjusted_otf(
        expit(z),
        otfair.PointCloud(X[held], scale=otfair.PointCloud(X[fit]).scale_),
        otfair.DemographicParity().constraints(s.iloc[held]),
    )
    assert metric["penalty"](y[held], z) == pytest.approx(cost.value / 200, rel=1e-3)

    data, valid = (xgboost.DMatrix(X[r], y[r], nthread=1) for r in (fit, held))
    seen: dict = {}
    params = {**TREES, "base_score": objective.base_score, "disable_default_eval_metric": 1}
    model = xgboost.train(
        params, data, 200, obj=objective, custom_metric=objective.metric("objective"),
        evals=[(data, "train"), (valid, "valid")], evals_result=seen,
        early_stopping_rounds=5, verbose_eval=False,
    )  # fmt: skip
    assert model.best_iteration < 190
    assert model.best_score == min(seen["valid"]["objective"])

    seen = {}
    rows = lightgbm.Dataset(X[fit], y[fit], init_score=objective.init_score)
    others = lightgbm.Dataset(X[held], y[held], reference=rows)
    lightgbm.train(
        {**QUIET, "objective": objective, "metric": "None"}, rows, 5, valid_sets=[others],
        feval=objective.metric("auc"), callbacks=[lightgbm.record_evaluation(seen)],
    )  # fmt: skip
    assert len(seen["valid_0"]["auc"]) == 5

    one = xgboost.XGBClassifier(
        n_estimators=5, n_jobs=1, objective=objective, eval_metric=objective.metric("violation")
    )
    one.fit(X[fit], y[fit], eval_set=[(X[held], y[held])], verbose=False)
    assert len(one.evals_result()["validation_0"]["violation"]) == 5
    two = lightgbm.LGBMClassifier(n_estimators=5, n_jobs=1, verbosity=-1, objective=objective)
    others = {"eval_X": X[held], "eval_y": y[held]}
    if "eval_X" not in signature(two.fit).parameters:  # before LightGBM 4.7
        others = {"eval_set": [(X[held], y[held])]}
    two.fit(X[fit], y[fit], eval_metric=objective.metric("auc"), **others)
    assert len(two.evals_result_["valid_0"]["auc"]) == 5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": 2}, r"`alpha` must lie in \[0, 1\]; received 2"),
        ({"regularizer": "l2"}, "unknown regularizer 'l2'; pass one of otf"),
        ({"balance": -1}, '`balance` must be "auto", a positive number, or one for each attribute'),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        OTFObjective(**settings)


def test_bad_calls(people, objective):
    _, y, _ = people
    z = margins_of(people)
    with pytest.raises(ValueError, match="has no people yet; call `fit`"):
        OTFObjective()(y, z)
    with pytest.raises(ValueError, match="labels differ from those given to `fit`"):
        objective(1 - y, z)
    with pytest.raises(ValueError, match="has 10 entries but `fit` has 600"):
        objective(y[:10], z[:10])
    with pytest.raises(ValueError, match="weights differ from those of `fit`"):
        objective(y, z, sample_weight=np.full(600, 2.0))
    with pytest.raises(ValueError, match="unknown metric 'accuracy'; pass one of objective"):
        objective.metric("accuracy")
    with pytest.raises(ValueError, match=r"the 10 people evaluated are not those of `fit`"):
        objective.metric("auc")(y[:10], z[:10])


@pytest.mark.slow
def test_adult(data_home):
    data = otfair.load_dataset("adult", data_home=data_home)
    rows = np.random.default_rng(0).permutation(len(data.y))[:5000]
    X = otfair.TableEncoder().fit_transform(data.X.iloc[rows])
    y, s = np.asarray(data.y)[rows], data.sensitive_features[["sex", "race"]].iloc[rows]
    objective = OTFObjective().fit(X, s, y)
    found = []
    for alpha in (0.0, 0.5, 0.9, 0.99, 0.9999):
        objective.alpha = alpha
        h = by_xgboost(X, y, objective, 60)
        found.append((otfair.pdp_violation(h, s), roc_auc_score(y, h)))
    violations, aucs = np.array(found).T
    assert 0.3 * violations[0] < violations[1] < 0.7 * violations[0]
    assert np.diff(violations).max() <= 0.05 * violations[0]
    assert violations[-1] < 0.2 * violations[0]
    assert aucs.min() > 0.85


def test_people_without_a_sensitive_value_are_in_the_cross_entropy_alone(people):
    X, y, s = people
    gaps = s.astype(object).mask(np.arange(len(s)) % 4 == 0)
    known = gaps.notna().to_numpy(copy=True)
    w = np.random.default_rng(0).integers(1, 3, len(s)).astype(float)
    z = margins_of(people)
    objective = OTFObjective(alpha=0.5, balance=5.0).fit(X, gaps, y, w)
    free = OTFObjective(alpha=0.0, balance=5.0).fit(X, s, y, w)
    (first, second), (expected, curvature) = objective(y, z), free(y, z)
    np.testing.assert_allclose(second, curvature)
    np.testing.assert_allclose(first[~known], expected[~known])
    assert (first[known] != expected[known]).any()
    alone = OTFObjective(alpha=0.5, balance=5.0).fit(X[known], s[known], y[known], w[known])
    for name in ("penalty", "violation"):
        value = objective.metric(name).value(y, z)
        assert value == pytest.approx(alone.metric(name).value(y[known], z[known]), rel=1e-6)
    assert objective.base_score == pytest.approx(w @ y / w.sum())


def test_rows_of_another_order_are_refused_by_their_indexes(people):
    X, y, s = people
    with pytest.raises(ValueError, match="`labels` has the same labels in another order"):
        OTFObjective(alpha=0.5).fit(X, s, pd.Series(y)[::-1])
