"""What gap chance alone shows among test people, of a rule that has none among all people.

    python benchmarks/chance.py                      # rows go to benchmarks/chance.csv
    python docs/benchmarks.py

Adult as in LinearPost's paper, by sex. The rule is the classifier without a limit, but as if men
and women were accepted at its rates of all test people: of equalized odds at those of each label.
How many of a group are then accepted is binomial, and the gap is that of the groups' shares.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from rows import HERE, Rows

TABLE, SEEDS, BASES = "adult_all/sex", range(20), ("logistic", "boosted")
DRAWS = 20_000
NOTIONS = {"demographic_parity": False, "equalized_odds": True}  # whether within labels


def gaps(y: np.ndarray, S: np.ndarray, accepted: np.ndarray, within: bool) -> np.ndarray:
    """Draw the largest gap of a rule that accepts every group, of each label, at the same rate."""
    rng, largest = np.random.default_rng(0), np.zeros(DRAWS)
    for own in (y == 0, y == 1) if within else (y >= 0,):
        counts = np.unique(S[own], return_counts=True)[1]
        shares = rng.binomial(counts, accepted[own].mean(), (DRAWS, len(counts))) / counts
        largest = np.maximum(largest, np.ptp(shares, axis=1))
    return largest


def rows(seed: int) -> list[dict[str, Any]]:
    """Return what chance shows in a split, by classifier and notion."""
    import bench_decisions as decisions  # changes the library: not where only gaps are drawn

    split, out = decisions.Split(TABLE, seed), []
    for base in BASES:
        accepted = split.scores(base) >= 0.5
        for notion, within in NOTIONS.items():
            drawn = gaps(split.y_test, split.S_test, accepted, within)
            out.append(
                {"table": TABLE, "base": base, "notion": notion, "seed": seed,
                 "people": len(accepted), "gap": drawn.mean(), "high": np.quantile(drawn, 0.95)}
            )  # fmt: skip
    return out


def main() -> None:
    """Add the splits that are not there yet."""
    done = Rows(HERE / "chance.csv", ["table", "base", "notion", "seed"])
    for seed in SEEDS:
        if (TABLE, BASES[0], next(iter(NOTIONS)), seed) not in done:
            done.add(*rows(seed))


if __name__ == "__main__":
    main()
