"""`otfair fit --dask` trains on a folder of Parquet files."""

import json

import numpy as np
import pandas as pd
import pytest
from partitions import FEATURES, people
from sklearn.pipeline import make_pipeline

import otfair
from otfair.cli import main

pytestmark = pytest.mark.filterwarnings("ignore:training stopped")
PEOPLE = ["--label", "paid", "--sensitive", "sex", "--drop", "id"]


@pytest.fixture
def folder(tmp_path):
    """A folder of two Parquet files, and the same people in one table."""
    frame = people(120).here
    frame = frame[[*FEATURES, "race", "sex"]].assign(
        paid=np.where(frame["y"] == 1, "yes", "no"), id=np.arange(len(frame))
    )
    (tmp_path / "loans").mkdir()
    for k, rows in enumerate(np.array_split(np.arange(len(frame)), 2)):
        frame.iloc[rows].to_parquet(tmp_path / "loans" / f"part.{k}.parquet")
    return tmp_path / "loans", frame


def test_a_folder_of_parquet_is_fitted_on_workers(workers, folder, tmp_path, capsys):
    source, frame = folder
    settings = ["--alpha", "0.5", "--params", "balance=5", "--params", "max_iter=2"]
    settings += ["--receivers", "40"]
    address = workers.scheduler.address
    out = tmp_path / "model"
    how = [*PEOPLE, *settings, "--dask", address, "-o", str(out), "--json"]
    assert main(["fit", str(source), *how]) == 0, capsys.readouterr().err
    told = json.loads(capsys.readouterr().out)
    line = otfair.OTFClassifier(
        alpha=0.5, balance=5.0, max_iter=2, receivers=40, random_state=told["seed"]
    )
    here = make_pipeline(otfair.TableEncoder(), line).fit(
        frame[[*FEATURES, "race"]],
        (frame["paid"] == "yes").astype(int),
        otfclassifier__sensitive_features=frame[["sex"]],
    )
    assert told["violation"] == pytest.approx(line.violation_, rel=1e-8)
    assert told["violation"] < told["violation_before"]
    assert told["people"] == {"train": 120}
    assert told["received"]["people"] == line.receivers_["people"] == 40
    # The model is used as any other.
    table = tmp_path / "new.csv"
    frame.to_csv(table, index=False)
    assert main(["predict", str(out), str(table), "-o", str(tmp_path / "scores.csv")]) == 0
    scores = pd.read_csv(tmp_path / "scores.csv")["score"]
    expected = here.predict_proba(frame[[*FEATURES, "race"]])[:, 1]
    np.testing.assert_allclose(scores, expected, rtol=1e-7)


def test_a_limit_chooses_the_strength_on_workers(workers, folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("otfair.models._search.ALPHAS", (0.7,))
    monkeypatch.setattr("otfair.models._search.REFINEMENTS", 0)
    settings = ["--max-violation", "sex=0.35", "--validation-fraction", "0.5"]
    settings += ["--params", "balance=5", "--params", "max_iter=2", "--dask"]
    how = [*PEOPLE, *settings, workers.scheduler.address, "-o", str(tmp_path / "model")]
    code = main(["fit", str(folder[0]), *how])
    out = capsys.readouterr().out
    told = json.loads((tmp_path / "model" / "model.json").read_text("utf-8"))
    found = told["judgement"]
    assert code == (0 if found["met"] else 4)
    assert found["n"] == 60
    assert found["limit"] == 0.35
    assert told["people"] == {"train": 120}
    assert "by 60 people kept out of training" in out
    wrong = [*how[:-1], str(tmp_path / "other"), "--max-violation", "hue=0.1"]
    assert main(["fit", str(folder[0]), *wrong]) == 1
    assert "names 'hue', which is not among --sensitive" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--alpha", "0.5", "--weight", "x0"], "--weight is for one machine"),
        (["--alpha", "0.5", "--model", "xgboost"], "--model xgboost is for one machine"),
        (["--max-difference", "0.1"], "--max-difference or --min-ratio is for one machine"),
        ([], "say how fair the model is to be"),
    ],
)
def test_options_of_one_machine_are_refused(folder, tmp_path, capsys, more, message):
    how = ["--dask", "local", "-o", str(tmp_path / "model")]
    with pytest.raises(SystemExit) as ended:
        main(["fit", str(folder[0]), *PEOPLE, *more, *how])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_an_address_without_a_scheduler_is_an_error(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("otfair.cli._dask.SECONDS", 1)
    how = [*PEOPLE, "--alpha", "0.5", "--dask", "tcp://127.0.0.1:9", "-o", str(tmp_path / "m")]
    assert main(["fit", str(folder[0]), *how]) != 0
    assert "there is no scheduler" in capsys.readouterr().err
