"""How fast the planner takes the log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cdckit.api.source import SourceContext
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.spark.job import MAX_BYTES, MOST_BYTES, SPLIT_BYTES, Job
from cdckit.engine.spark.planner import Planner
from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit_mysql import source as mysql_source
from cdckit_mysql.source import MySqlSource
from cdckit_mysql.streaming.pace import Pace
from mysql.conftest import NewCapture


class Clock:
    """One whose seconds pass while somebody sleeps, and else never."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_bytes_take_their_time() -> None:
    clock = Clock()
    pace = Pace(1000, clock, clock.sleep)
    for _ in range(10):
        pace.took(500, lambda: True)
    assert clock.now == pytest.approx(104.9)


def test_what_was_not_taken_is_not_made_up_for() -> None:
    clock = Clock()
    pace = Pace(1000, clock, clock.sleep)
    clock.now += 3600
    for _ in range(10):
        pace.took(500, lambda: True)
    assert clock.now == pytest.approx(3704.9)


def test_a_wait_for_what_is_not_wanted_ends() -> None:
    clock = Clock()
    Pace(1, clock, clock.sleep).took(1_000_000, lambda: clock.now < 102)
    assert clock.now == pytest.approx(102, abs=0.3)


def test_the_planner_is_held_to_its_pace(
    capture: NewCapture, sql: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    clock = Clock()
    monkeypatch.setattr(mysql_source, "Pace", lambda rate: Pace(rate, clock, clock.sleep))
    reading = capture(snapshot_mode="no_data")
    reading.once()
    sql("CREATE TABLE t (id INT PRIMARY KEY, v LONGTEXT);")
    sql("".join(f"INSERT INTO t VALUES ({n}, REPEAT('x', 100000));" for n in range(10)))
    start = reading.offset()
    reading.state.close()
    state = SqliteStateStore(tmp_path / "state")
    source = MySqlSource(reading.config)
    source.open(SourceContext("p", state, bytes_per_second=100_000))
    source.plan(start, source.latest_offset(start), 2)
    source.close()
    state.close()
    assert clock.now >= 109, "a megabyte, at a tenth of that a second"


@pytest.mark.parametrize(
    ("parallelism", "grows", "expected"),
    [
        (2, True, MAX_BYTES),
        (10, True, 10 * SPLIT_BYTES),
        (1000, True, MOST_BYTES),
        (1000, False, MAX_BYTES),
    ],
)
def test_a_batch_grows_with_what_is_read_at_the_same_time(
    tmp_path: Path, parallelism: int, grows: bool, expected: int
) -> None:
    file = tmp_path / "pipeline.yaml"
    file.write_text(
        "name: p\nsink: {type: stdout}\n"
        "source: {type: mysql, topic.prefix: p, database.hostname: h, database.user: u}\n"
    )
    planner = Planner(Job(load_pipeline(file, runner="spark"), parallelism=parallelism, grows=grows))
    assert planner._batch_bytes(MAX_BYTES) == expected
