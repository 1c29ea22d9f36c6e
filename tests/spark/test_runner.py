"""The Spark runner with the file sink: what arrives, in which order, and from where it goes on."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import ClassVar

import pytest
from pyspark.sql import SparkSession

from cdckit.api.hookspecs import hookimpl
from cdckit.api.plugins import plugin_manager
from cdckit.cli.held import held
from cdckit.engine.runners.direct import DirectRunner
from cdckit.engine.runners.spark import SparkRunner
from cdckit.engine.runners.stop import StopSignal
from cdckit.errors import ConfigError, DecodeError, RetriableSourceError, SourceError
from spark.script import Script, lines
from testkit.states import offset_in

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

SECONDS = 120.0
"""So long a query is waited for that is to come somewhere, or to its end: on a busy machine each step takes seconds."""


def ids(path: Path) -> list[int]:
    return [line["key"]["id"] for line in lines(path)]


def fill(script: Script, first: int, last: int) -> None:
    for number in range(first, last):
        script.change("c", {"id": number, "name": f"n{number}"})


def test_once_delivers_the_log_in_order_and_saves_its_end(script: Script, tmp_path: Path) -> None:
    fill(script, 0, 500)
    out, state = tmp_path / "out.jsonl", tmp_path / "state"
    SparkRunner(script.pipeline(state, "file", path=out)).run(once=True)
    assert ids(out) == list(range(500))
    assert offset_in(state) == {"line": 500}
    SparkRunner(script.pipeline(state, "file", path=out)).run(once=True)
    assert len(ids(out)) == 500


def test_snapshot_comes_before_the_log(script: Script, tmp_path: Path) -> None:
    for number in range(100):
        script.row({"id": number, "name": "row"})
    fill(script, 100, 120)
    out = tmp_path / "out.jsonl"
    SparkRunner(script.pipeline(tmp_path / "state", "file", path=out)).run(once=True)
    assert sorted(ids(out)[:100]) == list(range(100))
    assert ids(out)[100:] == list(range(100, 120))


def test_executors_that_come_are_planned_for(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    present = iter(range(1, 9))
    monkeypatch.setattr("cdckit.engine.runners.spark.parallelism_of", lambda _session: next(present))
    fill(script, 0, 24)
    caplog.set_level(logging.INFO)
    SparkRunner(script.pipeline(tmp_path / "state", "file", path=tmp_path / "out.jsonl", cut_at=12)).run(once=True)
    read = [record.getMessage() for record in caplog.records if record.name == "cdckit.scripted"]
    sizes = [int(text.split()[1]) for text in read]
    parts = list(accumulate(sizes)).index(12) + 1
    assert 1 < parts < len(sizes) - parts
    assert sum(sizes) == 24


def test_a_backlog_is_cut(script: Script, tmp_path: Path) -> None:
    fill(script, 0, 50)
    out, state = tmp_path / "out.jsonl", tmp_path / "state"
    SparkRunner(script.pipeline(state, "file", path=out, cut_at=20)).run(once=True)
    assert ids(out) == list(range(50))
    (checkpoint,) = (state / "spark").iterdir()
    assert {"0", "1", "2"} <= {path.name for path in (checkpoint / "commits").iterdir()}


def test_runners_take_turns_on_one_state(script: Script, tmp_path: Path) -> None:
    """Wherever it is: a checkpoint's address is a path for one and nearly a URL for the other."""
    out, state = tmp_path / "out.jsonl", tmp_path / "100 %20 état #1?"
    pipeline = script.pipeline(state, "file", path=out)
    fill(script, 0, 10)
    runners: list[type[DirectRunner | SparkRunner]] = [DirectRunner, SparkRunner, DirectRunner, SparkRunner]
    for turn, runner in enumerate(runners, 1):
        runner(pipeline).run(once=True)
        assert ids(out) == list(range(10 * turn))
        fill(script, 10 * turn, 10 * turn + 10)


def test_follows_the_log_until_stopped(script: Script, tmp_path: Path) -> None:
    out, state, stopping = tmp_path / "out.jsonl", tmp_path / "state", StopSignal()
    runner = SparkRunner(script.pipeline(state, "file", path=out), stopping)
    thread = threading.Thread(target=runner.run)
    thread.start()
    for turn in range(1, 4):
        fill(script, 10 * turn - 10, 10 * turn)
        wait_for(partial(has_lines, out, 10 * turn))
    stopping.stop()
    thread.join(SECONDS)
    assert not thread.is_alive()
    assert ids(out) == list(range(30))
    assert offset_in(state) == {"line": 30}


@pytest.mark.parametrize(
    ("fault", "error", "message"),
    [
        ("decode", DecodeError, "line 3: cannot be decoded"),
        ("source", SourceError, "line 3: the source refuses"),
    ],
)
def test_a_workers_error_keeps_its_class(
    script: Script, tmp_path: Path, fault: str, error: type[Exception], message: str
) -> None:
    fill(script, 0, 3)
    script.fault(fault)
    with pytest.raises(error) as raised:
        SparkRunner(script.pipeline(tmp_path / "state", "file", path=tmp_path / "out")).run(once=True)
    assert str(raised.value) == message


