"""What is made ready beside the planner: a batch without rows, before the first one that has some."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from cdckit.engine.runners.spark import SparkRunner
from cdckit.engine.spark import rehearsal
from cdckit.engine.spark.table_delivery import TableDelivery
from cdckit.errors import SinkError
from spark.script import Script

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def first_in_the_session(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Of those of other tests nothing is known."""
    monkeypatch.setattr(rehearsal, "_rehearsed", set())
    caplog.set_level(logging.DEBUG, "cdckit.runner")


def run(script: Script, folder: Path, sink: str) -> None:
    """Runs the script to its end; nothing goes on beside it then."""
    SparkRunner(script.pipeline(folder / "state", sink, path=folder / "out")).run(once=True)
    assert "cdckit-rehearsal" not in {thread.name for thread in threading.enumerate()}


@pytest.fixture
def whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rehearsal that is slower than its pipeline is waited for."""
    close = rehearsal.Rehearsal.close

    def wait(done: rehearsal.Rehearsal) -> None:
        assert done._thread is not None
        done._thread.join(60)
        close(done)

    monkeypatch.setattr(rehearsal.Rehearsal, "close", wait)


def failures(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "rehearsal" in record.getMessage()]


@pytest.mark.usefixtures("whole")
def test_tables_have_what_they_have_without(
    session: SparkSession, script: Script, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    script.change("c", {"id": 1, "name": "one"})
    run(script, tmp_path, "spark")
    assert rehearsal._rehearsed == {session.sparkContext.applicationId}
    assert not failures(caplog)
    assert [folder.name for folder in (tmp_path / "out").iterdir()] == ["script.shop.customers"]
    assert session.read.format("delta").load(str(tmp_path / "out" / "script.shop.customers")).count() == 1


@pytest.mark.usefixtures("session", "whole")
def test_messages_are_those_without(script: Script, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    script.change("c", {"id": 1, "name": "one"})
    run(script, tmp_path, "file")
    assert rehearsal._rehearsed
    assert not failures(caplog)
    assert len((tmp_path / "out").read_text().splitlines()) == 1


@pytest.mark.usefixtures("whole")
def test_one_that_fails_says_so_in_the_log_alone(
    session: SparkSession,
    script: Script,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(delivery: TableDelivery, frame: DataFrame) -> None:
        raise SinkError("nothing can be written")

    monkeypatch.setattr(TableDelivery, "rehearse", fail)
    script.change("c", {"id": 1, "name": "one"})
    run(script, tmp_path, "spark")
    assert [text.rpartition(": ")[2] for text in failures(caplog)] == ["nothing can be written"]
    assert session.read.format("delta").load(str(tmp_path / "out" / "script.shop.customers")).count() == 1


def test_one_that_takes_long_ends_with_its_pipeline(
    session: SparkSession, script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[str] = []

    def last(delivery: TableDelivery, frame: DataFrame) -> None:
        def asleep(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            time.sleep(300)
            yield from batches

        try:
            session.range(0, 1, 1, 1).mapInArrow(asleep, "id long").collect()
        except Exception as error:
            ended.append(str(error))
            raise

    monkeypatch.setattr(TableDelivery, "rehearse", last)
    script.change("c", {"id": 1, "name": "one"})
    run(script, tmp_path, "spark")
    assert len(ended) == 1
    assert "cancelled" in ended[0]
