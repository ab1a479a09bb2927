"""Checks in environments of their own: `nox -s lint tests-3.12 oldest newest docs`.

What a session runs is what `make` runs in .venv. Arguments after `--` go to pytest.
"""

import nox

nox.options.sessions = ["lint", "tests-3.11", "oldest", "docs"]
nox.options.error_on_missing_interpreters = True
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


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
def docs(session: nox.Session) -> None:
    """Build the documentation, in which a warning is an error."""
    session.install("-c", "constraints.txt", "-e", ".[docs]")
    session.run("make", "docs", "BIN=" + session.bin, "DOCS_STAMP=", external=True)
