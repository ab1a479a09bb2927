"""How many processors may be kept busy, and work that is shared among threads."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
import warnings

import pytest
import torch

from otfair._io import threads


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("200000 100000", 2), ("150000 100000", 2), ("50000 100000", 1), ("max 100000", 8), ("", 8)],
)
def test_a_container_has_its_quota(tmp_path, monkeypatch, text, cpus):
    quota = tmp_path / "cpu.max"
    quota.write_text(text)
    monkeypatch.setattr(threads, "QUOTAS", str(quota))
    monkeypatch.setattr(threads, "OLD_QUOTAS", ("/nowhere", "/nowhere"))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert threads.usable_cpus() == cpus


def test_older_containers_have_theirs(tmp_path, monkeypatch):
    paths = [tmp_path / "quota", tmp_path / "period"]
    monkeypatch.setattr(threads, "QUOTAS", str(tmp_path / "none"))
    monkeypatch.setattr(threads, "OLD_QUOTAS", tuple(map(str, paths)))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    for quota, cpus in (("300000", 3), ("-1", 8)):
        paths[0].write_text(quota)
        paths[1].write_text("100000")
        assert threads.usable_cpus() == cpus


@pytest.fixture(params=[1, 2, 3])
def allowed(request, monkeypatch):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    monkeypatch.setattr(threads, "usable_cpus", lambda: 4)
    yield request.param
    torch.set_num_threads(before)


def test_results_come_in_order_from_as_many_threads_as_are_allowed(allowed):
    seen = set()
    together = threading.Barrier(allowed)

    def work(piece):
        seen.add(threading.get_ident())
        assert torch.get_num_threads() == 1
        if piece < allowed:
            together.wait(timeout=10)  # all of them are at work at once
        else:
            time.sleep(0.001 * (20 - piece))
        return piece

    assert list(threads.shared(work, iter(range(20)))) == list(range(20))
    assert len(seen) == allowed
    assert torch.get_num_threads() == allowed
    assert list(threads.shared(work, [])) == []


def test_results_are_not_held_up_for_those_who_take_them_slowly(allowed):
    begun = []
    results = threads.shared(lambda piece: begun.append(piece), range(1000))
    next(results)
    assert len(begun) <= 1 + 3 * allowed * threads.AHEAD
    results.close()  # nothing else is begun
    count = len(begun)
    time.sleep(0.05)
    assert len(begun) == count
    assert torch.get_num_threads() == allowed


def test_what_fails_in_a_thread_is_raised(allowed):
    def work(piece):
        if piece == 7:
            raise KeyError("seven")
        return piece

    with pytest.raises(KeyError, match="seven"):
        list(threads.shared(work, range(100)))
    assert list(threads.shared(lambda piece: -piece, range(3))) == [0, -1, -2]


def test_work_that_shares_its_work_in_turn_does_not_wait_for_itself(allowed):
    def work(piece):
        return sum(threads.shared(lambda x: x * piece, range(5)))

    assert list(threads.shared(work, range(9))) == [10 * piece for piece in range(9)]


def test_one_thread_within_another_and_all_of_them_afterwards(allowed):
    def number() -> int:
        found = []
        new = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
        new.start()
        new.join()
        return found[0]

    with threads.one_thread():
        with threads.few_threads(10):
            assert torch.get_num_threads() == 1
            assert len(list(threads.shared(lambda _: None, range(4)))) == 4
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == allowed == number()  # new threads have as many
    with threads.few_threads(10**6):
        assert torch.get_num_threads() == allowed
    with pytest.raises(KeyError), threads.one_thread():
        raise KeyError
    assert torch.get_num_threads() == allowed


def _sums(results):
    results.put(list(threads.shared(sum, [[1, 2], [3, 4], [5]])))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
def test_a_forked_process_has_threads_of_its_own(allowed):
    list(threads.shared(sum, [[1], [2]]))  # there are threads now, which the child has not
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of Python, for threads and forks
        fork = multiprocessing.get_context("fork")
        results = fork.Queue()
        child = fork.Process(target=_sums, args=(results,))
        child.start()
        assert results.get(timeout=30) == [3, 7, 5]
        child.join(30)
