"""Where a pipeline is: figures from notices, a live line on a terminal, log lines elsewhere."""

from __future__ import annotations

import json
import logging
import os
import pty
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cdckit.api.plugins import plugin_manager
from cdckit.api.source_counts import SourceCounts
from cdckit.cli.progress import ProgressPlugin
from cdckit.cli.progress_line import progress_facts, progress_line, size
from cdckit.connector.durations import duration
from cdckit.engine.metrics.figures import Figures
from cdckit.engine.metrics.listener import FiguresListener
from cdckit.engine.notices import RunNotices

PROGRAM = Path(sys.executable).parent / "cdc"


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The time of day, for the figures."""
    made = Clock()
    monkeypatch.setattr(time, "time", made)
    return made


@pytest.fixture
def figures(clock: Clock) -> Figures:
    return Figures("inv", "scripted", "s", "direct")


def committed(figures: Figures, records: int, log_time_ms: int | None, lag_bytes: int | None) -> None:
    figures.commit(records, {}, log_time_ms, 0)
    figures.lag(lag_bytes, None, still=not records)


def test_a_snapshot_has_rows_rate_and_time_left(figures: Figures, clock: Clock) -> None:
    read = figures.snapshot.read
    read("shop.orders", 0, 500_000, finished=False)
    clock.now += 2
    read("shop.orders", 100_000, 500_000, finished=False)
    assert progress_line(figures) == ("snapshot of shop.orders: 100,000 of about 500,000 rows, 50,000 rows/s, 8 s left")
    assert progress_facts(figures) == {
        "phase": "snapshot", "table": "shop.orders", "rows": 100_000, "estimate": 500_000,
        "rows_per_second": 50_000, "seconds_left": 8,
    }  # fmt: skip
    read("shop.users", 10, None, finished=False)
    clock.now += 1
    assert progress_line(figures) == "snapshot of shop.users (and 1 more): 10 rows"
    read("shop.orders", 150_000, 500_000, finished=False)
    assert progress_line(figures) == (
        "snapshot of shop.orders (and 1 more): 150,000 of about 500,000 rows, 50,000 rows/s, 7 s left"
    )
    read("shop.orders", 500_000, 500_000, finished=True)
    assert progress_line(figures) == "snapshot of shop.users: 10 rows"
    read("shop.users", 10, None, finished=True)
    assert progress_line(figures) == "streaming: 0 events/s, 0 delivered"


def test_a_snapshot_that_was_broken_off_is_not_shown_any_more(figures: Figures) -> None:
    figures.snapshot.begin({"shop.orders": 5, "shop.users": 5})
    assert progress_line(figures).startswith("streaming")
    figures.snapshot.read("shop.orders", 1, 5, finished=False)
    assert progress_line(figures).startswith("snapshot of shop.orders: 1 of about 5 rows")
    figures.snapshot.end(completed=False)
    assert progress_line(figures).startswith("streaming")


def test_an_estimate_that_was_too_low_is_not_shown_any_more(figures: Figures, clock: Clock) -> None:
    figures.snapshot.read("shop.orders", 700, 42, finished=False)
    clock.now += 2
    figures.snapshot.read("shop.orders", 30_700, 42, finished=False)
    assert progress_line(figures) == "snapshot of shop.orders: 30,700 rows, 15,000 rows/s"
    assert progress_facts(figures)["seconds_left"] is None


def test_streaming_has_a_rate_over_the_last_seconds_and_the_lag(figures: Figures, clock: Clock) -> None:
    clock.now += 5
    committed(figures, 500, log_time_ms=1_003_500, lag_bytes=2_500_000)
    assert progress_line(figures) == "streaming: 100 events/s, 1.5 s and 2.5 MB behind, 500 delivered"
    clock.now += 7
    committed(figures, 100, log_time_ms=1_011_900, lag_bytes=None)
    assert progress_line(figures) == "streaming: 60 events/s, 0.1 s behind, 600 delivered"
    clock.now += 88
    assert figures.events_per_second == 0


def test_the_rate_counts_every_record_however_often_there_are_some(figures: Figures, clock: Clock) -> None:
    """A thousand commits a second are more than are kept one by one."""
    for _ in range(20_000):
        clock.now += 0.001
        committed(figures, 2, None, None)
    assert len(figures.commits) <= 256
    assert figures.events_per_second == pytest.approx(2000, rel=0.01)


def test_changes_that_transforms_drop_are_behind_like_others(figures: Figures, clock: Clock) -> None:
    """Where the source cannot tell how much of the log is left; nothing new there is its end."""
    listener = FiguresListener(figures, lambda: None)
    for log_time_ms, lag in ((clock.now - 60) * 1000, 60), (None, 0):
        time_ms = None if log_time_ms is None else int(log_time_ms)
        listener.cdckit_batch_committed("inv", 0, {}, time_ms, 0, None, None, SourceCounts())
        assert figures.lag_seconds == lag


@pytest.mark.parametrize(("records", "lag_bytes"), [(0, None), (5, 0)])
def test_at_the_logs_end_there_is_no_lag_however_old_the_last_change(
    figures: Figures, records: int, lag_bytes: int | None
) -> None:
    committed(figures, records, log_time_ms=1, lag_bytes=lag_bytes)
    assert progress_facts(figures)["lag_seconds"] == 0


@pytest.mark.parametrize(("seconds", "text"), [(0, "0 s"), (59, "59 s"), (125, "2 min 05 s"), (11_220, "3 h 07 min")])
def test_durations_are_short(seconds: int, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 bytes"), (999, "999 bytes"), (1400, "1.4 kB"), (3.2e9, "3.2 GB"), (7e13, "70.0 TB")]
)
def test_sizes_are_short(number: float, text: str) -> None:
    assert size(number) == text


@pytest.fixture
def told(figures: Figures, clock: Clock) -> Iterator[RunNotices]:
    """What a runner tells its plugins by: the figures' listener, and the one that logs."""
    manager = plugin_manager()
    plugins = ProgressPlugin(figures, 10, clock), FiguresListener(figures, lambda: None)
    for plugin in plugins:
        manager.register(plugin)
    yield RunNotices("inv")
    for plugin in plugins:
        manager.unregister(plugin)


