"""The command line, as a new user meets it."""

from __future__ import annotations

import re

import pytest

from otfair import __version__
from otfair.cli import main


def test_demo_compares_models_and_writes_one_whole_page(tmp_path, capsys):
    assert main(["demo", "--output", str(tmp_path / "new" / "folder")]) == 0
    said = capsys.readouterr().out
    rows = [[float(x) for x in line.split()] for line in said.splitlines()[2:9]]
    violation = [row[2] for row in rows]
    assert violation == sorted(violation, reverse=True)  # fairer with every strength
    assert violation[-1] < 0.3 * violation[0]
    assert rows[-1][1] > 0.9 * rows[0][1]  # and still good
    path = re.search(r"report: (\S+)", said)
    assert path is not None
    folder = tmp_path / "new" / "folder"
    assert [p.name for p in folder.iterdir()] == ["demo.html"]
    page = (folder / "demo.html").read_text()
    assert page.rstrip().endswith("</html>")
    assert page.count("<svg") == 2
    assert "http://" not in re.sub(r'xmlns(:\w+)?="[^"]*"|<!DOCTYPE[^>]*>', "", page).replace(
        "http://purl.org", ""
    ).replace("http://creativecommons.org", "")


def test_version_and_help(capsys):
    with pytest.raises(SystemExit) as done:
        main(["--version"])
    assert done.value.code == 0
    assert __version__ in capsys.readouterr().out
    with pytest.raises(SystemExit) as wrong:
        main([])
    assert wrong.value.code == 2
