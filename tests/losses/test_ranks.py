"""Penalties of batches that two processes of torch.distributed share, against one process."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import on_ranks
import pytest
import torch

import otfair

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """What each of two processes found."""
    folder = tmp_path_factory.mktemp("ranks")
    command = [sys.executable, on_ranks.__file__]
    running = [subprocess.Popen([*command, str(rank), str(folder)]) for rank in (0, 1)]
    try:
        assert [process.wait(timeout=180) for process in running] == [0, 0]
    finally:
        for process in running:
            process.kill()
    return [pickle.loads((Path(folder) / f"{rank}.pkl").read_bytes()) for rank in (0, 1)]


@pytest.mark.parametrize(("case", "share"), on_ranks.PAIRS)
def test_value_and_slopes_are_those_of_all_people(ranks, case, share):
    value, slope, duals = on_ranks.value_and_slope(case, range(on_ranks.N))
    for found, rows in zip(ranks, on_ranks.SHARES[share]):
        own_value, own_slope, own_duals = found["values"][case, share]
        assert own_value == pytest.approx(value, rel=1e-8, abs=1e-10)
        # Times two, of which data-parallel training takes the mean over two ranks.
        np.testing.assert_allclose(own_slope, 2 * slope[list(rows)], rtol=1e-6, atol=1e-10)
        assert own_duals.keys() == duals.keys()
    assert ranks[0]["values"][case, share][2] == ranks[1]["values"][case, share][2]


def test_apart_each_rank_would_have_a_penalty_of_its_own():
    value = on_ranks.value_and_slope("otf", range(on_ranks.N))[0]
    own = [on_ranks.value_and_slope("otf", rows)[0] for rows in on_ranks.SHARES["uneven"]]
    assert abs(np.mean(own) - value) > 0.1 * value


def test_data_parallel_training_is_that_of_one_process(ranks):
    # Batches of uneven shares, some of which are empty.
    alone = on_ranks.trained(on_ranks.steps(None))
    np.testing.assert_allclose(ranks[0]["weights"], alone, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(ranks[0]["weights"], ranks[1]["weights"])


def test_mean_of_slopes_is_that_of_the_penalty(ranks):
    for found in ranks:
        slope, differences = found["differences"]
        assert slope == pytest.approx(differences, rel=1e-5)


def test_balance_is_that_of_all_people(ranks):
    balance, factors = on_ranks.balance(range(on_ranks.N))
    for found in ranks:
        assert found["balance"][0] == pytest.approx(balance, rel=1e-8)
        assert found["balance"][1] == pytest.approx(factors, rel=1e-8)
    assert ranks[0]["balance"] == ranks[1]["balance"]


def test_batches_without_anybody_and_a_group_of_one(ranks):
    for found in ranks:
        assert found["nobody"] == (0.0, torch.Size([0]))
        alone = on_ranks.value_and_slope("otf", range(on_ranks.N))[0]
        assert found["own group"] == pytest.approx(alone, rel=1e-8)


def test_what_fails_on_one_rank_is_said_on_all(ranks):
    first, second = (found["failures"] for found in ranks)
    for name, text in {"prediction": "shape (n,)", "length": "26", "labels": "40"}.items():
        assert text in second[name]
        assert first[name].startswith("RuntimeError: rank 1 has no penalty")
        assert text in first[name]
    for name, text in {
        "columns": "the same columns on all ranks",
        "modes": "in different ways",
        "datasets": "a `fit` on the same dataset",
    }.items():
        assert text in first[name]
        assert text in second[name]
    assert "`index` is missing" in first["no index"]
    # And they are in step again.
    assert first["afterwards"] == second["afterwards"]


def test_who_waits_for_others_does_so_no_longer_than_the_group_allows(ranks):
    assert ranks[0]["lonely"] not in ("", "it went on")


def test_a_group_is_one_of_torch():
    with pytest.raises(TypeError, match="`process_group` must be one of"):
        otfair.OTFLoss(process_group="world")
    data = on_ranks.people()
    with pytest.raises(RuntimeError, match="init_process_group"):
        otfair.OTFLoss(process_group=True)(on_ranks.logits(data), data.X, data.S)
    assert otfair.OTFLoss(process_group=False).process_group is None
