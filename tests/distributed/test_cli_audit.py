"""`otfair audit --dask` audits a folder of Parquet files."""

import contextlib
import json

import numpy as np
import pytest
from audits import TOLERANCE, _close, _flat
from partitions import FEATURES, people

from otfair.cli import main

OPTIONS = ["--score", "h", "--sensitive", "sex,age:continuous", "--drop", "id", "--bootstrap", "8"]


@pytest.fixture
def folder(tmp_path):
    """A folder of two Parquet files, and the same people in one file."""
    frame = people(160).here
    frame = frame[[*FEATURES, "race", "sex", "age", "h", "w"]].assign(
        paid=np.where(frame["y"] == 1, "good", "poor"), id=np.arange(len(frame)),
        decision=np.where(frame["h"] > 0.5, "good", "poor"),
    )  # fmt: skip
    frame.loc[::17, "paid"] = None
    (tmp_path / "loans").mkdir()
    for k, rows in enumerate(np.array_split(np.arange(len(frame)), 2)):
        frame.iloc[rows].to_parquet(tmp_path / "loans" / f"part.{k}.parquet")
    frame.to_parquet(tmp_path / "loans.parquet")
    return tmp_path


def _json(capsys, arguments):
    assert main(["audit", *arguments, "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def test_a_folder_of_parquet_is_audited_on_workers(workers, folder, capsys):
    more = ["--label", "paid", "--positive", "good", "--weight", "w"]
    here = _json(capsys, [str(folder / "loans.parquet"), *OPTIONS, *more])
    where = ["--dask", workers.scheduler.address, "-o", str(folder / "report.html")]
    there = _json(capsys, [str(folder / "loans"), *OPTIONS, *more, *where])
    for found in (here, there):
        for name in ("made", "seconds", "versions", "checksum", "source", "title"):
            found["record"].pop(name)
        found.pop("source")
    a, b = dict(_flat(here)), dict(_flat(there))
    unlike = {
        k: (a.get(k), b.get(k)) for k in a.keys() | b.keys() if not _close(a.get(k), b.get(k))
    }
    assert not unlike, unlike
    assert there["worst"] == pytest.approx(here["worst"], abs=TOLERANCE)
    page = (folder / "report.html").read_text()
    assert "Rows are those of the table, counted from 1." in page


def test_decisions_as_labels_and_a_gate(workers, folder, capsys):
    options = ["--score", "decision", "--label", "paid", "--positive", "good", "--sensitive", "sex"]
    options += ["--features", "", "--bootstrap", "8", "--max-difference", "0.01"]
    where = ["--dask", workers.scheduler.address]
    assert main(["audit", str(folder / "loans"), *options, *where]) == 3
    assert "audit" not in capsys.readouterr().err.lower()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--table", "ll144"], "--table is for one machine"),
        (["--score", "race"], "where numbers from 0 to 1 are needed"),
        (["--weight", "race"], "the column holds text"),
    ],
)
def test_what_can_not_be_is_said(workers, folder, capsys, more, message):
    how = [*OPTIONS, *more, "--dask", workers.scheduler.address]
    with contextlib.suppress(SystemExit):  # of the parser
        assert main(["audit", str(folder / "loans"), *how]) != 0
    assert message in capsys.readouterr().err
