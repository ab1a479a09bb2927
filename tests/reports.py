"""Audits whose reports the tests look at: a plain one, and one of a hostile table."""

from __future__ import annotations

import numpy as np
import pandas as pd

import otfair

HOSTILE = '<script>document.title="hurt"</script><img src=x onerror=alert(1)>"\'&{{ 7*7 }}'


def plain_audit(n: int = 300, n_bootstrap: int = 20) -> otfair.Audit:
    data = otfair.load_dataset("synthetic", n=n)
    return otfair.audit(
        data.truth.scores,
        data.X,
        sensitive_features=data.sensitive_features,
        labels=data.y,
        n_bootstrap=n_bootstrap,
    )


def hostile_audit() -> otfair.Audit:
    """Audit a table that is hostile wherever a table can be."""
    rng = np.random.default_rng(0)
    n = 120
    X = pd.DataFrame(
        {
            HOSTILE: rng.normal(size=n),
            f"number {HOSTILE}": rng.normal(size=n),
            f"kind {HOSTILE}": rng.choice([HOSTILE, "</style><b>plain"], n),
            f"{HOSTILE} id": np.arange(n),
            "gaps": np.where(rng.random(n) < 0.5, None, "</svg>" + HOSTILE),
        }
    )
    groups = pd.DataFrame({HOSTILE: rng.choice([HOSTILE, "--><script>alert(2)</script>"], n)})
    return otfair.audit(
        rng.random(n), X, sensitive_features=groups, labels=rng.integers(2, size=n), n_bootstrap=10
    )
