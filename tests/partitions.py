"""People for tests of Dask: the same in memory and in partitions."""

from dataclasses import dataclass

import dask.dataframe as dd
import numpy as np
import pandas as pd

FEATURES = ["x0", "x1", "x2"]


@dataclass(frozen=True)
class Both:
    """A table, and the same in partitions."""

    here: pd.DataFrame
    there: dd.DataFrame

    def __getitem__(self, columns):
        return self.here[columns], self.there[columns]


def people(n=600, partitions=3, seed=0) -> Both:
    rng = np.random.default_rng(seed)
    sex, race = rng.choice(["F", "M"], n), rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1])
    X = rng.normal(size=(n, 3)) + np.where(sex == "F", 0.7, 0.0)[:, None]
    X[:: n // 20] = X[0]  # some people are identical
    logits = X.sum(1) - 1 + 0.5 * (race == "a")
    frame = pd.DataFrame(X, columns=FEATURES).assign(
        sex=sex,
        race=race,
        age=rng.integers(20, 50, n),
        y=(logits + rng.logistic(size=n) > 0).astype(int),
        h=1 / (1 + np.exp(-logits)),
        w=rng.integers(0, 4, n).astype(float),
    )
    return Both(frame, dd.from_pandas(frame, npartitions=partitions))
