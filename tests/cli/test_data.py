"""`otfair data`: what there is, where, and whether it is sound."""

from __future__ import annotations

import pandas as pd
from tables_for_commands import otfair, refused

from otfair import list_datasets, load_dataset, locate_dataset
from otfair.datasets import SOURCES


def test_the_list_is_complete_and_the_default():
    said = otfair("data")
    assert said.code == 0
    assert said.out == otfair("data", "list").out
    assert [name for name in list_datasets() if name in said.out] == list_datasets()
    assert [row["name"] for row in otfair("data", "--json").data["datasets"]] == list_datasets()


def test_what_is_said_of_the_synthetic_table_is_true():
    assert SOURCES["synthetic"].sensitive == tuple(
        load_dataset("synthetic", n=50).sensitive_features
    )


def test_what_is_said_of_real_tables_is_true(data_home):
    for name in ("adult", "bank", "dutch", "diabetes", "acs_income"):
        sensitive = load_dataset(name, data_home).sensitive_features
        assert SOURCES[name].sensitive == tuple(sensitive)


def test_where_and_verify(data_home, tmp_path):
    said = otfair("data", "where", "adult", "--data-home", data_home)
    assert said.out.split("\n")[:-1] == [
        str(p) for p in locate_dataset("adult", data_home).values()
    ]
    sound = otfair("data", "verify", "adult", "--data-home", data_home)
    assert sound.out.count(": sound") == 2
    (tmp_path / "adult.data").write_text("39, State-gov")
    assert otfair("data", "where", "adult", "--data-home", tmp_path).code == 1
    damaged = otfair("data", "verify", "adult", "--data-home", tmp_path)
    assert damaged.code == 1
    assert "damaged" in damaged.err
    assert damaged.out == ""


def test_nothing_to_fetch_for_the_synthetic_table(tmp_path):
    said = otfair("data", "download", "synthetic", "--data-home", tmp_path)
    assert said.code == 0
    assert "made when it is asked for" in said.out


def test_missing_files_and_names(tmp_path):
    refused(otfair("data", "where", "dutch", "--data-home", tmp_path), "dutch.csv", "download")
    refused(otfair("data", "where", "cats"), "Unknown dataset 'cats'")
    refused(otfair("data", "verify"), "needs a name")


def test_a_file_wins_over_a_dataset_of_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"y": [0, 1], "sex": ["f", "m"]}).to_csv("adult", index=False)
    said = otfair("fit", "adult", "--label", "y", "--sensitive", "race", "--alpha", 0, "-o", "m")
    refused(said, "adult has no column 'race'", "y, sex")


def test_a_sample_is_the_same_for_the_same_seed(tmp_path):
    first, again, other = (tmp_path / name for name in ("a.csv", "b.csv", "c.csv.gz"))
    said = otfair("data", "sample", first, "--rows", 50)
    assert said.code == 0, said
    assert "label: granted; sensitive: sex, origin, age" in said.out
    otfair("data", "sample", again, "--rows", 50)
    assert otfair("data", "sample", other, "--seed", 1, "--json").data["people"] == 4000
    assert first.read_bytes() == again.read_bytes()
    frame = pd.read_csv(first)
    data = load_dataset("synthetic", n=50)
    assert (frame["granted"] == "yes").astype(int).tolist() == data.y.tolist()
    assert frame["sex"].tolist() == data.sensitive_features["sex"].tolist()
    assert len(pd.read_csv(other)) == 4000


def test_a_sample_needs_a_file_and_people(tmp_path):
    refused(otfair("data", "sample"), "needs a name", "loans.csv")
    refused(otfair("data", "sample", tmp_path), "is a folder")
    said = otfair("data", "sample", tmp_path / "a.csv", "--rows", 3)
    assert said.code == 2
    assert "at least 20" in said.err
