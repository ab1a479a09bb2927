"""How many processors may be kept busy."""

from __future__ import annotations

import os

import pytest

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
