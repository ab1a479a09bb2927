"""The demonstration's parts; the whole of it is run by `test_cli.py`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from otfair.demo import Judge, Row, _auc_at, _comparison, _write


def row(method: str, pdp: float, auc: float) -> Row:
    return Row(method, 0.5, auc, pdp, 0.0, 0.0, 0.0, np.empty(0))


def test_an_auc_is_read_off_the_line_between_two_models():
    rows = [
        row("unconstrained", 0.4, 0.9),
        row("Norm", 0.3, 0.8),
        row("OTF", 0.1, 0.82),
        row("Norm", 0.1, 0.6),
    ]
    assert _auc_at(0.2, rows, "Norm") == pytest.approx(0.7)
    assert _auc_at(0.25, rows, "OTF") == pytest.approx(0.86)
    said = _comparison(rows)
    assert "(PDP 0.200), OTF has an AUC of 0.8467 and Norm of 0.7000" in said
    # The better one is named first, whichever it is.
    rows[3] = row("Norm", 0.1, 0.89)
    assert "Norm has an AUC of 0.8933 and OTF of 0.8467" in _comparison([rows[0], rows[2], rows[3]])


def test_the_gap_is_the_largest_of_any_column():
    people = pd.DataFrame({"sex": list("ffmm"), "origin": ["a", "b", "c", "c"]}, index=[7, 3, 5, 1])
    judge = Judge(np.arange(4.0)[:, None], np.array([0, 1, 0, 1]), people)

    class Model:
        alpha_ = 0.0

        def predict_proba(self, X):
            scores = np.array([0.1, 0.5, 0.2, 0.4])
            return np.column_stack([1 - scores, scores])

    judged = judge.row("OTF", Model())
    assert judge.group_means(judged.scores).round(9).to_dict() == {
        ("sex", "f"): 0.3,
        ("sex", "m"): 0.3,
        ("origin", "a"): 0.1,
        ("origin", "b"): 0.5,
        ("origin", "c"): 0.3,
    }
    assert judged.gap == pytest.approx(0.4)
    assert judged.auc == pytest.approx(1.0)


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    _write(path, b"old")
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        _write(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
