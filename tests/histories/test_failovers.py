"""Random histories through failovers: the primary dies, and a replica with transactions of its own takes over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from _pytest.mark import ParameterSet

from histories.series import SINKS, Series
from histories.switches import LAKES
from histories.test_histories import SMALL_STEPS
from testkit.running import create_reader
from testkit.servers.mysql_family import CAPTURE_PRIVILEGES, SIGNAL_PRIVILEGES, SQLServer
from testkit.topology import Topology, alone, follow, topology

SMALL = ("file", 1), ("kafka", 2)


@pytest.fixture(scope="module")
def servers() -> Iterator[Topology]:
    """A primary and two replicas, each with the user of pipelines that read and write signals."""
    with topology() as found:
        for server in found.servers:
            create_reader(server, *CAPTURE_PRIVILEGES, *SIGNAL_PRIVILEGES)
        yield found


def _take_over(servers: Topology, chance: Random) -> SQLServer:
    """The primary dies; a replica that has made transactions of its own is the next, and the dead one follows it."""
    servers.wait_for_replicas()
    chosen, dead = chance.choice(servers.replicas), servers.primary
    own = f"own_{chance.getrandbits(60)}"
    alone(chosen, f"CREATE DATABASE {own}; CREATE TABLE {own}.t (id INT PRIMARY KEY); INSERT INTO {own}.t VALUES (1)")
    dead.kill()
    servers.promote(chosen)
    dead.start()
    follow(dead, chosen)
    return chosen


def _histories() -> Iterator[ParameterSet]:
    """30 seeds for each sink, of which `make test` plays two."""
    for sink in SINKS:
        for seed in range(1, 31):
            marks = [] if (sink, seed) in SMALL else [pytest.mark.nightly]
            yield pytest.param(sink, seed, marks=[*marks, pytest.mark.spark] if sink in LAKES else marks)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("sink", "seed"), list(_histories()))
def test_the_sink_equals_the_source_after_failovers(
    servers: Topology, sink: str, seed: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    series = Series(
        servers.primary,
        sink,
        tmp_path,
        lambda: request.getfixturevalue("kafka_broker"),
        lambda: request.getfixturevalue("session"),
        small=SMALL_STEPS,
        fail_over=lambda chance: _take_over(servers, chance),
    )
    report = series.report(seed)
    assert not report, report
