"""What a round of boosting costs with the OTF objective, as a multiple of a stock round.

Run with `make bench-boosting`: Adult, sex and race, XGBoost on one thread. Trees of depth 4 see the
table as it is, as with `OTFBoostingClassifier`, or its categories as whole numbers, which makes for
the quickest stock round. Rounds of the two kinds alternate in blocks, so that other load on the
machine meets both. Rows go to benchmarks/rounds.csv; what is there is not measured again.
"""

from __future__ import annotations

import time
from itertools import product

import numpy as np
import torch
import xgboost
from rows import HERE, Rows

import otfair

ROUNDS, BLOCKS = 20, 8
KEY = ("notion", "kind", "alpha")
PARAMS = {"objective": "binary:logistic", "max_depth": 4, "eta": 0.1, "nthread": 1}


def main() -> None:
    torch.set_num_threads(1)
    done = Rows(HERE / "rounds.csv", KEY)
    data = otfair.load_dataset("adult")
    people = round(0.8 * len(data.y))
    rows = np.random.default_rng(0).permutation(len(data.y))[:people]
    X = otfair.TableEncoder().fit_transform(data.X.iloc[rows])
    y, s = np.asarray(data.y)[rows], data.sensitive_features[["sex", "race"]].iloc[rows]
    table = data.X.iloc[rows]
    codes = table.apply(lambda c: c if c.dtype.kind in "iuf" else c.cat.codes).to_numpy(float)
    matrices = {
        "categories": xgboost.DMatrix(table, y, nthread=1, enable_categorical=True),
        "codes": xgboost.DMatrix(codes, y, nthread=1),
    }
    for notion in ("demographic_parity", "equalized_odds"):
        objective = otfair.OTFObjective(notion, weigh="people").fit(X, s, y)
        params = {**PARAMS, "base_score": objective.base_score}
        for (kind, matrix), alpha in product(matrices.items(), (0.5, 0.9, 0.99)):
            if (notion, kind, alpha) in done:
                continue
            objective.alpha = alpha
            boosters = [xgboost.Booster(params, [matrix]) for _ in range(2)]
            spent: list[list[float]] = [[], []]
            for block in range(BLOCKS):
                for booster, times, obj in zip(boosters, spent, (None, objective)):
                    began = time.process_time()
                    for k in range(ROUNDS):
                        booster.update(matrix, block * ROUNDS + k, obj)
                    times.append((time.process_time() - began) / ROUNDS)
            stock, ours = (1000 * float(np.median(times)) for times in spent)
            row = dict(zip(KEY, (notion, kind, alpha)))
            done.add({**row, "people": people, "stock_ms": stock, "otf_ms": ours})
            print(
                f"{notion:18}  {kind:10}  alpha {alpha:<4}  stock {stock:4.1f} ms  "
                f"OTF {ours:5.1f} ms of CPU a round: {ours / stock:.1f} times",
                flush=True,
            )


if __name__ == "__main__":
    main()
