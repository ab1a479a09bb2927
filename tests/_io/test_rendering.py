"""What pages and files are made with."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from otfair._io.rendering import drawn, templates, to_json


def test_whatever_a_table_holds_becomes_json():
    day = datetime.date(2024, 2, 29)
    frame = pd.DataFrame(
        {
            "when": pd.to_datetime(["2024-02-29", None]),
            "count": pd.array([3, None], dtype="Int64"),
            "bin": pd.cut([1.0, 2.0], [0, 1, 2]),
        }
    )
    data = {"rows": frame, "day": day, "path": Path("a/b"), "nan": np.float32("nan"), 1: np.int8(2)}
    assert json.loads(to_json(data)) == {
        "rows": [
            {"when": "2024-02-29T00:00:00", "count": 3, "bin": "(0, 1]"},
            {"when": None, "count": None, "bin": "(1, 2]"},
        ],
        "day": "2024-02-29",
        "path": "a/b",
        "nan": None,
        "1": 2,
    }


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_a_figure_is_the_same_bytes_every_time(kind):
    def picture() -> bytes:
        figure = Figure()
        figure.subplots().scatter([0, 1], [1, 2], label="one")
        return drawn(figure, kind)

    assert picture() == picture()


def test_templates_escape_unless_told_not_to():
    room = "otfair.auditing.report"
    assert templates(room).from_string("{{ x }}").render(x="<b>") == "&lt;b&gt;"
    assert templates(room, escape=False).from_string("{{ x }}").render(x="<b>") == "<b>"
