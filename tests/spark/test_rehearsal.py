"""What is made ready beside the planner: a batch without rows, before the first one that has some."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

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
    """Runs the script to its end, and waits for what goes on beside it."""
    SparkRunner(script.pipeline(folder / "state", sink, path=folder / "out")).run(once=True)
    for thread in threading.enumerate():
        if thread.name == "cdckit-rehearsal":
            thread.join(60)


def failures(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "rehearsal" in record.getMessage()]


def test_tables_have_what_they_have_without(
    session: SparkSession, script: Script, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    script.change("c", {"id": 1, "name": "one"})
    run(script, tmp_path, "spark")
    assert rehearsal._rehearsed == {session.sparkContext.applicationId}
    assert not failures(caplog)
    assert [folder.name for folder in (tmp_path / "out").iterdir()] == ["script.shop.customers"]
    assert session.read.format("delta").load(str(tmp_path / "out" / "script.shop.customers")).count() == 1


@pytest.mark.usefixtures("session")
def test_messages_are_those_without(script: Script, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    script.change("c", {"id": 1, "name": "one"})
    run(script, tmp_path, "file")
    assert not failures(caplog)
    assert len((tmp_path / "out").read_text().splitlines()) == 1


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