def test_log_lines_come_now_and_then_and_for_milestones(
    told: RunNotices, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="cdckit.progress"):
        told.started("direct", {"line": 1})
        for clock.now in (1001, 1009, 1011, 1012):
            told.batch_committed(6, {}, None, 0, 0, None, SourceCounts())
        told.snapshot_progress("db.t", 24, None, finished=True)
        told.schema_changed("p1", "ALTER TABLE t", ["db.t"])
        told.stopped(None)
    assert [record.getMessage() for record in caplog.records] == [
        "pipeline 'inv' starts on the runner direct; its offset is saved",
        "streaming: 1 events/s, 0.0 s and 0 bytes behind, 18 delivered",
        "snapshot of db.t is done: 24 rows in 0 s",
        "the definition of db.t changes at p1",
        "pipeline 'inv' stopped; 24 events delivered",
    ]
    assert vars(caplog.records[1])["events"] == 18


def test_a_terminal_shows_a_live_line_below_the_logs(
    environment: dict[str, str], pipeline: Path, tmp_path: Path
) -> None:
    terminal, other_end = pty.openpty()
    process = subprocess.Popen(
        [PROGRAM, "run", pipeline.name, "--sink", "file", "--set", "sink.path=out.jsonl"],
        cwd=tmp_path,
        env=environment | {"TERM": "xterm", "COLUMNS": "120"},
        stderr=other_end,
    )
    os.close(other_end)
    shown = _read_until(terminal, "3 delivered")
    process.terminate()
    shown += _read_until(terminal, "stopped; 3 events delivered")
    assert process.wait(timeout=30) == 0
    os.close(terminal)
    assert "0 bytes behind, 3 delivered" in shown
    assert "\x1b[2K" in shown  # the line is erased before it is written again
    assert "INFO pipeline 'scripted' starts on the runner direct" in shown


def test_events_on_the_same_terminal_are_not_mixed_with_a_live_line(
    environment: dict[str, str], pipeline: Path, tmp_path: Path
) -> None:
    terminal, other_end = pty.openpty()
    process = subprocess.Popen(
        [PROGRAM, "run", pipeline.name, "--once"],
        cwd=tmp_path,
        env=environment | {"TERM": "xterm"},
        stderr=other_end,
        stdout=other_end,
    )
    os.close(other_end)
    shown = _read_until(terminal, "stopped; 3 events delivered")
    assert process.wait(timeout=30) == 0
    os.close(terminal)
    assert "\x1b[2K" not in shown


def _read_until(terminal: int, text: str) -> str:
    """What the terminal shows until `text` is there; the test's own timeout ends a wait in vain."""
    shown = ""
    while text not in shown:
        shown += os.read(terminal, 4096).decode()
    return shown


def test_nothing_is_left_registered(cdc: Callable[..., object], pipeline: Path) -> None:
    before = set(plugin_manager().get_plugins())
    cdc("run", pipeline.name, "--once")
    assert set(plugin_manager().get_plugins()) == before


def test_what_is_waited_for_is_told(
    told: RunNotices, figures: Figures, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="cdckit.progress"):
        told.activity("")
        told.activity("starting Spark")
        clock.now += 12
        assert progress_line(figures) == "starting Spark 12 s …"
        assert progress_facts(figures) == {"phase": "starting Spark", "seconds": 12}
        told.activity("")
    assert [record.getMessage() for record in caplog.records] == ["starting Spark …", "starting Spark took 12 s"]
    assert progress_line(figures).startswith("streaming")


def test_warnings_and_faults_of_threads_are_json_lines_too() -> None:
    program = """
import threading, warnings
from cdckit.cli import logs
logs.configure("json", "info")
warnings.warn("it is old")
thread = threading.Thread(target=lambda: 1 / 0, name="worker")
thread.start()
thread.join()
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    warned, failed = [json.loads(line) for line in ended.stderr.splitlines()]
    assert ("it is old" in warned["message"], warned["level"]) == (True, "warning")
    assert (failed["message"], failed["level"]) == (
        "the thread worker ended by ZeroDivisionError('division by zero')",
        "error",
    )