def test_a_source_that_was_away_is_read_again(script: Script, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    fill(script, 0, 3)
    script.fault("away")
    out, stopping = tmp_path / "out.jsonl", StopSignal()
    runner = SparkRunner(script.pipeline(tmp_path / "state", "file", path=out), stopping)
    thread = threading.Thread(target=runner.run)
    thread.start()
    wait_for(lambda: "the connection is gone; trying again" in caplog.text)
    script.repair()
    fill(script, 3, 5)
    wait_for(lambda: ids(out)[-2:] == [3, 4])
    stopping.stop()
    thread.join(SECONDS)
    assert set(ids(out)) == set(range(5))


def test_a_source_that_is_away_at_the_start_ends_the_run(script: Script, tmp_path: Path) -> None:
    (script.folder / "away").touch()
    with pytest.raises(RetriableSourceError, match=r"^the source is away$"):
        SparkRunner(script.pipeline(tmp_path / "state", "file", path=tmp_path / "out")).run(once=True)


@pytest.mark.parametrize("waited_for", [True, False])
def test_a_source_that_was_away_and_refuses_ends_the_run(
    script: Script, tmp_path: Path, caplog: pytest.LogCaptureFixture, waited_for: bool
) -> None:
    """As a place in its log that is gone by then, whether it is waited for at the start or not."""
    fill(script, 0, 3)
    script.fault("away")
    stopping = StopSignal()

    def refuse() -> None:
        wait_for(lambda: "trying again in 0.5 s" in caplog.text)
        script.repair()
        script.fault("source")
        wait_for(lambda: "the source refuses; trying again" in caplog.text or stopping())
        stopping.stop()

    refusing = threading.Thread(target=refuse)
    refusing.start()
    pipeline = script.pipeline(tmp_path / "state", "file", waited_for=waited_for, path=tmp_path / "out")
    try:
        with pytest.raises(SourceError, match="the source refuses"):
            SparkRunner(pipeline, stopping).run()
    finally:
        stopping.stop()
        refusing.join()


def test_an_idle_source_that_was_reached_is_waited_for_without_end(
    script: Script, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One that is never reached is given up after a round of attempts, since its address may be wrong."""
    away, out, stopping = script.folder / "away", tmp_path / "out.jsonl", StopSignal()
    connected = Connected()
    plugin_manager().register(connected, "connected")
    pipeline = script.pipeline(tmp_path / "state", "file", waited_for=True, attempts=1, path=out)
    fill(script, 0, 1)
    SparkRunner(pipeline).run(once=True)  # the next query commits nothing until something comes
    connected.told.clear()
    thread = threading.Thread(target=SparkRunner(pipeline, stopping).run)
    thread.start()
    try:
        wait_for(lambda: connected.told == [True])
        away.touch()
        wait_for(lambda: "(restart 2)" in caplog.text or not thread.is_alive())
        fill(script, 1, 2)
        away.unlink()
        wait_for(lambda: ids(out) == [0, 1] or not thread.is_alive())
    finally:
        stopping.stop()
        thread.join(SECONDS)
        plugin_manager().unregister(name="connected")
    assert ids(out) == [0, 1]


def test_a_command_while_the_source_is_away_leaves_the_run_its_place(
    script: Script, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Such as `cdc resnapshot`: no planner holds the state then."""
    away, out, stopping = script.folder / "away", tmp_path / "out.jsonl", StopSignal()
    pipeline = script.pipeline(tmp_path / "state", "file", waited_for=True, path=out)
    fill(script, 0, 2)
    thread = threading.Thread(target=SparkRunner(pipeline, stopping).run)
    thread.start()
    try:
        wait_for(partial(has_lines, out, 2))
        away.touch()
        wait_for(lambda: "trying again" in caplog.text)
        with held(pipeline):
            fill(script, 2, 3)
            away.unlink()
            time.sleep(2)  # the planner waits for the command's end
        wait_for(partial(has_lines, out, 3))
    finally:
        stopping.stop()
        thread.join(SECONDS)
    assert offset_in(tmp_path / "state") == {"line": 3}
    SparkRunner(pipeline).run(once=True)
    assert ids(out) == [0, 1, 2]


class Connected:
    """Hears whether the source is there."""

    def __init__(self) -> None:
        self.told: list[bool] = []

    @hookimpl
    def cdckit_connection(self, connected: bool) -> None:
        self.told.append(connected)


def has_lines(path: Path, count: int) -> bool:
    return len(lines(path)) == count


def wait_for(condition: Callable[[], bool], seconds: float = SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def test_needs_java(script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, session: SparkSession) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ConfigError, match="Java 17"):
        SparkRunner(script.pipeline(tmp_path / "state", "file", path=tmp_path / "out")).run(once=True)


def test_notices_and_logs_of_other_processes_reach_the_driver(
    script: Script, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Listener:
        heard: ClassVar[list[tuple[str, str]]] = []

        @hookimpl
        def cdckit_schema_changed(self, position: str, ddl: str) -> None:
            self.heard.append((position, ddl))

    script.schema_change("ALTER TABLE customers ADD x INT")
    fill(script, 0, 1)
    plugin_manager().register(Listener(), "listener")
    try:
        with caplog.at_level(logging.INFO):
            SparkRunner(script.pipeline(tmp_path / "state", "file", path=tmp_path / "out")).run(once=True)
    finally:
        plugin_manager().unregister(name="listener")
    assert Listener.heard == [("s000000000000", "ALTER TABLE customers ADD x INT")]
    assert "read 1 lines" in caplog.messages
