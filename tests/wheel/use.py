"""What a user of the wheel does first: import, help, a table, an audit; nothing of the tests."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path


def otfair(*arguments: str) -> str:
    """Run a command outside the checkout, and return what it printed."""
    command = [sys.executable, "-m", "otfair", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=FOLDER).stdout


def main() -> None:
    """Fail where a step does."""
    import otfair as library

    assert "site-packages" in library.__file__, library.__file__
    assert "usage: otfair" in otfair("--help")
    people = [f"{k % 7},{'ab'[k % 2]},{(k * 37 % 101) / 101}" for k in range(200)]
    Path(FOLDER, "people.csv").write_text("\n".join(["age,sex,p", *people]), "utf-8")
    columns = ("--score", "p", "--sensitive", "sex", "--bootstrap", "5")
    found = json.loads(otfair("audit", "people.csv", *columns, "--json", "-o", "page.html"))
    assert found["findings"]
    assert "</html>" in Path(FOLDER, "page.html").read_text("utf-8")
    print("ok", library.__version__)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as FOLDER:
        main()
