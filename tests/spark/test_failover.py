"""What `tests/failover/test_failover.py` shows of the direct runner, of Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from failover.test_failover import fail_over_each, three_servers
from testkit.topology import Topology

pytestmark = [pytest.mark.spark, pytest.mark.timeout(7200)]

KINDS = ("spark-mirror",)
"""Runners and sinks of every run …"""
LONG_KINDS = ("spark-file", "spark-kafka", "spark-changelog")
"""… and of the long series."""


@pytest.fixture(scope="module")
def three() -> Iterator[Topology]:
    """Servers that go through failovers, one after the other."""
    with three_servers() as made:
        yield made


@pytest.mark.parametrize("kind", [*KINDS, *(pytest.param(kind, marks=pytest.mark.nightly) for kind in LONG_KINDS)])
@pytest.mark.usefixtures("session")
def test_the_sink_equals_the_new_primary(
    three: Topology, kind: str, tmp_path: Path, nightly: bool, request: pytest.FixtureRequest
) -> None:
    fail_over_each(three, kind, tmp_path, request, nightly=nightly)
