"""Boosted trees with one penalty for all attributes, and with one for each: AUC at equal shares.

    python benchmarks/trees_by_attribute.py adult:sex,race -n 10000

A share is what is left of an attribute's violation, of that of the trees without a penalty, on the
training people; AUC (training, then test) is interpolated where the largest share is a target.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import otfair
from otfair.metrics import criterion_of

ALPHAS = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
SHARES = (0.75, 0.5, 0.25)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", metavar="DATASET:COLUMN,...")
    parser.add_argument("-n", type=int, default=10**9, help="people to train on, at most")
    parser.add_argument("--notion", default="demographic_parity")
    chosen = parser.parse_args()
    name, columns = chosen.table.split(":")
    data = otfair.load_dataset(name)
    X, y, S = data.X, np.asarray(data.y), data.sensitive_features[columns.split(",")]
    fit, test = train_test_split(np.arange(len(y)), test_size=0.2, random_state=0, stratify=y)
    fit = fit[: chosen.n]
    judge = criterion_of("correlation", otfair.as_notion(chosen.notion).people(S.iloc[fit], y[fit]))
    for weigh in ("people", "attributes"):
        clf = otfair.OTFBoostingClassifier(
            notion=chosen.notion, weigh=weigh, n_jobs=1, random_state=0
        )
        path = clf.fit_path(X.iloc[fit], y[fit], S.iloc[fit], ALPHAS)
        rows, free = [], None
        for model in tqdm(path, weigh, len(ALPHAS)):
            h, seen = (model.predict_proba(X.iloc[some])[:, 1] for some in (test, fit))
            found = judge.by_attribute(seen)
            free = free or found
            share = max(found[a] / free[a] for a in found)
            rows.append((share, roc_auc_score(y[fit], seen), roc_auc_score(y[test], h)))
        share, *aucs = np.transpose(rows)
        order = np.argsort(share)
        for part, auc in zip(("train", "test"), aucs):
            at = [round(float(np.interp(s, share[order], auc[order])), 4) for s in SHARES]
            print(weigh, part, dict(zip(SHARES, at)))


if __name__ == "__main__":
    main()
