"""The promise that data tests are never skipped where the data is."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("folder_is_there", "body", "code", "said"),
    [
        (False, "pass", 0, "no real data"),
        (True, "pass", 0, "1 passed"),
        (True, "pytest.skip('no time')", 1, "skipped, although"),
        (True, "raise OSError('damaged')", 1, "OSError: damaged"),
        # The whole module: a run that can't collect it ends with code 2.
        (True, "pass\npytest.skip('not today', allow_module_level=True)", 2, "skipped, although"),
    ],
)
def test_data_tests_are_skipped_only_without_data(tmp_path, folder_is_there, body, code, said):
    shutil.copy(Path(__file__).with_name("conftest.py"), tmp_path)
    case = f"import pytest\ndef test_that_needs_data(data_home):\n    {body}\n"
    (tmp_path / "test_case.py").write_text(case)
    folder = tmp_path / "data"
    if folder_is_there:
        folder.mkdir()
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-ra", "-p", "no:cacheprovider", str(tmp_path)],
        env=os.environ | {"OTFAIR_DATA_HOME": str(folder)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == code
    assert said in run.stdout
    assert ("1 skipped" in run.stdout) == (not folder_is_there)
