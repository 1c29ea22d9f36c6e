"""Random histories through failovers: the primary dies, and a replica with transactions of its own takes over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from histories.failovers import failing_servers, take_over
from histories.generator import SMALL_STEPS
from histories.series import SINKS, Series
from histories.switches import ON_SPARK, PATHS
from histories.test_histories import UNTOLD
from testkit.topology import Topology

SMALL = ("file", 1), ("kafka", 2)


@pytest.fixture(scope="module")
def servers() -> Iterator[Topology]:
    """A primary and two replicas, each with the user of pipelines that read and write signals."""
    with failing_servers() as found:
        yield found


def _histories() -> Iterator[ParameterSet]:
    """30 seeds for each sink, of which `make test` plays two, and five for each path of its own on Spark."""
    for sink in SINKS:
        for seed in range(1, 6 if sink in PATHS else 31):
            marks = [] if (sink, seed) in SMALL else [pytest.mark.nightly]
            marks += [UNTOLD] if sink in ("file", "kafka") or "changelog" in sink else []
            yield pytest.param(sink, seed, marks=[*marks, pytest.mark.spark] if sink in ON_SPARK else marks)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("sink", "seed"), list(_histories()))
def test_the_sink_equals_the_source_after_failovers(
    servers: Topology, sink: str, seed: int, tmp_path: Path, request: pytest.FixtureRequest, afterwards: ExitStack
) -> None:
    series = Series(
        servers.primary,
        sink,
        tmp_path,
        lambda: request.getfixturevalue("kafka_broker"),
        lambda: request.getfixturevalue("session"),
        small=SMALL_STEPS,
        fail_over=lambda chance: take_over(servers, chance),
        afterwards=afterwards,
    )
    report = series.report(seed)
    assert not report, report
