"""Charts of the report."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from reports import plain_audit
from tables_for_commands import limited

from otfair.auditing.report._charts import group_dots, text_width


@pytest.fixture(scope="module")
def found():
    return plain_audit()


def test_names_in_pictures_fit_their_room(found):
    # Half of the letters of a name that does not fit would be off the picture.
    group = found.violations[0].groups[0]
    for name in ("AMERICAN INDIAN OR ALASKA NATIVE", "W" * 40, "日本語" * 20, "F"):
        picture = group_dots([replace(group, stratum="a rather long outcome = positive")], [name])
        for at, text in re.findall(
            r'x="([0-9.]+)"[^>]*text-anchor="end">(?:<title>.*?</title>)?(.*?)<', picture
        ):
            assert text_width(text) <= float(at)
        assert f"<title>{name}</title>" in picture or f">{name}<" in picture
    assert ">F</text>" in picture


def test_a_name_of_a_million_letters_is_cut_at_once(found):
    group = found.violations[0].groups[0]
    with limited(60):  # letter by letter it took hours
        picture = group_dots([group], ["z" * 10**6])
    assert "zzz…</text>" in picture
