"""Where a pipeline is: figures from notices, a live line on a terminal, log lines elsewhere."""

from __future__ import annotations

import json
import logging
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cdckit.cli.meter import Meter, size
from cdckit.cli.progress import ProgressPlugin
from cdckit.connector.durations import duration

PROGRAM = Path(sys.executable).parent / "cdc"


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def test_a_snapshot_has_rows_rate_and_time_left() -> None:
    clock = Clock()
    meter = Meter(clock)
    meter.snapshot("shop.orders", 0, 500_000, finished=False)
    clock.now = 2
    meter.snapshot("shop.orders", 100_000, 500_000, finished=False)
    assert meter.line() == "snapshot of shop.orders: 100,000 of about 500,000 rows, 50,000 rows/s, 8 s left"
    assert meter.facts() == {
        "phase": "snapshot", "table": "shop.orders", "rows": 100_000, "estimate": 500_000,
        "rows_per_second": 50_000, "seconds_left": 8,
    }  # fmt: skip
    meter.snapshot("shop.users", 10, None, finished=False)
    clock.now = 3
    assert meter.line() == "snapshot of shop.users (and 1 more): 10 rows"
    meter.snapshot("shop.orders", 150_000, 500_000, finished=False)
    assert meter.line() == (
        "snapshot of shop.orders (and 1 more): 150,000 of about 500,000 rows, 50,000 rows/s, 7 s left"
    )
    meter.snapshot("shop.orders", 500_000, 500_000, finished=True)
    assert meter.line() == "snapshot of shop.users: 10 rows"
    meter.snapshot("shop.users", 10, None, finished=True)
    assert meter.line() == "streaming: 0 events/s, 0 delivered"


def test_an_estimate_that_was_too_low_is_not_shown_any_more() -> None:
    clock = Clock()
    meter = Meter(clock)
    meter.snapshot("shop.orders", 700, 42, finished=False)
    clock.now = 2
    meter.snapshot("shop.orders", 30_700, 42, finished=False)
    assert meter.line() == "snapshot of shop.orders: 30,700 rows, 15,000 rows/s"
    assert meter.facts()["seconds_left"] is None


def test_streaming_has_a_rate_over_the_last_seconds_and_the_lag() -> None:
    clock, wall = Clock(), Clock(1000.0)
    meter = Meter(clock, wall)
    clock.now = 5
    meter.committed(500, log_time_ms=998_500, lag_bytes=2_500_000)
    assert meter.line() == "streaming: 100 events/s, 1.5 s and 2.5 MB behind, 500 delivered"
    clock.now = 12
    meter.committed(100, log_time_ms=999_900, lag_bytes=None)
    assert meter.line() == "streaming: 60 events/s, 0.1 s behind, 600 delivered"
    clock.now = 100
    assert meter.events_per_second() == 0


@pytest.mark.parametrize(("records", "lag_bytes"), [(0, None), (5, 0)])
def test_at_the_logs_end_there_is_no_lag_however_old_the_last_change(records: int, lag_bytes: int | None) -> None:
    meter = Meter(Clock(), Clock(1000.0))
    meter.committed(records, log_time_ms=1, lag_bytes=lag_bytes)
    assert meter.facts()["lag_seconds"] == 0


@pytest.mark.parametrize(("seconds", "text"), [(0, "0 s"), (59, "59 s"), (125, "2 min 05 s"), (11_220, "3 h 07 min")])
def test_durations_are_short(seconds: int, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 bytes"), (999, "999 bytes"), (1400, "1.4 kB"), (3.2e9, "3.2 GB"), (7e13, "70.0 TB")]
)
def test_sizes_are_short(number: float, text: str) -> None:
    assert size(number) == text


def test_log_lines_come_now_and_then_and_for_milestones(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    plugin = ProgressPlugin(Meter(clock, Clock(1000.0)), 10, clock)
    with caplog.at_level(logging.INFO, logger="cdckit.progress"):
        plugin.cdckit_started("inv", "direct", {"line": 1})
        for clock.now in (1, 9, 11, 12):
            plugin.cdckit_batch_committed(6, log_time_ms=None, lag_bytes=0)
        plugin.cdckit_snapshot_progress("db.t", 24, None, finished=True)
        plugin.cdckit_schema_changed("p1", "ALTER TABLE t", ["db.t"])
        plugin.cdckit_stopped("inv", None)
    assert [record.getMessage() for record in caplog.records] == [
        "pipeline 'inv' starts on the runner direct; its offset is saved",
        "streaming: 2 events/s, 0.0 s and 0 bytes behind, 18 delivered",
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
    from cdckit.api.plugins import plugin_manager

    before = set(plugin_manager().get_plugins())
    cdc("run", pipeline.name, "--once")
    assert set(plugin_manager().get_plugins()) == before


def test_what_is_waited_for_is_told(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    plugin = ProgressPlugin(Meter(clock, Clock(1000.0)), 10, clock)
    with caplog.at_level(logging.INFO, logger="cdckit.progress"):
        plugin.cdckit_activity("")
        plugin.cdckit_activity("starting Spark")
        clock.now = 12
        assert plugin.meter.line() == "starting Spark 12 s …"
        assert plugin.meter.facts() == {"phase": "starting Spark", "seconds": 12}
        plugin.cdckit_activity("")
    assert [record.getMessage() for record in caplog.records] == ["starting Spark …", "starting Spark took 12 s"]
    assert plugin.meter.line().startswith("streaming")


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
