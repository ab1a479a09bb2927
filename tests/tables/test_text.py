"""Values and names as text."""

from __future__ import annotations

from otfair.tables import nearest, plain_text, shown


def test_the_nearest_name_is_proposed_whatever_its_case():
    assert nearest("Sex", ["age", "sex"]) == ", did you mean 'sex'?"


def test_line_ends_are_spelled_out():
    assert shown("plain") == "plain"
    assert shown("two\nlines") == r"'two\nlines'"


def test_whole_numbers_have_no_point():
    assert [plain_text(value) for value in (3.0, 0.5, "3.0")] == ["3", "0.5", "3.0"]
