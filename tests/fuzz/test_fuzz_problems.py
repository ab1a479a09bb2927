"""Hostile transport problems: none may be answered wrongly, and few may be refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fuzz.problems import KINDS, case, mistakes

from otfair.geometry import _near

CORPUS = json.loads(Path(__file__).with_name("corpus").joinpath("problems/seeds.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("dense", [True, False], ids=["all pairs", "near pairs"])
def test_problems(fuzz_cases: int, dense: bool, monkeypatch):
    if not dense:
        monkeypatch.setattr(_near, "DENSE_PAIRS", 0)
    wrong, refused = [], []
    for seed in range(fuzz_cases):
        c = case(seed)
        for text in mistakes(c):
            (refused if text.endswith("refused") else wrong).append((seed, c.kind, text))
    assert not wrong
    assert len(refused) <= fuzz_cases // 100, refused


@pytest.mark.parametrize("seed", sorted(map(int, CORPUS)))
def test_what_once_failed(seed: int):
    assert mistakes(case(seed)) == [], CORPUS[str(seed)]


def test_each_kind_is_made():
    assert {case(seed).kind for seed in range(len(KINDS))} == set(KINDS)
    assert {case(seed).bounded for seed in range(len(KINDS))} == {True, False}
