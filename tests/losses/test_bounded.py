"""Losses within bounds: the library's own bounded cost, its gradient, batches and classifiers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import otfair


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    n = 60
    X, s = rng.normal(size=(n, 2)), np.where(np.arange(n) % 2, "a", "b")
    logits = np.where(s == "a", 2.5, -0.3) + 0.3 * rng.normal(size=n)
    return X, {"s": s}, rng.integers(0, 2, n), torch.as_tensor(logits)


def one_hot(s: np.ndarray) -> torch.Tensor:
    return torch.as_tensor(np.stack([s == "a", s == "b"], 1).astype(float))


def test_batch_and_dataset_mode_are_the_bounded_cost_per_person(people):
    X, sensitive, y, logits = people
    loss = otfair.OTFLoss("demographic_parity", epsilon=1e-2, bounded=True)
    fair = otfair.DemographicParity().constraints(sensitive)
    h = torch.sigmoid(logits).numpy()
    a = otfair.adjusted_otf(h, otfair.PointCloud(X), fair, 1e-2, bounded=True)
    free = otfair.OTFLoss("demographic_parity", epsilon=1e-2)
    batch = float(loss(logits, torch.as_tensor(X), one_hot(sensitive["s"])))
    assert batch == pytest.approx(a.value / len(h), rel=1e-6)
    assert batch > 1.01 * float(free(logits, torch.as_tensor(X), one_hot(sensitive["s"])))
    whole = otfair.OTFLoss("demographic_parity", epsilon=1e-2, bounded=True)
    whole.fit(X, sensitive, y)
    assert float(whole(logits)) == pytest.approx(batch, rel=1e-6)
    # Constants are fair in every batch of the dataset, at the bound too.
    for rows in (torch.arange(7), torch.arange(20, 33)):
        assert abs(float(whole(torch.full((len(rows),), 40.0), index=rows))) < 1e-9


def test_the_gradient_passes_gradcheck(people):
    X, sensitive, _, logits = people
    loss = otfair.OTFLoss("demographic_parity", epsilon=3e-2, bounded=True, tol=1e-11)
    features, groups = torch.as_tensor(X[:16]), one_hot(sensitive["s"][:16])
    given = logits[:16].clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda z: loss(z, features, groups), given, eps=1e-5, atol=1e-5)


def test_parts_of_attributes_are_bounded_each(people):
    X, sensitive, y, logits = people
    rng = np.random.default_rng(1)
    both = sensitive | {"t": rng.choice(["u", "v"], len(y))}
    loss = otfair.OTFLoss(epsilon=1e-2, bounded=True, weigh="attributes").fit(X, both, y)
    each = [
        otfair.OTFLoss(epsilon=1e-2, bounded=True).fit(X, {name: both[name]}, y) for name in both
    ]
    total = sum(float(one(logits)) for one in each)
    assert float(loss(logits)) == pytest.approx(total, rel=1e-6)


def test_classifiers_train_within_bounds():
    data = otfair.load_dataset("synthetic", n=300)
    X = otfair.TableEncoder().fit_transform(data.X)
    sex = data.sensitive_features["sex"]
    free = otfair.OTFClassifier(alpha=0).fit(X, data.y, sensitive_features=sex)
    fair = otfair.OTFClassifier(alpha=0.5, bounded=True).fit(X, data.y, sensitive_features=sex)
    before, after = (
        otfair.pdp_violation(model.predict_proba(X)[:, 1], sex) for model in (free, fair)
    )
    assert after < 0.7 * before
    objective = otfair.OTFObjective(bounded=True).fit(X, sex, data.y)
    gradient, curvature = objective(data.y.astype(float), np.zeros(len(X)))[:2]
    assert np.isfinite(gradient).all()
    assert (curvature > 0).all()


def test_predictive_parity_is_refused_within_bounds():
    with pytest.raises(ValueError, match="Leave `bounded` False"):
        otfair.OTFLoss("predictive_parity", bounded=True)


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"regularizer": "norm", "bounded": True}, "received the regularizer 'norm'"),
        ({"regularizer": otfair.OTFLoss(), "bounded": True}, "was made without"),
        ({"bounded": "yes"}, "received 'yes'"),
    ],
)
def test_bounds_are_refused_where_nothing_would_keep_them(settings, error):
    X, y, sex = np.arange(8.0)[:, None], [0, 1] * 4, list("aabbaabb")
    with pytest.raises((TypeError, ValueError), match=error):
        otfair.OTFClassifier(**settings).fit(X, y, sensitive_features=sex)
    if not isinstance(settings.get("regularizer"), otfair.OTFLoss):
        with pytest.raises((TypeError, ValueError), match=error):
            otfair.OTFObjective(**settings)
