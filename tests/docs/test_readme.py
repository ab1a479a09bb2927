"""What the README says of its commands, by running them."""

from __future__ import annotations

import re
import shlex

import pytest
from page_scripts import DOCS
from tables_for_commands import Said, otfair


@pytest.fixture(scope="module")
def text() -> str:
    return " ".join((DOCS.parent / "README.md").read_text("utf-8").split())


@pytest.fixture(scope="module")
def said(tmp_path_factory) -> list[Said]:
    """What the commands from a table to an audit leave behind, in an empty folder."""
    page = (DOCS.parent / "README.md").read_text("utf-8")
    (block,) = re.findall(r"```sh\n(otfair data sample.*?)```", page, re.DOTALL)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("readme"))
        return [otfair(*shlex.split(line, comments=True)[1:]) for line in block.splitlines()]


@pytest.mark.slow
def test_from_a_table_to_decisions_that_pass_an_audit(said, text):
    assert [command.code for command in said] == [0] * 5
    out = said[2].out
    (people,) = re.findall(r"judged on (\d+) others", out)
    rates = re.findall(r"^sex=(\w+) +\d+ +([\d.]+) +([\d.]+)", out, re.MULTILINE)
    (women, women_after), (men, men_after) = (
        [f"{100 * float(x):.0f} %" for x in rate] for _, *rate in sorted(rates)
    )
    assert women_after == men_after
    assert (
        f"Among the {people} people whom `fit` keeps out to judge by, one threshold grants " in text
    )
    assert f"grants loans to {women} of the women and {men} of the men." in text
    ((after, before),) = re.findall(r"Right decisions: ([\d.]+ %), before ([\d.]+ %)", out)
    assert (
        f"The rule grants them to {men_after} of each, and {after} of the decisions are right "
        f"instead of {before}."
    ) in text
