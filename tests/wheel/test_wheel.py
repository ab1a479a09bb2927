"""The built wheel, by itself: no checkout, no extras."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXTRAS = ("pyarrow", "polars", "xgboost", "lightgbm", "fairlearn", "pytest", "hypothesis")


@pytest.mark.slow
def test_the_wheel_alone_imports_helps_and_audits(tmp_path):
    # Without a network: dependencies are those of this environment, and extras are hidden.
    pytest.importorskip("hatchling")
    build = f"import os; os.chdir({str(ROOT)!r}); from hatchling.build import build_wheel; "
    subprocess.run([sys.executable, "-c", f"{build}build_wheel({str(tmp_path)!r})"], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    venv.create(tmp_path / "env", symlinks=True)
    (site,) = (tmp_path / "env").glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:  # which is all that installing a pure wheel does
        names = archive.namelist()
        archive.extractall(site)
    assert "otfair/py.typed" in names
    assert "otfair/__init__.pyi" in names
    assert not [name for name in names if name.startswith(("tests", "docs"))]
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    hidden = "; ".join(f"sys.modules[{name!r}] = None" for name in EXTRAS)
    (site / "sitecustomize.py").write_text(f"import sys; {hidden}\n")
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    python = tmp_path / "env" / "bin" / "python"
    said = subprocess.run(
        [python, ROOT / "tests/wheel/use.py"], env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("ok ")


def test_errors_say_what_can_be_installed():
    # The name is not registered in an index: `pip install otfair[...]` installs nothing of ours.
    for folder in ("src", "docs"):
        for file in (ROOT / folder).rglob("*"):
            if file.suffix in (".py", ".md"):
                assert "pip install 'otfair" not in file.read_text("utf-8"), file
