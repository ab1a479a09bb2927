"""The commands that are listed make the runs that are there."""

from __future__ import annotations

from otfair.reproduction import plan
from otfair.reproduction._commands import commands


def test_commands_that_were_run_are_found():
    made = [*plan("dutch", "full", 2), *plan("attributes", "full", 3), *plan("others", "full", 1)]
    made += plan("postprocess", "paper", 10)
    assert commands(made) == [
        "otfair reproduce dutch --protocol full --splits 2",
        "otfair reproduce attributes --protocol full --splits 3",
        "otfair reproduce others --protocol full --splits 1",
        "otfair reproduce postprocess --protocol paper --splits 5",
    ]


def test_a_part_of_a_command_is_called_one():
    made = [r for r in plan("published", "paper", 2) if r.dataset == "dutch"]
    whole = len(plan("dutch", "paper", 2))  # with converged duals, which are not there
    (text,) = commands(made)
    command, said = text.split("  # ")
    assert command == "otfair reproduce dutch --protocol paper --splits 2"
    assert said == f"of whose {whole} runs {len(made)} were made"


def test_no_runs_need_no_command():
    assert commands([]) == []
