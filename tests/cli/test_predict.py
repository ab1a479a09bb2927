"""`otfair predict`: scores of a saved model."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil

import numpy as np
import pandas as pd
import pytest
from tables_for_commands import loans, otfair, refused, write

from otfair import OTFClassifier, TableEncoder, load_model, save_model


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("predict")
    table = write(loans().drop(columns=["origin", "age", "p"]), folder / "t.csv")
    said = otfair(
        "fit", table, "--label", "granted", "--sensitive", "sex", "--alpha", 0.5,
        "--no-curve", "--no-audit", "-o", folder / "model",
    )  # fmt: skip
    assert said.code == 0, said.err
    return folder / "model"


@pytest.fixture
def people(tmp_path):
    """A table of features alone, not in the order of training, with one column more."""
    frame = loans(50).drop(columns=["sex", "granted", "origin", "age", "p"]).iloc[::-1]
    frame = frame[frame.columns[::-1]].assign(id=[f"p{i}" for i in range(50)])
    return write(frame, tmp_path / "new.csv"), frame


def exact(file) -> pd.DataFrame:
    """Read scores to the last digit, which the reader of pandas 2 rounds."""
    return pd.read_csv(file, dtype={"score": str}).astype({"score": float})


def expected(model, frame: pd.DataFrame) -> np.ndarray:
    loaded = load_model(model / "model.safetensors")
    X = frame[list(loaded.feature_names_in_)].astype({"has_guarantor": str})
    return loaded.predict_proba(X)[:, 1]


def test_csv_to_standard_output_in_the_order_of_the_table(model, people):
    path, frame = people
    said = otfair("predict", model, path, "--keep", "id")
    assert said.code == 0
    assert said.err == ""
    out = exact(io.StringIO(said.out))
    assert list(out) == ["id", "score"]
    assert out["id"].tolist() == frame["id"].tolist()
    assert out["score"].tolist() == expected(model, frame).tolist()  # to the last digit


def test_threshold_and_json(model, people):
    path, frame = people
    out = pd.read_csv(io.StringIO(otfair("predict", model, path, "--threshold", 0.5).out))
    assert out["decision"].tolist() == np.where(out["score"] > 0.5, "yes", "no").tolist()
    data = otfair("predict", model, path, "--threshold", 0.3, "--json").data
    scores = expected(model, frame)
    assert data["score"] == scores.tolist()
    assert data["positive_decisions"] == (scores > 0.3).sum() == data["decision"].count("yes")


@pytest.mark.parametrize("name", ["s.csv", "s.csv.gz", "s.parquet", "new/folder/s.csv"])
def test_files_by_suffix(model, people, tmp_path, name):
    path, frame = people
    said = otfair("predict", model, path, "-o", tmp_path / name)
    assert said.code == 0, said.err
    assert str(tmp_path / name) in said.out
    read = pd.read_parquet if name.endswith("parquet") else exact
    out = read(tmp_path / name)
    assert out["score"].tolist() == expected(model, frame).tolist()
    if name.endswith("gz"):
        gzip.decompress((tmp_path / name).read_bytes())
    assert not list(tmp_path.rglob("*.part*"))


FORMULAS = ["=1+1", "-5", "\t=x", "plain"] * 10


def test_csv_runs_nothing_in_a_spreadsheet(model, people, tmp_path):
    path, frame = people
    write(frame.assign(**{"=who": (FORMULAS * 9)[: len(frame)]}), path)
    keep = ["predict", model, path, "--keep", "=who"]
    said, file = otfair(*keep), otfair(*keep, "-o", tmp_path / "s.csv")
    for done, text in ((said, said.out), (file, (tmp_path / "s.csv").read_text("utf-8"))):
        out = exact(io.StringIO(text))
        assert list(out) == ["'=who", "score"]
        assert out["'=who"].tolist()[:4] == ["'=1+1", "-5", "'=x", "plain"]  # blanks are no part
        assert "look like formulas" in done.err
        assert "--keep-formulas" in done.err
    # What was written is read again as it is, and written again as it is.
    write(frame.assign(who=out["'=who"].to_numpy()), path)
    again = otfair("predict", model, path, "--keep", "who")
    assert again.err == ""
    assert exact(io.StringIO(again.out))["who"].tolist() == out["'=who"].tolist()


@pytest.mark.parametrize("name", ["as is.csv", "t.parquet"])
def test_formulas_are_kept_if_asked_for_and_in_parquet(model, people, tmp_path, name):
    path, frame = people
    write(frame.assign(who=(FORMULAS * 9)[: len(frame)]), path)
    asked = ["--keep-formulas"] if name.endswith("csv") else []
    said = otfair("predict", model, path, "--keep", "who", "-o", tmp_path / name, *asked)
    assert said.err == ""
    out = (exact if asked else pd.read_parquet)(tmp_path / name)
    assert out["who"].tolist()[:4] == ["=1+1", "-5", "=x", "plain"]
    data = otfair("predict", model, path, "--keep", "who", "--json").data
    assert data["who"][:2] == ["=1+1", "-5"]


def test_a_carriage_return_begins_no_row(model, people, tmp_path):
    _, frame = people
    frame.assign(who="a\rb").to_parquet(tmp_path / "t.parquet")
    said = otfair("predict", model, tmp_path / "t.parquet", "--keep", "who")
    assert exact(io.StringIO(said.out, newline=""))["who"].tolist() == ["a\rb"] * len(frame)


def test_memory_is_limited_by_an_option(model, people):
    path, _ = people
    refused(otfair("predict", model, path, "--max-memory", "1KB"), "1 KB of memory", "--max-memory")
    assert otfair("predict", model, path, "--max-memory", "1GB").code == 0
    said = otfair("predict", model, path, "--max-memory", "much")
    assert said.code == 2
    assert "such as 500MB or 4GB" in said.err


def test_the_file_alone_is_enough(model, people, tmp_path):
    path, frame = people
    shutil.copy(model / "model.safetensors", tmp_path / "alone.safetensors")
    said = otfair("predict", tmp_path / "alone.safetensors", path, "--threshold", 0.5)
    out = exact(io.StringIO(said.out))
    assert out["score"].tolist() == expected(model, frame).tolist()
    assert set(out["decision"]) <= {0, 1}


def test_parquet_and_csv_are_read_alike(model, people, tmp_path):
    path, frame = people
    frame.to_parquet(tmp_path / "new.parquet")
    assert (
        otfair("predict", model, tmp_path / "new.parquet").out == otfair("predict", model, path).out
    )


def test_missing_columns_are_named(model, people, tmp_path):
    path, frame = people
    write(frame.drop(columns=["income", "area"]).assign(Incom=1), path)
    refused(otfair("predict", model, path), "'income', 'area'", "did you mean 'Incom'?")


def test_gaps_are_known_from_text_that_should_be_a_number(model, people):
    path, frame = people
    gaps = frame.assign(income=None, area=None)
    write(gaps, path)
    assert otfair("predict", model, path).code == 0
    wrong = frame.astype({"income": object})
    wrong.iloc[6, wrong.columns.get_loc("income")] = "12,000"
    write(wrong, path)
    refused(otfair("predict", model, path), "'income'", "'12,000' in line 8")


def test_values_that_were_never_seen_are_told(model, people):
    path, frame = people
    write(frame.assign(area="elsewhere"), path)
    said = otfair("predict", model, path)
    assert said.code == 0
    assert said.err.startswith("otfair: warning: no value of column 'area' was there in training")
    assert said.err.count("\n") == 1


def test_the_table_is_never_written_over(model, people):
    path, _ = people
    before = path.read_bytes()
    refused(otfair("predict", model, path, "-o", path), "is the table that is read")
    assert path.read_bytes() == before


def test_models_that_are_none(model, people, tmp_path):
    path, _ = people
    refused(otfair("predict", tmp_path / "nope", path), "no model at")
    refused(otfair("predict", tmp_path, path), "no model.safetensors in")
    refused(otfair("predict", path, path), "damaged, or was not written by otfair")
    refused(otfair("predict", model / "model.json", path), "damaged, or was not written by otfair")
    os.mkfifo(tmp_path / "pipe")
    refused(otfair("predict", tmp_path / "pipe", path), "no model at")
    broken = tmp_path / "broken"
    shutil.copytree(model, broken)
    (broken / "model.json").write_text("[1")
    refused(otfair("predict", broken, path), "model.json is damaged")
    (broken / "model.json").unlink()
    (broken / "model.safetensors").write_bytes(b"\x80\x04pickle" * 10)
    refused(otfair("predict", broken, path), "damaged")
    save_model(tmp_path / "e.safetensors", TableEncoder().fit(loans(30)[["income"]]))
    refused(otfair("predict", tmp_path / "e.safetensors", path), "can't predict")
    bare = OTFClassifier(alpha=0).fit(np.arange(8.0)[:, None], [0, 1] * 4)
    save_model(tmp_path / "b.safetensors", bare)
    refused(otfair("predict", tmp_path / "b.safetensors", path), "without names of columns")


def test_a_model_that_was_replaced_in_its_folder_is_the_new_one(people, tmp_path):
    path, _ = people
    table = write(loans().drop(columns=["origin", "age", "p"]), tmp_path / "t.csv")
    base = ("fit", table, "--label", "granted", "--sensitive", "sex", "--no-curve", "--no-audit")
    found = []
    for alpha in (0.0, 0.8):
        assert otfair(*base, "--alpha", alpha, "-o", tmp_path / "m").code == 0
        found.append(otfair("predict", tmp_path / "m", path, "--json").data["score"])
        file = tmp_path / "m" / "model.safetensors"
        assert otfair("predict", file, path, "--json").data["score"] == found[-1]
        assert load_model(file)[-1].alpha_ == alpha
    assert found[0] != found[1]


def test_columns_to_keep(model, people):
    path, frame = people
    write(frame.assign(score=1), path)
    refused(otfair("predict", model, path, "--keep", "score"), "--keep score")
    refused(otfair("predict", model, path, "--keep", "idd"), "no column 'idd' for --keep")


def test_the_record_says_how_columns_were_read(model):
    record = json.loads((model / "model.json").read_text())
    assert record["features"]["income"] == "number"
    assert record["features"]["has_guarantor"] == "text"


def test_links_that_were_copied_without_their_files_are_said(tmp_path):
    table = write(loans(120), tmp_path / "t.csv")
    fit = ("fit", table, "--label", "granted", "--sensitive", "sex", "--alpha", 0, "--drop", "p")
    for _ in range(2):  # the second time, files are links
        assert otfair(*fit, "--no-curve", "--no-audit", "-o", tmp_path / "m").code == 0
    lost = tmp_path / "lost"
    lost.mkdir()
    for name in ("model.safetensors", "model.json"):
        (lost / name).symlink_to((tmp_path / "m" / name).readlink())
    refused(
        otfair("predict", lost, table), "is a link to .otfair/current/model.safetensors", "cp -L"
    )
    assert otfair(*fit, "--no-curve", "--no-audit", "-o", lost).code == 0
    assert otfair("predict", lost, table).code == 0
