"""The forecast of a pipeline that runs: its pace, its figures, its warning."""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from cdckit.api.retention import Retention
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.doctor import outlook
from cdckit.engine.metrics import forecast as forecasts
from cdckit.engine.metrics.collector import FiguresCollector
from cdckit.engine.metrics.forecast import CatchUp, Forecast, Sample, needed
from cdckit.engine.runners import forecaster
from cdckit.engine.runners.direct import DirectRunner
from cdckit.engine.runners.stop import StopSignal
from cdckit_file.file import FileSink
from doctor.conftest import Finding, NewPatient, Patient
from doctor.test_mysql import filled, setting, source
from testkit.background import repeated
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import SQLServer

WEEKS = 21 * 86_400_000
"""In milliseconds."""


def paced(*samples: tuple[float, int, float | None, int | None, float | None]) -> CatchUp:
    pace = CatchUp()
    for sample in samples:
        pace.add(Sample(*sample))
    return pace


def test_what_is_left_goes_by_how_fast_it_becomes_less() -> None:
    """In a minute it read 60 MB, and 40 MB less lie behind it: 20 MB were written meanwhile."""
    pace = paced((0, 0, 1000.0, 100_000_000, 500.0), (60, 60_000_000, 1200.0, 60_000_000, 360.0))
    assert pace.needs == pytest.approx(90)
    assert pace.bytes_per_second == 1_000_000
    assert pace.seconds_per_second == pytest.approx(200 / 60)
    assert pace.lag_growth == pytest.approx(-140 * 60)


def test_a_pipeline_that_does_not_come_closer_never_catches_up() -> None:
    pace = paced((0, 0, 1000.0, 100, 500.0), (60, 60, 1010.0, 200, 550.0))
    assert pace.needs == math.inf
    assert pace.lag_growth == pytest.approx(3000)


def test_at_the_end_nothing_is_needed_however_much_is_written() -> None:
    assert paced((0, 0, 1.0, 100, 0.4), (60, 60, 61.0, 300, 0.5)).needs == 0.5


def test_without_bytes_the_time_counts() -> None:
    assert paced((0, 0, 100.0, None, 400.0), (60, 0, 260.0, None, 300.0)).needs == pytest.approx(180)


def test_one_sample_tells_no_pace() -> None:
    assert paced((0, 0, 1.0, 100, 50.0)).needs is None
    assert CatchUp().needs is None


def test_one_that_stands_needs_what_its_last_pace_gives_less_what_is_written() -> None:
    found = Retention("binlog.1", 100.0, lag_bytes=9_000_000, lag_seconds=50.0, written=100_000.0)
    assert needed(found, 1_000_000.0, None) == pytest.approx(10)
    assert needed(found, 50_000.0, None) == math.inf
    assert needed(found, None, None) is None
    assert needed(Retention("oplog", 1.0, lag_seconds=300.0), None, 4.0) == pytest.approx(100)


@pytest.mark.parametrize(
    ("purged_in", "needs", "late"),
    [(100.0, 200.0, True), (200.0, 100.0, False), (3600.0, math.inf, True), (1e6, math.inf, False), (5.0, None, False)],
)
def test_a_forecast_survives_the_status_file(purged_in: float, needs: float | None, late: bool) -> None:
    made = Forecast(1000.0, "binlog.1", 1000.0 + purged_in, needs, "x = 1", "SET x", 3.0, 4.0, 5.0)
    assert made.too_late(1000.0) is late
    kept = json.loads(json.dumps(made.to_json(1000.0), allow_nan=False))
    assert Forecast.from_json(kept) == made
    assert (kept["purged_in_s"], kept["catches_up"]) == (round(purged_in), needs is None or math.isfinite(needs))


@contextmanager
def heard(caplog: pytest.LogCaptureFixture) -> Iterator[list[logging.LogRecord]]:
    """What is logged of forecasts meanwhile, however the command sets up logging."""
    log = logging.getLogger("cdckit.forecast")
    log.addHandler(caplog.handler)
    caplog.clear()
    try:
        yield caplog.records
    finally:
        log.removeHandler(caplog.handler)


