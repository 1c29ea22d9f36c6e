"""Batches of a backlog that take about as long as they are to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cdckit.api.record import Offset
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.spark import planner as driven
from cdckit.engine.spark.job import Job
from cdckit.engine.spark.planner import Planner
from cdckit.engine.spark.timed_batches import ASKED, LEAST_BYTES, TimedBatches
from cdckit_mysql.streaming import planning
from testkit.running import create_reader, source_of, to_file
from testkit.servers.mysql import MySQLServer

MB = 1 << 20
NewBacklog = Callable[..., tuple[Planner, Offset]]


def test_the_first_one_is_small() -> None:
    assert TimedBatches(10).size(256 * MB) == 32 * MB
    assert TimedBatches(0).size(256 * MB) == 256 * MB


@pytest.mark.parametrize(
    ("size", "seconds", "expected"),
    [
        (32 * MB, 20.0, 16 * MB),
        (32 * MB, 5.0, 64 * MB),
        (32 * MB, 0.01, 128 * MB),
        (200 * MB, 5.0, 256 * MB),
        (8 * MB, 1000.0, LEAST_BYTES),
        (0, 5.0, 32 * MB),
    ],
    ids=["too long", "too short", "no more than four times", "what is allowed", "the least", "not known"],
)
def test_the_next_one_goes_by_the_one_before(size: int, seconds: float, expected: int) -> None:
    timed = TimedBatches(10)
    timed.took(size, seconds, whole=False)
    assert timed.size(256 * MB) == expected


def test_one_that_had_all_there_was_tells_only_that_it_was_too_large() -> None:
    timed = TimedBatches(10)
    timed.took(MB, 0.1, whole=True)
    assert timed.size(256 * MB) == 32 * MB
    timed.took(40 * MB, 40, whole=True)
    assert timed.size(256 * MB) == 10 * MB


class _Driver:
    """Answers as the driver does, where a query runs."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._answers: dict[str, Callable[[], Any]] = {"parallelism": lambda: 2, ASKED: seconds}

    def ask(self, what: str) -> Any:
        return self._answers[what]()


@pytest.fixture
def backlog(
    mysql_server: MySQLServer, unique_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[NewBacklog]:
    """Makes planners behind whose start 20 MB of the log lie."""
    mysql_server.execute(f"CREATE DATABASE {unique_name}")
    create_reader(mysql_server)
    mysql_server.run_sql("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v LONGTEXT);", database=unique_name)
    written = to_file(tmp_path, source_of(mysql_server, unique_name, snapshot_mode="no_data")).written()
    pipeline = load_pipeline(Path(written), runner="spark")
    made: list[Planner] = []

    def new(seconds: Callable[[], float], **given: Any) -> tuple[Planner, Offset]:
        monkeypatch.setattr(driven, "driver_of", lambda _job: _Driver(seconds))
        made.append(Planner(Job(pipeline, wait_seconds=0.0, **given)))
        [planner] = made
        start = planner.initial_offset()
        while (end := planner.latest_offset(start, None)) != start:
            planner.splits(start, end)
            start = end
        rows = "INSERT INTO t (v) VALUES (REPEAT('x', 100000));"
        mysql_server.run_sql(200 * rows, database=unique_name)
        return planner, start

    yield new
    for planner in made:
        planner.close()
    mysql_server.execute(f"DROP DATABASE {unique_name}")


def _sizes(planner: Planner, start: Offset, most: int) -> Iterator[float]:
    """How many megabytes each batch takes, up to the log's end."""
    while (end := planner.latest_offset(start, most)) != start:
        planner.splits(start, end)
        yield round((end["pos"] - start["pos"]) / MB, 1)
        start = end


def test_batches_of_a_backlog_by_time(backlog: NewBacklog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "CERTAIN_BYTES", 0)
    seconds = [10.0]
    planner, start = backlog(lambda: seconds[0], batch_seconds=10.0)
    sizes = []
    for size in _sizes(planner, start, 16 * MB):
        sizes.append(size)
        seconds[0] = 5.0 if len(sizes) >= 3 else 20.0
    # What lies ahead is looked at while a batch is delivered, so that each goes by the one before the last.
    assert sizes[:6] == pytest.approx([2, 2, 1, 1, 2, 2], abs=0.3)
    assert max(sizes) == pytest.approx(4, abs=1)
    assert sum(sizes) == pytest.approx(19.1, abs=0.5)
