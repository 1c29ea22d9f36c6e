"""How many cases the fuzzers take, and which."""

from __future__ import annotations

import pytest

CASES, NIGHTLY_CASES = 2_000, 100_000


@pytest.fixture(scope="session")
def cases(request: pytest.FixtureRequest, nightly: bool) -> range:
    """The seeds of a kind's cases; the same ones each time, unless others are asked for."""
    first: int = request.config.getoption("--first-seed")
    return range(first, first + (NIGHTLY_CASES if nightly else CASES))