def test_a_running_pipeline_forecasts_warns_and_shows_it(
    db_server: SQLServer,
    database: str,
    patient: NewPatient,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It works off a backlog slowly, and is told to warn of any purge within three weeks."""
    for module in (forecasts, forecaster):
        monkeypatch.setattr(module, "AT_THE_END", 0.2)
    monkeypatch.setattr(forecaster, "FIRST_SECONDS", 0.2)
    monkeypatch.setattr(forecaster, "SECONDS", 0.2)
    made = patient(
        source(db_server, database, max__batch__size=100, snapshot__mode="no_data"),
        **{"offset.flush.interval.ms": 0, "forecast.warning.ms": WEEKS},
    )
    db_server.execute(f"CREATE TABLE {database}.t (id INT AUTO_INCREMENT PRIMARY KEY, v TEXT)")
    assert made.run() == 0
    filled(db_server, database, 1000)
    time.sleep(1.5)
    write = FileSink.write

    def slowly(sink: FileSink, messages: Any) -> None:
        time.sleep(0.15)
        write(sink, messages)

    monkeypatch.setattr(FileSink, "write", slowly)
    runner = DirectRunner(load_pipeline(Path(made.file)))
    with (
        setting(db_server, binlog_expire_logs_seconds=86400),
        heard(caplog) as records,
    ):
        runner.run(once=True)
    warned = [record for record in records if record.levelname == "WARNING"]
    assert len(warned) == 1, "once while it lasts"
    assert warned[0].number == "CDC1101"  # type: ignore[attr-defined]
    assert "(binlog_expire_logs_seconds = 86400)" in warned[0].getMessage()
    assert "; SET " in warned[0].getMessage()
    forecast = runner.figures.forecast
    assert forecast is not None
    assert forecast.bytes_per_second is not None
    assert 10_000 < forecast.bytes_per_second < 5_000_000
    families = {family.name: family.samples for family in FiguresCollector(runner.figures, {}).collect()}
    assert families["cdckit_log_purge_time_seconds"][0].value == forecast.purged_at
    assert "cdckit_catch_up_seconds" in families
    kept = made.status["forecast"]
    assert kept["oldest_needed"] == forecast.oldest_needed
    assert 80_000 < kept["purged_in_s"] <= 86_400


def test_a_pipeline_at_the_end_is_not_warned_of(
    db_server: SQLServer,
    database: str,
    patient: NewPatient,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for module in (forecasts, forecaster):
        monkeypatch.setattr(module, "AT_THE_END", 3600.0)  # however long both runs take
    filled(db_server, database, 500)
    made = patient(source(db_server, database), **{"forecast.warning.ms": WEEKS})
    with (
        setting(db_server, binlog_expire_logs_seconds=86400),
        heard(caplog) as records,
    ):
        assert made.run() == 0
        filled(db_server, database, 500)
        assert made.run() == 0
    assert 80_000 < made.status["forecast"]["purged_in_s"] <= 86_400
    assert [record for record in records if record.name == "cdckit.forecast"] == []


def test_a_lag_that_grows_is_told_while_it_does(
    mysql_server: MySQLServer,
    unique_name: str,
    patient: NewPatient,
    monkeypatch: pytest.MonkeyPatch,
    afterwards: ExitStack,
) -> None:
    """More is written than a slow sink takes; then it is fast, and catches up."""
    for module in (forecasts, forecaster, outlook):
        monkeypatch.setattr(module, "AT_THE_END", 1.0)
    monkeypatch.setattr(forecaster, "FIRST_SECONDS", 0.5)
    monkeypatch.setattr(forecaster, "SECONDS", 0.5)
    mysql_server.execute(f"CREATE DATABASE {unique_name}")
    afterwards.callback(mysql_server.execute, f"DROP DATABASE {unique_name}")
    filled(mysql_server, unique_name, 500)
    made = patient(
        source(mysql_server, unique_name, max__batch__size=100, snapshot__mode="no_data"),
        **{"offset.flush.interval.ms": 0},
    )
    assert made.run() == 0
    write, slow = FileSink.write, threading.Event()
    slow.set()

    def slowly(sink: FileSink, messages: Any) -> None:
        time.sleep(0.3 if slow.is_set() else 0)
        write(sink, messages)

    monkeypatch.setattr(FileSink, "write", slowly)
    runner = DirectRunner(load_pipeline(Path(made.file)), stopping := StopSignal())
    thread = threading.Thread(target=runner.run)
    thread.start()
    try:
        with repeated(lambda: filled(mysql_server, unique_name, 500), 0.2):
            told = _until(made, lambda found: {"CDC1102", "CDC1105"} <= set(found))
        assert told["CDC1102"]["message"].startswith("the lag grows by ")
        assert told["CDC1105"]["severity"] == "warn"
        slow.clear()
        _until(made, lambda found: not {"CDC1102", "CDC1105"} & set(found))
    finally:
        stopping.stop()
        thread.join()


def _until(made: Patient, wanted: Callable[[dict[str, Finding]], bool]) -> dict[str, Finding]:
    """What the doctor finds once it finds what is wanted."""
    deadline = time.monotonic() + 90
    while not wanted(found := made.findings()):
        assert time.monotonic() < deadline, found
        time.sleep(0.5)
    return found
