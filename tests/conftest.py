"""Options and fixtures that all tests share."""

import pytest
import torch


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--exhaustive", action="store_true", help="run randomised tests at their full size"
    )


@pytest.fixture(scope="session")
def problem_count(request: pytest.FixtureRequest) -> int:
    """How many random problems to judge: 2000 by `make test-all`, 200 by `make test`."""
    return 2000 if request.config.getoption("--exhaustive") else 200


@pytest.fixture(scope="session", autouse=True)
def _two_threads() -> None:
    torch.set_num_threads(2)
