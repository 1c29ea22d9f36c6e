"""Random histories through failovers: the primary dies, and a replica with transactions of its own takes over."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random

import pytest
from _pytest.mark import ParameterSet
from pyspark.sql import SparkSession

from cdckit.engine.state.spark_checkpoint import committed_batch, planned_batch
from histories.failovers import failing_servers, take_over
from histories.generator import SMALL_STEPS
from histories.on_spark import Mirror
from histories.playing import Play
from histories.series import SINKS, Series
from histories.steps import CHECK, Step
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


STEPS = (
    Step("set up", ("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(9))",)),
    Step("first rows", ("INSERT INTO t VALUES (1, 'x'), (2, 'y')",)),
    Step(CHECK),
    Step("rows", ("INSERT INTO t VALUES (3, 'z')", "UPDATE t SET a = 'u' WHERE id = 1", "DELETE FROM t WHERE id = 2")),
)


@pytest.mark.spark
@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.parametrize("lives_on", [False, True])
def test_a_primary_dies_in_the_middle_of_a_batch(
    servers: Topology, session: SparkSession, unique_name: str, tmp_path: Path, lives_on: bool, afterwards: ExitStack
) -> None:
    """What Spark has planned at one server is delivered at the next."""
    servers.primary.execute(f"CREATE DATABASE {unique_name}")
    sink = Mirror(session, tmp_path, unique_name, unique_name)
    play = Play(servers.primary, unique_name, tmp_path, sink, lambda chance: take_over(servers, chance))
    afterwards.callback(play.drop)
    play.all(STEPS)
    batches = []

    def in_hand() -> int:
        [checkpoint] = (play.pipeline().state / "spark").iterdir()
        planned, committed = planned_batch(checkpoint), committed_batch(checkpoint)
        assert planned is not None
        assert committed is not None
        return planned - committed.number

    def fail_over() -> None:
        batches.append(in_hand())
        play.server = take_over(servers, Random(seed))

    seed = next(seed for seed in itertools.count() if (Random(seed).random() >= 0.5) == lives_on)
    assert sink.run_and_lose(play.pipeline(), Random(seed), fail_over)
    assert batches == [1]
    assert lives_on or in_hand() == 1, "it is to come again"
    play.deliver("at the new primary")
    play.check("at the new primary")
    assert in_hand() == 0
