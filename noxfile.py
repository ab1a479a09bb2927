"""Checks in environments of their own: `nox -s lint tests-3.12 oldest newest docs`.

What a session runs is what `make` runs in .venv. Arguments after `--` go to pytest.
"""

import os

import nox

nox.options.sessions = ["lint", "tests-3.11", "oldest", "docs"]
nox.options.error_on_missing_interpreters = True
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
VERSION = "import importlib.metadata; print(importlib.metadata.version('scikit-learn'))"


@nox.session(python=PYTHONS[0])
def lint(session: nox.Session) -> None:
    """Check style, types, the order of imports, and docstrings."""
    session.install("-c", "constraints.txt", "-e", ".[dev]")
    session.run("make", "lint", "BIN=" + session.bin, "STAMP=", external=True)


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the tests with the versions of constraints.txt."""
    session.install("-c", "constraints.txt", "-e", ".[dev]")
    session.run("pytest", *session.posargs)


@nox.session(python=PYTHONS[0])
def oldest(session: nox.Session) -> None:
    """Run the tests with the lowest versions that pyproject.toml promises."""
    session.install("-c", "constraints-oldest.txt", "-e", ".[dev]")
    session.run("pytest", *session.posargs)


@nox.session(python=PYTHONS[-1])
def newest(session: nox.Session) -> None:
    """Run the tests with the newest versions there are."""
    session.install("-e", ".[dev]")
    session.run("pytest", *session.posargs)


@nox.session(python=PYTHONS[0])
def nightly(session: nox.Session) -> None:
    """Run the tests with scikit-learn's nightly build; may fail, and says what is to come.

    The environment variable OTFAIR_NIGHTLY_INDEX is the index that the build is taken from.
    """
    index = os.environ.get("OTFAIR_NIGHTLY_INDEX")
    if not index:
        session.skip("set OTFAIR_NIGHTLY_INDEX to an index of nightly builds")
    session.install("-c", "constraints.txt", "torch")  # first, as pip then keeps this build
    session.install("-e", ".[dev]")
    session.install("--pre", "--upgrade", "--extra-index-url", index, "scikit-learn")
    version = str(session.run("python", "-c", VERSION, silent=True)).strip()
    if "dev" not in version:  # pip goes on without an index that does not answer
        session.error(f"OTFAIR_NIGHTLY_INDEX has no nightly build: scikit-learn is {version}")
    session.run("pytest", "-m", "not slow", *session.posargs)


@nox.session
def wheel(session: nox.Session) -> None:
    """Use the wheel alone, without extras or the tools of tests, in an empty environment.

    Its Python is the one that runs nox, or that of `-P 3.13`.
    """
    session.install("-c", "constraints.txt", ".")  # by its path: the name may be another's
    session.run("python", "tests/wheel/use.py")


@nox.session(python=PYTHONS[0])
def docs(session: nox.Session) -> None:
    """Build the documentation, in which a warning is an error."""
    session.install("-c", "constraints.txt", "-e", ".[docs]")
    session.run("make", "docs", "BIN=" + session.bin, "DOCS_STAMP=", external=True)
