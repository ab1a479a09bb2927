"""The scikit-learn classifier: its contract, what alpha means, choosing by outcome, bad input."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from estimators import SuppliesAttribute, wrong_checks
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import otfair
from otfair import OTFClassifier
from otfair.models._judging import split_people
from otfair.models._training import Training


class WithAttribute(SuppliesAttribute, OTFClassifier):
    """With the penalty in reach of the checks."""


@pytest.mark.filterwarnings("ignore::otfair.models.UntrustedModelWarning")
# Converged far, as one check compares weights with copies to seven digits of the logits.
@parametrize_with_checks(
    [
        OTFClassifier(alpha=0),
        WithAttribute(alpha=0.5, epsilon=0.1, tol=1e-12, max_iter=5000, C=0.01),
    ],
    expected_failed_checks=wrong_checks,
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def people():
    data = otfair.load_dataset("synthetic", n=1500)
    return otfair.TableEncoder().fit_transform(data.X), data.y, data.sensitive_features


def test_without_a_penalty_it_is_the_logistic_regression_of_scikit_learn(people):
    X, y, _ = people
    ours = OTFClassifier(alpha=0, C=None, tol=1e-12).fit(X, y)
    theirs = LogisticRegression(C=np.inf, max_iter=2000, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)
    assert ours.converged_
    assert ours.coef_.shape == (1, X.shape[1])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("C", [0.001, 0.1, 10])
def test_the_ridge_is_that_of_scikit_learn(people, C, weighted):
    X, y, _ = people
    w = np.random.default_rng(0).uniform(0, 3, len(y)) if weighted else None
    ours = OTFClassifier(alpha=0, C=C, standardize=False, tol=1e-14).fit(X, y, sample_weight=w)
    theirs = LogisticRegression(C=C, max_iter=2000, tol=1e-9).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


def test_the_ridge_is_on_the_weights_of_standardised_features(people):
    X, y, _ = people
    units = np.geomspace(1e-3, 1e3, X.shape[1])
    plain, scaled = (
        OTFClassifier(alpha=0, C=0.01, tol=1e-14).fit(Z, y).predict_proba(Z)
        for Z in (X, X * units + 5)
    )
    np.testing.assert_allclose(scaled, plain, atol=1e-5)
    theirs = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, tol=1e-9)).fit(X, y)
    np.testing.assert_allclose(plain, theirs.predict_proba(X), atol=1e-5)


def test_a_fair_model_is_regularised_as_much_next_to_its_loss(people):
    # Where the penalty has no force, alpha changes nothing: loss and ridge shrink together.
    X, y, S = people
    weak = {"balance": 1e-12, "C": 0.001, "tol": 1e-14}
    free, fair = (
        OTFClassifier(alpha=a, **weak).fit(X, y, sensitive_features=S["sex"]) for a in (0, 0.9)
    )
    np.testing.assert_allclose(fair.coef_, free.coef_, atol=1e-4)


@pytest.mark.slow
def test_adam_has_the_ridge_of_l_bfgs(people):
    X, y, _ = people
    loop = {"solver": "adam", "epochs": 60, "learning_rate": 0.02, "random_state": 0}
    exact = OTFClassifier(alpha=0, C=1e-3).fit(X, y)
    by_adam = OTFClassifier(alpha=0, C=1e-3, **loop).fit(X, y)
    free = OTFClassifier(alpha=0, C=None).fit(X, y)
    off = np.abs(by_adam.coef_ - exact.coef_).max()
    assert off < 0.1 * np.abs(free.coef_ - exact.coef_).max()


def test_a_module_is_trained_without_the_ridge(people):
    X, y, _ = people
    scores = [
        OTFClassifier(
            alpha=0, C=C, module=lambda p: torch.nn.Linear(p, 1), epochs=2, random_state=0
        )
        .fit(X, y)
        .predict_proba(X)
        for C in (1e-6, None)
    ]
    np.testing.assert_array_equal(*scores)


@pytest.mark.parametrize("C", [0.5, None, np.inf])
def test_the_ridge_is_saved(people, C, tmp_path):
    X, y, _ = people
    OTFClassifier(alpha=0, C=C).fit(X, y).save(tmp_path / "model.safetensors")
    assert OTFClassifier.load(tmp_path / "model.safetensors").C == C


@pytest.mark.parametrize("C", [0, -1.0, "1", np.nan])
def test_a_ridge_is_positive(C):
    with pytest.raises(ValueError, match=r"`C` must be positive; received"):
        OTFClassifier(alpha=0, C=C).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.slow
@pytest.mark.parametrize("regularizer", ["otf", "norm", "correlation", "barycenter"])
def test_the_violation_falls_with_alpha_and_the_objective_is_what_was_minimised(
    people, regularizer
):
    X, y, S = people
    found = [
        OTFClassifier(alpha=a, regularizer=regularizer).fit(X, y, sensitive_features=S["sex"])
        for a in (0.0, 0.3, 0.9)
    ]
    violations = [m.violation_ for m in found]
    assert violations[0] > violations[1] > violations[2]
    assert violations[2] < 0.2 * violations[0]
    for m in found:
        expected = otfair.pdp_violation(m.predict_proba(X)[:, 1], S["sex"])
        assert m.violation_ == pytest.approx(expected, abs=1e-9)
        assert m.history_[-1]["violation"] == pytest.approx(m.violation_, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("regularizer", "notion"),
    [
        ("otf", "demographic_parity"),
        ("otf", "equalized_odds"),
        ("norm", "demographic_parity"),
        ("norm", "equalized_odds"),
        ("correlation", "demographic_parity"),
        ("correlation", "equalized_odds"),
        ("barycenter", "demographic_parity"),
    ],
)
def test_alpha_one_half_leaves_half_of_the_violation(people, regularizer, notion):
    X, y, S = people
    clf = OTFClassifier(notion, regularizer=regularizer)
    path = clf.fit_path(X, y, S["sex"], [0, 0.1, 0.5, 0.9])
    free, weak, half, strong = (m.violation_ for m in path)
    assert half == pytest.approx(0.5 * free, rel=0.1)
    assert weak > 0.6 * free
    assert strong < 0.3 * free


def test_a_balance_of_ones_own_is_used_as_it_is(people):
    X, y, S = people
    m = OTFClassifier(alpha=0.5).fit(X, y, sensitive_features=S[["sex"]])
    by_hand = OTFClassifier(alpha=0.5, balance=m.balance_).fit(X, y, sensitive_features=S[["sex"]])
    np.testing.assert_allclose(by_hand.predict_proba(X), m.predict_proba(X), atol=5e-3)
    weak = OTFClassifier(alpha=0.5, balance=1e-6).fit(X, y, sensitive_features=S[["sex"]])
    free = OTFClassifier(alpha=0).fit(X, y)
    np.testing.assert_allclose(weak.predict_proba(X), free.predict_proba(X), atol=5e-3)


def test_scores_that_are_fair_already_are_balanced_by_slopes():
    # The two groups are copies of each other, so there is no violation that could be halved.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
    s = np.repeat(["a", "b"], 40)
    m = OTFClassifier(C=None).fit(np.tile(X, (2, 1)), np.tile(y, 2), sensitive_features=s)
    free = OTFClassifier(alpha=0, C=None).fit(X, y)
    np.testing.assert_allclose(m.predict_proba(X), free.predict_proba(X), atol=5e-3)
    assert m.balance_ == 1


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["lbfgs", "adam"])
def test_an_unfair_model_is_gone_on_from(people, solver):
    X, y, S = people
    unfair = LogisticRegression(C=np.inf, max_iter=2000).fit(X, y)
    before = otfair.pdp_violation(unfair.predict_proba(X)[:, 1], S["sex"])
    m = OTFClassifier(alpha=1, init=unfair, solver=solver, epochs=60, learning_rate=0.01)
    m.fit(X, y, sensitive_features=S["sex"])
    assert m.violation_ < 0.1 * before
    assert m.score(X, y) > unfair.score(X, y) - 0.1  # better than always saying no: 0.59
    path = OTFClassifier(init=unfair).fit_path(X, y, S["sex"], [0.5])
    assert next(path).violation_ < before
    kept = clone(OTFClassifier(init=FrozenEstimator(unfair)))  # clones forget other fits
    kept.fit(X, y, sensitive_features=S["sex"])
    with pytest.raises(ValueError, match="`init` must be a trained linear classifier with"):
        OTFClassifier(init=LogisticRegression()).fit(X, y, sensitive_features=S["sex"])


def test_going_on_without_fairness_reaches_the_unconstrained_model(people):
    X, y, S = people
    fair = OTFClassifier(alpha=0.9).fit(X, y, sensitive_features=S["sex"])
    back = OTFClassifier(alpha=0, init=fair, tol=1e-9).fit(X, y)
    free = OTFClassifier(alpha=0, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(back.predict_proba(X), free.predict_proba(X), atol=1e-3)


@pytest.mark.slow
def test_a_loss_of_ones_own_is_the_regularizer(people):
    X, y, S = people
    named = OTFClassifier(regularizer="norm").fit(X, y, sensitive_features=S["sex"])
    norm = otfair.NormLoss("demographic_parity")
    given = OTFClassifier(regularizer=norm).fit(X, y, sensitive_features=S["sex"])
    np.testing.assert_array_equal(given.coef_, named.coef_)
    assert float(norm.balance) == 1  # the user's loss is left as it was
    far = otfair.OTFLoss(cost="cityblock", scale="mean")
    other = OTFClassifier(regularizer=far).fit(X, y, sensitive_features=S["sex"])
    plain = OTFClassifier().fit(X, y, sensitive_features=S["sex"])
    assert np.abs(other.coef_ - plain.coef_).max() > 1e-4
    with pytest.raises(ValueError, match="`regularizer` was made for"):
        OTFClassifier("equalized_odds", regularizer=norm).fit(X, y, sensitive_features=S["sex"])


@pytest.mark.slow
def test_in_batch_mode_score_stays_in_the_batch(people):
    X, y, S = people
    settings = {"solver": "adam", "epochs": 20, "learning_rate": 0.02, "random_state": 0}
    free = OTFClassifier(alpha=0).fit(X, y, sensitive_features=S["sex"])
    batch = OTFClassifier(alpha=0.95, mode="batch", batch_size=250, **settings)
    batch.fit(X, y, sensitive_features=S["sex"])
    assert batch.violation_ < 0.5 * free.violation_
    # One batch of everybody is the dataset.
    whole = {"batch_size": len(X), "balance": 30.0, "alpha": 0.5, **settings}
    one, two = (
        OTFClassifier(mode=mode, **whole).fit(X, y, sensitive_features=S["sex"])
        for mode in ("batch", "dataset")
    )
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-4)
    with pytest.raises(ValueError, match='needs `solver="adam"`'):
        OTFClassifier(mode="batch").fit(X, y, sensitive_features=S["sex"])


@pytest.mark.slow
@pytest.mark.parametrize(("share", "limit"), [(0.0, 0.15), (0.3, 0.22)])
def test_max_violation_finds_the_weakest_alpha_that_meets_it(people, share, limit):
    X, y, S = people
    m = OTFClassifier(max_violation=limit, validation_fraction=share, random_state=0)
    m.fit(X, y, sensitive_features=S["sex"])
    assert m.violation_ < m.violation_bound_ <= limit
    assert 0 < m.alpha_ < 1
    assert m.judgement_.met
    assert m.judgement_.people == ("validation" if share else "cross-fitted")
    assert m.judgement_.n == (450 if share else 1500)
    assert str(m.judgement_.n).replace("1500", "1,500") in str(m.judgement_)
    chosen = [record["alpha"] for record in m.search_].index(m.alpha_)
    assert m.search_[chosen]["bound"] == m.violation_bound_
    assert all(record["bound"] > limit for record in m.search_[:chosen])


@pytest.mark.slow
def test_the_violation_is_that_of_models_which_were_not_trained_on_who_judges(people):
    # Each fold trained by hand.
    X, y, S = people
    sex = S["sex"]
    m = OTFClassifier(max_violation=0.15).fit(X, y, sensitive_features=sex)
    typed = otfair.as_notion(m.notion).people(sex, y)
    h = np.empty(len(y))
    alike = otfair.PointCloud(m.cost_features_of(X))
    for kept, judged in split_people(m, typed, y)[0]:
        part = OTFClassifier(alpha=m.alpha_, standardize=False, geometry=alike.take(kept))
        scaled = m.cost_features_of(X)
        part.fit(scaled[kept], y[kept], sensitive_features=sex.iloc[kept])
        h[judged] = part.predict_proba(scaled[judged])[:, 1]
    assert otfair.pdp_violation(h, sex) == pytest.approx(m.violation_, abs=5e-4)
    own = otfair.pdp_violation(m.predict_proba(X)[:, 1], sex)  # of those it was trained on
    assert abs(own - m.violation_) > 6e-4
    # What is kept was trained on all people.
    whole = OTFClassifier(alpha=m.alpha_).fit(X, y, sensitive_features=sex)
    np.testing.assert_allclose(m.coef_, whole.coef_, atol=1e-3)


@pytest.mark.slow
def test_the_training_people_do_not_tell_what_holds_for_others(people):
    # Too few people to promise 0.05: said, where the training people would have agreed.
    X, y, S = people
    m = OTFClassifier(max_violation=0.05)
    with pytest.warns(otfair.LimitWarning, match="no alpha meets max_violation=0.05") as said:
        m.fit(X[:300], y[:300], sensitive_features=S["sex"][:300])
    assert otfair.pdp_violation(m.predict_proba(X[:300])[:, 1], S["sex"][:300]) < 0.05
    assert m.violation_bound_ > 0.05
    assert not m.judgement_.met
    assert said[0].filename == __file__


@pytest.mark.slow
def test_differences_of_means_are_a_criterion(people):
    X, y, S = people
    m = OTFClassifier("equalized_odds", max_violation=0.12, criterion="difference")
    m.fit(X, y, sensitive_features=S[["sex"]])
    assert m.judgement_.criterion == "difference"
    assert m.violation_bound_ <= 0.12
    free = OTFClassifier("equalized_odds", alpha=0, criterion="difference")
    free.fit(X, y, sensitive_features=S[["sex"]])
    h = free.predict_proba(X)[:, 1]
    expected = otfair.mean_score_difference(h, S[["sex"]], "equalized_odds", y)
    assert free.violation_ == pytest.approx(expected, abs=1e-12)
    own = otfair.LinearNotion(lambda s, y: np.where(s == "Male", 1.0, -1.0)[None])
    with pytest.raises(ValueError, match=r'has none\. Take `criterion="correlation"`'):
        OTFClassifier(own, criterion="difference").fit(X, y, sensitive_features=S["sex"].to_numpy())


@pytest.mark.slow
def test_a_geometry_of_all_people_serves_those_who_train(people):
    X, y, S = people
    X, y, sex = X[:600], y[:600], S["sex"][:600]
    m = OTFClassifier(max_violation=0.4, standardize=False).fit(X, y, sensitive_features=sex)
    given = clone(m).set_params(geometry=otfair.PointCloud(X))
    for share in (0.0, 0.5):
        both = [c.set_params(validation_fraction=share, random_state=1) for c in (m, given)]
        one, two = (c.fit(X, y, sensitive_features=sex) for c in both)
        np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-6)
        assert one.violation_ == pytest.approx(two.violation_, abs=1e-9)


def test_a_violation_that_is_met_already_needs_no_fairness(people):
    X, y, S = people
    m = OTFClassifier(max_violation=0.99).fit(X, y, sensitive_features=S["sex"])
    assert m.alpha_ == 0


@pytest.mark.slow
def test_a_violation_that_cannot_be_met_is_said(people):
    X, y, S = people
    m = OTFClassifier(max_violation=0.0, validation_fraction=0.4, random_state=0, balance=20.0)
    with pytest.warns(otfair.LimitWarning, match="no alpha meets") as said:
        m.fit(X, y, sensitive_features=S[["sex"]])
    assert said[0].filename == __file__


@pytest.mark.parametrize("container", [pd.DataFrame, pl.DataFrame])
def test_frames_of_pandas_and_polars(people, container):
    X, y, S = people
    X, y, S = X[:300], y[:300], S.iloc[:300]["sex"].to_frame()
    names = [f"x{j}" for j in range(X.shape[1])]
    frame = container(dict(zip(names, X.T)))
    sensitive = S if container is pd.DataFrame else pl.from_pandas(S)
    m = OTFClassifier("equalized_odds", balance=20.0).fit(frame, y, sensitive_features=sensitive)
    assert m.feature_names_in_.tolist() == names
    plain = OTFClassifier("equalized_odds", balance=20.0).fit(X, y, sensitive_features=S)
    np.testing.assert_allclose(m.predict_proba(frame), plain.predict_proba(X), atol=1e-3)


def test_routing_carries_the_sensitive_features_through_pipelines_and_searches(people):
    data = otfair.load_dataset("synthetic", n=400)
    with config_context(enable_metadata_routing=True):
        clf = OTFClassifier(alpha=0.5, balance=20.0).set_fit_request(sensitive_features=True)
        pipe = make_pipeline(otfair.TableEncoder(), clf)
        search = GridSearchCV(pipe, {"otfclassifier__alpha": [0.1, 0.5]}, cv=2)
        sex = data.sensitive_features[["sex"]]
        search.fit(data.X, data.y, sensitive_features=sex)
        assert set(search.predict(data.X)) <= {0, 1}
        scores = cross_validate(pipe, data.X, data.y, cv=2, params={"sensitive_features": sex})
        assert np.isfinite(scores["test_score"]).all()


def test_clones_and_pickles_predict_the_same(people):
    X, y, S = people
    m = OTFClassifier("equalized_odds", alpha=0.3).fit(X, y, sensitive_features=S["sex"])
    again = pickle.loads(pickle.dumps(m))
    np.testing.assert_array_equal(again.predict_proba(X), m.predict_proba(X))
    assert clone(m).get_params()["alpha"] == 0.3


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["linear", "module", "function"])
def test_mini_batches_train_modules_and_lines(people, kind):
    X, y, S = people

    def network(width: int) -> torch.nn.Module:
        return torch.nn.Sequential(
            torch.nn.Linear(width, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)
        )

    module = {"linear": None, "module": network(X.shape[1]), "function": network}[kind]
    settings = {"solver": "adam", "module": module, "epochs": 25, "batch_size": 200}
    settings |= {"learning_rate": 0.02, "random_state": 0}
    free, fair = (
        OTFClassifier(alpha=a, **settings).fit(X, y, sensitive_features=S["sex"]) for a in (0, 0.8)
    )
    assert fair.violation_ < 0.6 * free.violation_
    assert free.score(X, y) > 0.7
    again = OTFClassifier(alpha=0.8, **settings).fit(X, y, sensitive_features=S["sex"])
    np.testing.assert_array_equal(again.predict_proba(X), fair.predict_proba(X))
    assert len(fair.history_) == 25
    assert hasattr(fair, "coef_") == (kind == "linear")


def test_cost_features_and_geometry_say_who_is_alike(people):
    X, y, S = people
    sex = S["sex"]
    few = OTFClassifier(cost_features=[0, 1]).fit(X, y, sensitive_features=sex)
    Z = (X - X.mean(0)) / np.where(X.std(0) > 0, X.std(0), 1)
    given = OTFClassifier(geometry=otfair.PointCloud(Z[:, :2])).fit(X, y, sensitive_features=sex)
    np.testing.assert_allclose(few.coef_, given.coef_, atol=1e-6)
    whole = OTFClassifier().fit(X, y, sensitive_features=sex)
    assert np.abs(whole.coef_ - few.coef_).max() > 1e-4
    with pytest.raises(ValueError, match="cost_features"):
        OTFClassifier(cost_features=["nobody"]).fit(X, y, sensitive_features=sex)


@pytest.mark.slow
def test_cost_and_scale_are_those_of_the_geometry(people):
    X, y, S = people
    sex = S["sex"]
    Z = (X - X.mean(0)) / np.where(X.std(0) > 0, X.std(0), 1)
    clf = OTFClassifier(cost="cityblock", scale="mean").fit(X, y, sensitive_features=sex)
    geometry = otfair.PointCloud(Z, cost="cityblock", scale="mean")
    given = OTFClassifier(geometry=geometry).fit(X, y, sensitive_features=sex)
    np.testing.assert_allclose(clf.coef_, given.coef_, atol=1e-6)
    plain = OTFClassifier().fit(X, y, sensitive_features=sex)
    assert np.abs(clf.coef_ - plain.coef_).max() > 1e-4
    loss = otfair.OTFLoss(cost="cityblock", scale="mean")
    same = OTFClassifier(regularizer=loss, cost="cityblock", scale="mean")
    same.fit(X, y, sensitive_features=sex)
    # In batch mode each batch has a geometry of its own.
    batch = {"mode": "batch", "solver": "adam", "epochs": 2, "batch_size": 250, "random_state": 0}
    one, two = (
        OTFClassifier(cost=cost, scale="mean", **batch).fit(X, y, sensitive_features=sex).coef_
        for cost in ("euclidean", "cityblock")
    )
    assert np.abs(one - two).max() > 1e-6


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cost": "taxi"}, "unknown cost 'taxi'; pass one of euclidean"),
        ({"cost": "taxi", "mode": "batch", "solver": "adam"}, "unknown cost 'taxi'"),
        ({"scale": "least"}, "unknown scale 'least'"),
        ({"cost": "cosine", "geometry": True}, "`geometry` has a cost of its own, but .* 'cosine'"),
        ({"scale": 2.0, "geometry": True}, "`geometry` has a cost of its own, but .* 2.0"),
        ({"cost": "cosine", "regularizer": otfair.OTFLoss()}, "the cost 'euclidean' .* 'cosine'"),
    ],
)
def test_a_cost_that_is_unknown_or_not_used_is_refused(people, settings, message):
    X, y, S = people
    if "geometry" in settings:
        settings = settings | {"geometry": otfair.PointCloud(X[:100])}
    with pytest.raises(ValueError, match=message):
        OTFClassifier(**settings).fit(X[:100], y[:100], sensitive_features=S["sex"][:100])


@pytest.mark.slow
def test_costs_are_searched_and_saved(people, tmp_path):
    X, y, S = people
    X, y, sex = X[:300], y[:300], S["sex"].iloc[:300]
    with config_context(enable_metadata_routing=True):
        clf = OTFClassifier(balance=20.0).set_fit_request(sensitive_features=True)
        search = GridSearchCV(clf, {"cost": ["euclidean", "cosine"], "scale": ["max", 2.0]}, cv=2)
        search.fit(X, y, sensitive_features=sex)
    assert len(search.cv_results_["params"]) == 4
    fitted = OTFClassifier(cost="cosine", scale=2.0, balance=20.0).fit(X, y, sex)
    fitted.save(tmp_path / "model.safetensors")
    loaded = OTFClassifier.load(tmp_path / "model.safetensors")
    assert (loaded.cost, loaded.scale) == ("cosine", 2.0)
    np.testing.assert_array_equal(loaded.fit(X, y, sex).coef_, fitted.coef_)


def test_cost_features_by_names_from_before_the_encoder():
    data = otfair.load_dataset("synthetic", n=300)
    encoder = otfair.TableEncoder().set_output(transform="pandas")
    X, sex = encoder.fit_transform(data.X), data.sensitive_features["sex"]
    mask = np.array([c.startswith("education=") or c == "income" for c in X.columns])
    fits = [
        OTFClassifier(cost_features=chosen).fit(X, data.y, sensitive_features=sex).coef_
        for chosen in (["education", "income"], mask, np.flatnonzero(mask))
    ]
    # In another order of columns distances, and so all else, differ by rounding.
    np.testing.assert_allclose(fits[0], fits[1], atol=1e-3)
    np.testing.assert_array_equal(fits[1], fits[2])
    one = OTFClassifier(cost_features="income").fit(X, data.y, sensitive_features=sex)
    assert np.abs(one.coef_ - fits[0]).max() > 1e-3
    with pytest.raises(ValueError, match="set_output"):
        OTFClassifier(cost_features=["income"]).fit(X.to_numpy(), data.y, sensitive_features=sex)


def test_integer_weights_are_copies(people):
    X, y, S = people
    X, y, sex = X[:200], y[:200], S["sex"].to_numpy()[:200]
    w = np.random.default_rng(0).integers(1, 4, 200)
    r = np.repeat(np.arange(200), w)
    one = OTFClassifier(tol=1e-10).fit(X, y, sensitive_features=sex, sample_weight=w)
    many = OTFClassifier(tol=1e-10).fit(X[r], y[r], sensitive_features=sex[r])
    np.testing.assert_allclose(one.predict_proba(X), many.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize(
    ("settings", "change", "message"),
    [
        ({"alpha": 1.5}, {}, r"`alpha` must lie in \[0, 1\]"),
        ({"notion": "justice"}, {}, "unknown notion 'justice'"),
        ({"regularizer": "l2"}, {}, "unknown regularizer 'l2'"),
        ({"solver": "sgd"}, {}, "unknown solver 'sgd'"),
        ({"balance": -1}, {}, "`balance` must be"),
        ({"max_violation": 2}, {}, "`max_violation` must lie in"),
        ({"alpha": "0.5"}, {}, r"`alpha` must lie in \[0, 1\]; received '0.5'"),
        ({"epsilon": -1}, {}, "`epsilon` must be positive; received -1"),
        ({"learning_rate": 0, "solver": "adam"}, {}, "`learning_rate` must be positive; received"),
        ({"balance": np.inf}, {}, "`balance` must be"),
        ({"balance": None}, {}, "`balance` must be"),
        ({"module": "net"}, {}, "`module` must be a torch module"),
        ({"max_iter": -1}, {}, "`max_iter` must be at least 1, a whole number"),
        ({"epochs": 2.5, "solver": "adam"}, {}, "`epochs` must be at least 1, a whole number"),
        ({"batch_size": 0, "solver": "adam"}, {}, "`batch_size` must be at least 1"),
        ({"max_violation": 0.1, "validation_fraction": -0.2}, {}, "`validation_fraction` must lie"),
        ({"max_violation": 0.1, "validation_fraction": 0.999}, {}, "leaves too few on one side"),
        ({}, {"sensitive_features": None}, "`sensitive_features` are missing"),
        ({}, {"sensitive_features": ["a"] * 60}, "only one group"),
        ({}, {"sensitive_features": ["a", "b"]}, "has 2 entries but `X` has 60 people"),
        ({}, {"y": [1] * 60}, "only one class"),
        ({}, {"y": [0, 1, 2] * 20}, "Only binary classification"),
        ({}, {"y": [0, 1]}, "inconsistent numbers of samples"),
        ({"regularizer": "barycenter", "notion": "equalized_odds"}, {}, "demographic parity only"),
    ],
)
def test_bad_input_gets_a_clear_error(settings, change, message):
    rng = np.random.default_rng(0)
    data = {"X": rng.normal(size=(60, 2)), "y": rng.integers(0, 2, 60)}
    data |= {"sensitive_features": rng.choice(["a", "b"], 60)} | change
    with pytest.raises(ValueError, match=message):
        OTFClassifier(**settings).fit(**data)


@pytest.mark.parametrize(
    ("settings", "change"),
    [
        ({}, {"sensitive_features": None}),
        ({}, {"y": np.arange(60) % 3}),
        ({"cost_features": "height"}, {}),
        ({"solver": "adam", "learning_rate": 1e30}, {}),
    ],
)
def test_a_fit_that_fails_leaves_the_classifier_as_it_was(settings, change):
    rng = np.random.default_rng(0)
    good = {"X": rng.normal(size=(60, 2)), "y": np.arange(60) % 2}
    good |= {"sensitive_features": rng.choice(["a", "b"], 60)}
    bad = {**good, "X": 1e20 * rng.normal(size=(60, 3)), **change}
    clf = OTFClassifier(balance=1.0, standardize=False)
    failing = clone(clf).set_params(**settings)
    with pytest.raises(ValueError, match=r"."):
        failing.fit(**bad)
    with pytest.raises(NotFittedError):
        failing.predict(bad["X"])
    expected = clf.fit(**good).predict_proba(good["X"])
    with pytest.raises(ValueError, match=r"."):
        clf.set_params(**settings).fit(**bad)
    np.testing.assert_array_equal(clf.predict_proba(good["X"]), expected)


def test_bad_features_get_a_clear_error():
    y, s = [0, 1, 0, 1], ["a", "b", "b", "a"]
    with pytest.raises(ValueError, match="TableEncoder"):
        OTFClassifier().fit([["x"], ["y"], ["x"], ["z"]], y, sensitive_features=s)
    with pytest.raises(ValueError, match="NaN"):
        OTFClassifier().fit([[1.0], [np.nan], [2.0], [0.0]], y, sensitive_features=s)


def test_training_that_is_cut_short_is_said(people):
    X, y, S = people
    with pytest.warns(UserWarning, match="raise `max_iter`"):
        m = OTFClassifier(max_iter=3).fit(X, y, sensitive_features=S["sex"])
    assert not m.converged_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OTFClassifier(max_iter=500).fit(X, y, sensitive_features=S["sex"])


def test_of_the_norm_each_search_has_the_iterations_allowed(people):
    X, y, S = people
    m = OTFClassifier(regularizer="norm", balance=2.0, max_iter=20, tol=1e-4)
    m.fit(X, y, sensitive_features=S["sex"])
    assert 20 < m.n_iter_ <= 5 * 20


def test_the_norm_is_not_stopped_by_its_kinks(people):
    # Several attributes and both labels: one violation vanishes long before the others.
    X, y, S = people
    free = OTFClassifier("equalized_odds", alpha=0).fit(X, y, sensitive_features=S)
    fair = OTFClassifier("equalized_odds", alpha=0.99, regularizer="norm")
    fair.fit(X, y, sensitive_features=S)
    assert fair.violation_ < 1e-3 * free.violation_


def test_without_fairness_a_path_returns_to_the_unconstrained_model(people):
    X, y, S = people
    strong, free = OTFClassifier().fit_path(X, y, S["sex"], [0.9, 0])
    alone = OTFClassifier(alpha=0).fit(X, y, sensitive_features=S["sex"])
    np.testing.assert_array_equal(free.coef_, alone.coef_)
    assert free.history_ == alone.history_
    assert strong.violation_ < 0.5 * free.violation_


@pytest.mark.slow
def test_small_tables_do_not_stop_at_the_first_kink(people):
    # 500 people and several groups: at most strengths some constraint is met exactly.
    X, y, S = people
    X, y, S = X[:500], y[:500], S.iloc[:500][["sex", "origin"]]
    alphas = [0, 0.5, 0.9]
    path = list(OTFClassifier("equalized_odds").fit_path(X, y, S, alphas))
    left = [m.violation_ / path[0].violation_ for m in path]
    assert left == sorted(left, reverse=True)
    assert left[1] == pytest.approx(0.5, abs=0.1)
    assert left[2] < 0.1
    for m in path[1:]:
        alone = OTFClassifier("equalized_odds", m.alpha, balance=m.balance_)
        alone.fit(X, y, sensitive_features=S)
        assert m.history_[-1]["loss"] == pytest.approx(alone.history_[-1]["loss"], rel=0.02)


@pytest.mark.slow
def test_the_published_ascent_does_not_make_things_worse(people):
    X, y, S = people
    free = OTFClassifier(alpha=0).fit(X, y, sensitive_features=S["sex"])
    loss = otfair.OTFLoss(solver="coordinate", max_sweeps=1)
    fair = OTFClassifier(regularizer=loss).fit(X, y, sensitive_features=S["sex"])
    assert fair.violation_ < free.violation_
    assert fair.history_[-1]["penalty"] >= 0


@pytest.mark.slow
def test_people_held_out_are_not_trained_on(people):
    X, y, S = people
    settings = {"max_violation": 0.99, "random_state": 0}  # met without any fairness
    m = OTFClassifier(validation_fraction=0.3, **settings).fit(X, y, sensitive_features=S["sex"])
    whole = OTFClassifier(**settings).fit(X, y, sensitive_features=S["sex"])
    assert m.alpha_ == whole.alpha_ == 0
    assert np.abs(m.coef_ - whole.coef_).max() > 1e-2


@pytest.mark.slow
def test_what_was_chosen_ends_the_history(people):
    X, y, S = people
    m = OTFClassifier(max_violation=0.15).fit(X, y, sensitive_features=S["sex"])
    assert {record["alpha"] for record in m.history_} == {m.alpha_}  # others are of fewer people
    last = otfair.pdp_violation(m.predict_proba(X)[:, 1], S["sex"])
    assert m.history_[-1]["violation"] == pytest.approx(last, abs=1e-9)
    m.set_params(validation_fraction=0.3, max_violation=0.22, random_state=0)
    m.fit(X, y, sensitive_features=S["sex"])
    assert m.history_[-1]["alpha"] == m.alpha_
    assert len({record["alpha"] for record in m.history_}) == len(m.search_)


def test_of_a_warm_and_a_cold_start_the_history_tells_the_one_that_was_kept(people):
    # As in small tables, where searches end on kinks and start anew.
    X, y, S = people
    X, y, S = X[:500], y[:500], S.iloc[:500][["sex", "origin"]]
    for m in OTFClassifier("equalized_odds", balance=30.0).fit_path(X, y, S, [0.3, 0.6, 0.9]):
        assert m.history_[-1]["violation"] == pytest.approx(m.violation_, abs=1e-9)
        assert len(m.history_) <= m.n_iter_ + 1  # what is kept may be told once more


@pytest.mark.slow
def test_adam_says_whether_it_settled(people):
    X, y, S = people
    short, long = (
        OTFClassifier(alpha=0, solver="adam", epochs=e, learning_rate=0.05, random_state=0)
        .fit(X, y, sensitive_features=S["sex"])
        .converged_
        for e in (2, 150)
    )
    assert (short, long) == (False, True)


@pytest.mark.slow
def test_after_a_search_adam_speaks_of_the_strength_that_was_chosen(people):
    X, y, S = people
    m = OTFClassifier(solver="adam", epochs=10, learning_rate=0.05, random_state=0, balance=20.0)
    found = clone(m).set_params(max_violation=0.15).fit(X, y, sensitive_features=S["sex"])
    alone = m.set_params(alpha=found.alpha_).fit(X, y, sensitive_features=S["sex"])
    np.testing.assert_allclose(found.coef_, alone.coef_, atol=1e-3)  # by duals of other strengths
    assert not found.converged_  # ten epochs never tell
    assert not alone.converged_
    assert [record["alpha"] for record in found.history_[-10:]] == [found.alpha_] * 10


@pytest.mark.parametrize("settings", [{"max_violation": 0.05}, {"alpha": 0.5}, {"alpha": 0.0}])
@pytest.mark.parametrize(("epochs", "when"), [(3, "in epoch 2"), (1, "after the last epoch")])
def test_training_that_diverges_is_no_fair_model(settings, epochs, when):
    # One batch an epoch: after its step weights are so large that logits overflow.
    rng = np.random.default_rng(0)
    X, y, s = rng.normal(size=(60, 2)), np.arange(60) % 2, rng.choice(["a", "b"], 60)
    deep = [torch.nn.Linear(2, 4), torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)]
    m = OTFClassifier(module=torch.nn.Sequential(*deep), learning_rate=1e20, epochs=epochs)
    message = f"training diverged: {when}, .* Lower `learning_rate`, which is 1e"
    with pytest.raises(ValueError, match=message):
        m.set_params(balance=1.0, **settings).fit(X, y, sensitive_features=s)


def test_odd_batches_train():
    # One person left over, whom batch normalisation could not take, and people without weight.
    rng = np.random.default_rng(0)
    X, y, s = rng.normal(size=(41, 2)), np.arange(41) % 2, np.arange(41) % 3 > 0
    network = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1))
    weight = np.where(np.arange(41) < 5, 1.0, 0.0)
    for w in (None, weight):
        m = OTFClassifier(module=network, epochs=2, batch_size=10, random_state=0, balance=1.0)
        m.fit(X, y, sensitive_features=s, sample_weight=w)
        assert np.isfinite(m.predict_proba(X)).all()


@pytest.mark.slow
def test_the_largest_correlation_is_lowered_as_no_other_penalty_lowers_it(people):
    # It is what is measured: at its violation, no other penalty has a lower cross-entropy.
    X, y, S = people
    for notion in ("demographic_parity", "equalized_odds"):
        settings = {"notion": notion, "C": None, "tol": 1e-8}
        best, *_ = OTFClassifier(regularizer="correlation", **settings).fit_path(X, y, S, [0.5])
        for regularizer in ("norm", "otf"):
            path = list(
                OTFClassifier(regularizer=regularizer, **settings).fit_path(
                    X, y, S, [0, 0.4, 0.5, 0.6, 0.8]
                )
            )
            left = [m.violation_ for m in path]
            assert left[-1] < best.violation_ < left[0]
            entropy = [log_loss(y, m.predict_proba(X)) for m in path]
            there = np.interp(best.violation_, left[::-1], entropy[::-1])
            assert log_loss(y, best.predict_proba(X)) <= there + 1e-4


@pytest.mark.parametrize("solver", ["lbfgs", "adam"])
def test_the_largest_correlation_trains_in_both_modes(people, solver):
    X, y, S = people
    settings = {"regularizer": "correlation", "solver": solver, "epochs": 20, "balance": 0.5}
    free = OTFClassifier(alpha=0).fit(X, y)
    before = otfair.pdp_violation(free.predict_proba(X)[:, 1], S["sex"])
    for mode in ("dataset", "batch") if solver == "adam" else ("dataset",):
        m = OTFClassifier(alpha=0.5, mode=mode, learning_rate=0.02, **settings)
        m.fit(X, y, sensitive_features=S["sex"])
        assert m.violation_ < 0.5 * before
        assert m.score(X, y) > 0.6


def test_a_smoothed_norm_stays_smoothed(people):
    X, y, S = people
    sharp, round_ = (
        OTFClassifier(regularizer=otfair.NormLoss(smoothing=w), alpha=0.6, balance=1.0)
        .fit(X, y, sensitive_features=S["sex"])
        .violation_
        for w in (0.0, 0.3)
    )
    assert round_ > sharp + 0.02


def test_a_path_is_the_models_of_its_strengths(people):
    X, y, S = people
    path = list(OTFClassifier().fit_path(X, y, S["sex"], [0, 0.2, 0.6]))
    assert [m.alpha_ for m in path] == [0, 0.2, 0.6]
    for m in path:
        alone = OTFClassifier(alpha=m.alpha).fit(X, y, sensitive_features=S["sex"])
        np.testing.assert_allclose(m.predict_proba(X), alone.predict_proba(X), atol=5e-3)
        assert m.violation_ == pytest.approx(alone.violation_, abs=5e-3)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_weights_are_copies_to_a_strong_penalty_with_a_kink_for_each_label(seed):
    # Near fairness all depends on what is left of the violation, which the solver must not lose.
    rng = np.random.default_rng(seed)
    age, X = rng.uniform(18, 80, 60), rng.normal(size=(60, 3))
    X[:, 0] += (age - 50) / 20
    y = (X @ [1, 0.5, -0.5] + rng.logistic(size=60) > 0).astype(int)
    weight = np.random.default_rng(10 + seed).integers(1, 4, 60)
    copies = np.repeat(np.arange(60), weight)
    model = OTFClassifier("equalized_odds", alpha=0.9, balance=30.0)
    one = clone(model).fit(X, y, age, weight)
    other = clone(model).fit(X[copies], y[copies], age[copies])
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-5)


@pytest.mark.slow
def test_every_strength_of_a_search_starts_from_the_same_seed(monkeypatch):
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(80, 2)), rng.choice(["a", "b"], 80)
    y = (X[:, 0] + (groups == "a") + rng.normal(size=80) > 0).astype(int)
    seeds, adam = [], Training.adam
    monkeypatch.setattr(
        Training, "adam", lambda *a, seed, **k: (seeds.append(seed), adam(*a, seed=seed, **k))[1]
    )
    settings = {"solver": "adam", "epochs": 2, "batch_size": 40, "max_violation": 0.0}
    with pytest.warns(UserWarning, match="no alpha"):  # nor does one of them settle
        OTFClassifier(random_state=np.random.RandomState(3), **settings).fit(X, y, groups)
    assert len(seeds) > 2
    assert len(set(seeds)) == 1


def test_features_that_carry_a_gradient_are_features():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.integers(0, 2, 30)
    tensor = torch.tensor(X, requires_grad=True)
    model = OTFClassifier(alpha=0).fit(tensor, y)
    np.testing.assert_array_equal(model.predict_proba(tensor), model.predict_proba(X))


def test_where_nothing_is_random_no_random_number_is_drawn():
    rng = np.random.default_rng(0)
    X, y, state = rng.normal(size=(30, 2)), rng.integers(0, 2, 30), np.random.RandomState(3)
    OTFClassifier(alpha=0, random_state=state).fit(X, y)
    assert state.rand() == np.random.RandomState(3).rand()


@pytest.mark.filterwarnings("ignore::otfair.models.UntrustedModelWarning")
@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 2, 8])
def test_a_path_of_norms_ends_no_higher_than_a_fit(seed):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(60, 4))
    groups = np.where(X[:, 1] + rng.normal(size=60) > 0, "a", "b")
    groups[rng.rand(60) < 0.2] = "c"
    y = (X[:, 0] + X[:, 1] + rng.normal(size=60) > 0) * 1
    model = OTFClassifier("equalized_odds", balance=20.0, regularizer="norm", max_iter=3000)
    (*_, last) = model.fit_path(X, y, groups, [1.0, 0.5])
    alone = clone(model).set_params(alpha=0.5).fit(X, y, groups)
    assert last.history_[-1]["loss"] <= alone.history_[-1]["loss"] * (1 + 1e-9)
