"""What a type checker knows of the public names in a program that uses them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import otfair

ROOT = Path(__file__).parents[1]
# Each line with what is said of it: a type that is revealed, or the code of an error.
PROGRAM = """\
import numpy as np
import torch
import otfair
from otfair import Audits  # attr-defined
otfair.OTFLos  # attr-defined
otfair.losses.OTFLos  # attr-defined
loss = otfair.OTFLoss("equalized_odds", epsilon=1e-3)
reveal_type(loss)  # OTFLoss
reveal_type(loss(torch.zeros(3)))  # Tensor
reveal_type(loss.forward(torch.zeros(3)))  # Tensor
loss("logits")  # arg-type
reveal_type(otfair.NormLoss()(torch.zeros(3)))  # Tensor
otfair.OTFLoss(epsilon="small")  # arg-type
model = otfair.OTFClassifier(alpha=0.5)
otfair.OTFClassifier(alpah=0.5)  # call-arg
X = np.zeros((3, 2))
reveal_type(model.fit(X, [0, 1, 0], sensitive_features=["a", "b", "a"]))  # OTFClassifier
reveal_type(model.predict_proba(X))  # ndarray
reveal_type(otfair.OTFBoostingClassifier().fit(X, [0, 1, 0]))  # OTFBoostingClassifier
reveal_type(otfair.FairDecisions(model).predict(X))  # ndarray
reveal_type(otfair.audit([0.5], sensitive_features=["a"]).summary())  # DataFrame
reveal_type(otfair.pdp_violation([0.5], ["a"]))  # float
otfair.adjusted_otf([0.5], 3, 4)  # arg-type
"""


@pytest.mark.slow
def test_misspelt_names_are_errors_and_types_are_known(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    settings = ["--config-file", ROOT / "pyproject.toml", "--cache-dir", ROOT / ".mypy_cache"]
    source = str(Path(otfair.__file__).parents[1])
    said = subprocess.run(
        [sys.executable, "-m", "mypy", *settings, file],
        cwd=tmp_path, env={**os.environ, "MYPYPATH": source}, capture_output=True, text=True,
        check=False,
    ).stdout  # fmt: skip
    found: dict[int, str] = {}
    for line in said.splitlines():
        if seen := re.match(r'.*program.py:(\d+): (?:error:.*\[(.*)\]|.*type is "([\w.]*))', line):
            found[int(seen[1])] = seen[2] or seen[3].split(".")[-1]
    wanted = {
        number: line.split("# ")[1]
        for number, line in enumerate(PROGRAM.splitlines(), 1)
        if "# " in line
    }
    assert found == wanted, said


def test_the_marker_of_typed_packages_is_there():
    assert (Path(otfair.__file__).parent / "py.typed").is_file()
