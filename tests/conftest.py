"""Options and fixtures that all tests share."""

import os
from pathlib import Path

import pytest

BESIDE_THE_CHECKOUT = Path(__file__).parents[2] / "shared" / "data"
DATA_HOME = Path(os.environ.get("OTFAIR_DATA_HOME") or BESIDE_THE_CHECKOUT).expanduser()


def pytest_addoption(parser):
    parser.addoption(
        "--exhaustive", action="store_true", help="run randomised tests at their full size"
    )
    parser.addoption(
        "--fuzz", type=int, default=100, metavar="N", help="cases of each generator in tests/fuzz"
    )


def pytest_collection_modifyitems(items):
    """Mark what uses a browser, the demonstration, Dask or scikit-learn's checks as slow."""
    for item in items:
        if {"browser", "demo", "check", "workers"} & {*getattr(item, "fixturenames", ())}:
            item.add_marker("slow")


@pytest.fixture(scope="session")
def fuzz_cases(request):
    """How many seeded cases each test in `tests/fuzz` tries: 100, or those of `--fuzz N`."""
    return request.config.getoption("--fuzz")


@pytest.fixture(scope="session")
def data_home():
    """The folder of the real datasets; tests that need it are skipped only where it is absent."""
    if not DATA_HOME.is_dir():
        pytest.skip(f"no real data: {DATA_HOME} is not a folder (set OTFAIR_DATA_HOME)")
    return DATA_HOME


# With the data there, a data test that is skipped for whatever reason fails the run.


def _fail_if_skipped(report, needs_data):
    if report.skipped and not hasattr(report, "wasxfail") and needs_data and DATA_HOME.is_dir():
        report.outcome = "failed"
        report.longrepr = f"skipped, although {DATA_HOME} is there: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    return _fail_if_skipped((yield), "data_home" in getattr(item, "fixturenames", ()))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    # A module that skips itself has no tests to ask, so ask its text.
    is_module = isinstance(collector, pytest.Module) and collector.path.suffix == ".py"
    return _fail_if_skipped((yield), is_module and "data_home" in collector.path.read_text("utf-8"))
