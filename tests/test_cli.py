"""The command line, as a new user meets it."""

from __future__ import annotations

import re
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from itertools import pairwise
from pathlib import Path

import pytest

from otfair import __version__
from otfair.cli import main


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> tuple[Path, str, str]:
    """The folder that a demonstration wrote to, what it said, and its progress."""
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    said, progress = StringIO(), StringIO()
    with redirect_stdout(said), redirect_stderr(progress):
        assert main(["demo", "--output", str(folder)]) == 0
    return folder, said.getvalue(), progress.getvalue()


def rows_of(said: str) -> dict[str, list[list[float]]]:
    """The numbers of the table by method: alpha, AUC, PDP, PEO, gap, cost."""
    rows: dict[str, list[list[float]]] = {}
    for method, *numbers in re.findall(r"^(\w+)" + r" +([\d.e+-]+)" * 6 + "$", said, re.MULTILINE):
        rows.setdefault(method, []).append([float(x) for x in numbers])
    return rows


def test_demo_compares_three_methods(demo):
    rows = rows_of(demo[1])
    assert {method: len(r) for method, r in rows.items()} == {
        "unconstrained": 1,
        "Norm": 10,
        "OTF": 10,
    }
    free = rows["unconstrained"][0]
    for method in ("Norm", "OTF"):
        path = [free, *rows[method]]
        assert [r[0] for r in path] == sorted(r[0] for r in path)
        violation = [r[2] for r in path]
        # Fairer with every strength, until chance among the people who judge decides.
        assert all(b < a for a, b in pairwise(violation) if a > 0.2 * free[2])
        assert violation[-1] < 0.3 * free[2]
        assert all(r[1] > 0.85 * free[1] for r in path)  # and still good
        assert path[-1][4] < 0.5 * free[4]
        assert path[-1][5] < 0.2 * free[5]


def test_demo_compares_at_the_same_violation(demo):
    found = re.search(
        r"\(PDP (\S+)\), the AUC is (\S+) with OTF and (\S+) with Norm, a difference of (\S+) "
        r"\((\S+) to (\S+) in",
        demo[1],
    )
    assert found is not None
    level, otf, norm, difference, low, high = map(float, found.groups())
    free = rows_of(demo[1])["unconstrained"][0]
    assert level == pytest.approx(free[2] / 2, abs=1e-3)
    assert max(otf, norm) < free[1]
    assert difference == pytest.approx(otf - norm, abs=2e-4)
    assert low < difference < high


def test_demo_writes_whole_files_and_says_where(demo):
    folder, said, progress = demo
    assert sorted(p.name for p in folder.iterdir()) == ["curve.png", "demo.html"]
    for name in ("curve.png", "demo.html"):
        assert str(folder.resolve() / name) in said
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")
    page = (folder / "demo.html").read_text()
    assert page.rstrip().endswith("</html>")
    assert page.count("<svg") == 2
    assert page.count("<td>Norm</td>") == page.count("<td>OTF</td>") == 10
    assert page.count('"chosen') == 1
    # Nothing is fetched from elsewhere.
    assert "http://" not in re.sub(r'xmlns(:\w+)?="[^"]*"|<!DOCTYPE[^>]*>', "", page).replace(
        "http://purl.org", ""
    ).replace("http://creativecommons.org", "")
    assert "training" in progress  # a bar, on stderr
    assert "model/s" not in said


def test_a_folder_that_cannot_be_is_said_at_once(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit) as wrong:
        main(["demo", "--output", str(tmp_path / "file")])
    assert wrong.value.code == 2
    assert "cannot write to" in capsys.readouterr().err


def test_version_and_help(capsys):
    with pytest.raises(SystemExit) as done:
        main(["--version"])
    assert done.value.code == 0
    assert __version__ in capsys.readouterr().out
    with pytest.raises(SystemExit) as wrong:
        main([])
    assert wrong.value.code == 2
    with pytest.raises(SystemExit):
        main(["demo", "--help"])
    assert "curve.png" in capsys.readouterr().out
