"""Problems whose people several processes share have the solution of one that holds them all."""

import numpy as np
import pytest
import torch
from shared_people import in_threads

from otfair import (
    DemographicParity,
    EqualizedOdds,
    PointCloud,
    PredictiveParity,
    adjusted_otf,
    smooth_otf,
)
from otfair._io.processes import ALONE, Processes

NOTIONS = {
    "parity": DemographicParity(),
    "odds": EqualizedOdds(),
    "precision": PredictiveParity(),
    "both": DemographicParity() & EqualizedOdds(),
}
# Who holds whom of 60 people: uneven shares, one of them of a single group, and an empty one.
SHARES = [np.arange(0, 31), np.arange(31, 60), np.arange(0)]


def people(seed=0, n=60):
    rng = np.random.default_rng(seed)
    X, group = rng.normal(size=(n, 3)), np.repeat(["a", "b"], [31, n - 31])
    table = {"group": group, "kind": rng.choice(["x", "y", "z"], n)}
    labels, scores = rng.integers(0, 2, n), rng.uniform(0.02, 0.98, n)
    return X, table, labels, scores, rng.uniform(0.5, 2.0, n)


@pytest.mark.parametrize("slack", [0.0, 0.02])
@pytest.mark.parametrize("notion", NOTIONS)
def test_shared_people_have_the_solution_of_all(notion, slack):
    X, table, labels, scores, weight = people()
    fair = NOTIONS[notion].constraints(table, labels, weight)
    whole = PointCloud(X)
    alone = adjusted_otf(scores, whole, fair, 1e-2, slack, tol=1e-12)

    def solve(processes):
        rows = SHARES[processes.rank]
        own = (scores[rows], whole.share(torch.as_tensor(rows)), fair.share(rows, processes))
        # Also from where it ended.
        cold = adjusted_otf(*own, 1e-2, slack, tol=1e-12)
        return cold, adjusted_otf(*own, 1e-2, slack, init=cold, tol=1e-12)

    for rows, solved in zip(SHARES, in_threads(3, solve)):
        for a in solved:
            assert a.value == pytest.approx(alone.value, rel=1e-9, abs=1e-12)
            assert a.smooth.value == pytest.approx(alone.smooth.value, rel=1e-9)
            for own, of_all in ((a.smooth, alone.smooth), (a.relaxed, alone.relaxed)):
                # By type: rows that depend on one another share their duals in many ways.
                prices = own.mu @ own.problem.vectors, of_all.mu @ of_all.problem.vectors
                np.testing.assert_allclose(*prices, rtol=1e-8, atol=1e-10)
            np.testing.assert_allclose(a.gradient, alone.gradient[rows], rtol=1e-8, atol=1e-10)


def test_all_processes_take_as_many_steps(monkeypatch):
    # Annealing begins soon, and its stages hang on the range of all distances.
    monkeypatch.setattr("otfair.transport._newton.DIRECT", 20)
    X, table, _, scores, _ = people(1)
    whole, fair = PointCloud(X), DemographicParity().constraints(table)

    def solve(processes):
        rows = SHARES[processes.rank]
        own = fair.share(rows, processes)
        return smooth_otf(scores[rows], whole.share(torch.as_tensor(rows)), own, 2e-5)

    solved, alone = in_threads(3, solve), smooth_otf(scores, whole, fair, 2e-5)
    assert alone.iterations > 20  # so that it was annealed
    assert len({(s.iterations, s.residual, s.status) for s in solved}) == 1
    for s in solved:
        assert s.value == pytest.approx(alone.value, rel=1e-9)


def test_without_the_sums_each_share_would_have_constraints_of_its_own():
    X, table, _, scores, _ = people()
    whole, fair = PointCloud(X), DemographicParity().constraints(table)
    rows = SHARES[0]
    own = (scores[rows], whole.share(torch.as_tensor(rows)), fair.share(rows, ALONE))
    naive = adjusted_otf(*own, 1e-2)
    assert abs(naive.value - adjusted_otf(scores, whole, fair, 1e-2).value) > 0.1


def test_the_first_process_decides():
    # Rounding may differ between machines; who decides by other numbers would wait for ever.
    told = in_threads(3, lambda processes: processes.first(np.array([0.1 * processes.rank, 1.0])))
    assert [one.tolist() for one in told] == [[0.0, 1.0]] * 3
    own = np.array([0.5])
    assert Processes().first(own) is own


def test_starts_that_differ_are_that_of_the_first():
    X, table, _, scores, _ = people(2)
    whole, fair = PointCloud(X), DemographicParity().constraints(table)

    def solve(processes):
        rows = SHARES[processes.rank]
        own = (scores[rows], whole.share(torch.as_tensor(rows)), fair.share(rows, processes))
        return smooth_otf(*own, 1e-2, init=np.full(len(fair), 0.1 * processes.rank), tol=1e-12)

    alone = smooth_otf(scores, whole, fair, 1e-2, tol=1e-12)
    for solved in in_threads(3, solve):
        assert solved.value == pytest.approx(alone.value, rel=1e-10)
