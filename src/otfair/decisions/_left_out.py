"""Chances of groups for those who trained the model, as if each had been left out.

Maths: docs/decisions.md, section "Deciding without the sensitive attribute". One step of Newton's
method leads from the model of all people to that without person i. With x the features and 1, p the
chances, y the group, w the weight, W = diag(p) - p p', and H the Hessian of the penalised loss,

    A = (I kron x)' H^-1 (I kron x),      logits without i = logits + A (I - w W A)^-1 w (p - y)

So those who tune a rule are seen by the very model that new people get, which models of folds are
not: rules that hang on small differences need that.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import softmax

LARGEST = 3000  # parameters, beyond which folds are cheaper
CHUNK = 20_000  # people at a time
LOOSE = 1e-9  # of all weight, by which intercepts are held (they have no penalty)


def is_cheap(groups: int, features: int) -> bool:
    """Whether a model of groups has few enough numbers."""
    return (groups if groups > 2 else 1) * (features + 1) <= LARGEST


def chances_left_out(
    logits: np.ndarray, codes: np.ndarray, features: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Return the chances of groups, (n, k), from logits (n, k) of a model with a penalty of 1.

    Two groups are told apart by one logit, the difference; more have one each. People without
    weight have not trained the model.
    """
    k = logits.shape[1]
    free = np.arange(k) if k > 2 else np.array([1])
    p = softmax(logits, axis=1)
    X = np.column_stack([features, np.ones(len(features))])  # (n, q)
    inverse = _inverse(X, p[:, free], weight)
    out = logits.copy()
    eye = np.eye(len(free))
    for begin in range(0, len(X), CHUNK):
        part = slice(begin, begin + CHUNK)
        x, own, w = X[part], p[part][:, free], weight[part]
        A = np.empty((len(x), len(free), len(free)))
        for a in range(len(free)):
            for b in range(a + 1):
                A[:, a, b] = A[:, b, a] = np.einsum("ij,ij->i", x @ inverse[a, b], x)
        W = (eye * own[:, :, None] - own[:, :, None] * own[:, None, :]) * w[:, None, None]
        push = w[:, None] * (own - (codes[part, None] == free))
        step = np.linalg.solve(eye - W @ A, push[:, :, None])  # (chunk, k, 1)
        out[part, free] += (A @ step)[:, :, 0]
    return np.asarray(softmax(out, axis=1))


def _inverse(X: np.ndarray, p: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the inverse of the Hessian by blocks, (k, k, q, q)."""
    q, k = X.shape[1], p.shape[1]
    H = np.empty((k, q, k, q))
    for a in range(k):
        for b in range(a + 1):
            w = weight * p[:, a] * ((a == b) - p[:, b])
            H[a, :, b] = H[b, :, a] = X.T @ (w[:, None] * X)
    whole = H.reshape(k * q, k * q)
    penalty = np.ones(q)
    penalty[-1] = LOOSE * weight.sum()
    whole[np.diag_indices(k * q)] += np.tile(penalty, k)
    found = cho_solve(cho_factor(whole, lower=True), np.eye(k * q))
    return np.ascontiguousarray(found.reshape(k, q, k, q).transpose(0, 2, 1, 3))
