"""How many cases the fuzzers take, and which."""

from __future__ import annotations

import pytest

CASES, NIGHTLY_CASES, FAST_CASES = 400, 100_000, 100
SECONDS_A_CASE = 0.05
"""More than a case takes on a machine that does much else."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Gives the fuzzers time for the cases that they are to take."""
    for item in items:
        if "cases" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(300 + len(_cases(config)) * SECONDS_A_CASE))


@pytest.fixture(scope="session")
def cases(request: pytest.FixtureRequest) -> range:
    """The seeds of a kind's cases; the same ones each time, unless others are asked for."""
    return _cases(request.config)


def _cases(config: pytest.Config) -> range:
    first: int = config.getoption("--first-seed")
    return range(first, first + (config.getoption("--cases") or _usual(config)))


def _usual(config: pytest.Config) -> int:
    if config.getoption("--nightly"):
        return NIGHTLY_CASES
    return FAST_CASES if config.getoption("--fast") else CASES
