"""A stream's reader where Spark says neither from where on nor how much, as 4.0 and 4.1 ask; any release asks so of one
that takes no more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSourceStreamReader
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from cdckit.engine.runners.spark import SparkRunner
from cdckit.engine.spark.datasource import CdckitDataSource, bound_to
from cdckit.engine.spark.job import Job
from cdckit.engine.spark.ledger_inbox import LedgerInbox
from cdckit.engine.spark.notices import ProcessNotices
from cdckit.engine.spark.relay import Relay
from cdckit.engine.spark.stream_reader import LIMITED, BareReader, StreamReader
from spark.script import Script, lines
from testkit.states import offset_in


def job_of(script: Script, state: Path, *, ends: bool = False) -> Job:
    """A stream of messages that takes 20 lines a batch, and does not wait for more."""
    pipeline = script.pipeline(state, "file", path=state / "out.jsonl", cut_at=20)
    return Job(pipeline, ends=ends, wait_seconds=0.0)


def fill(script: Script, first: int, last: int) -> None:
    for number in range(first, last):
        script.change("c", {"id": number, "name": f"n{number}"})


@pytest.fixture
def reader(script: Script, tmp_path: Path) -> Iterator[BareReader]:
    made = BareReader(job_of(script, tmp_path / "state"))
    yield made
    made.stop()


def test_a_query_without_a_checkpoint_is_asked_for_its_end_first(script: Script, reader: BareReader) -> None:
    fill(script, 0, 50)
    ends = [reader.latestOffset() for _ in range(4)]
    assert ends == [{"line": 20}, {"line": 40}, {"line": 50}, {"line": 50}]
    assert reader.initialOffset() == {"line": 0}


def test_a_query_is_told_one_begin_however_late_it_asks(script: Script, reader: BareReader) -> None:
    script.row({"id": 1, "name": "row"})
    assert reader.latestOffset() == {"line": 0}
    (script.folder / "snapshot.jsonl").unlink()  # asked anew, the source would say where its log begins
    assert reader.initialOffset() == {"line": 0, "snapshot": True}


def test_a_checkpoint_says_where_to_go_on(script: Script, reader: BareReader) -> None:
    fill(script, 0, 50)
    assert reader.partitions({"line": 30}, {"line": 30}) == []
    assert reader.latestOffset() == {"line": 50}


def test_the_ledger_does_not_take_what_a_checkpoint_shows_for_the_batch(script: Script, tmp_path: Path) -> None:
    """It ends where a batch does that is to come again, and has no tasks: all of them would have told."""
    fill(script, 0, 50)
    inbox = LedgerInbox(None, lambda: pytest.fail("no task asks"), tmp_path)
    relay = Relay(ProcessNotices(), {"ledger": inbox.planned, "parallelism": lambda: 2})
    job = replace(job_of(script, tmp_path / "state"), relay=relay.address, ledger=inbox.address)
    reader = BareReader(job)
    try:
        reader.partitions({"line": 30}, {"line": 30})
        assert inbox.whole({"line": 30}) is None
        reader.partitions({"line": 20}, {"line": 30})
        assert inbox.whole({"line": 30}) is None, "no task has told"
    finally:
        reader.stop()
        relay.close()
        inbox.close()


def test_a_batch_that_is_planned_once_more_moves_nothing(script: Script, reader: BareReader) -> None:
    fill(script, 0, 50)
    first, second = reader.latestOffset(), reader.latestOffset()
    assert reader.partitions({"line": 0}, first)
    assert (second, reader.latestOffset()) == ({"line": 40}, {"line": 50})


@pytest.mark.skipif(not LIMITED, reason="Spark asks for that from 4.2 on")
def test_a_limited_stream_reports_where_the_log_ends_and_what_lies_behind_the_batch(
    script: Script, tmp_path: Path
) -> None:
    from pyspark.sql.streaming.datasource import ReadMaxBytes

    fill(script, 0, 50)
    reader = StreamReader(job_of(script, tmp_path / "state"))
    try:
        assert reader.reportLatestOffset() is None
        assert reader.latestOffset({"line": 0}, ReadMaxBytes(1)) == {"line": 20}
        assert reader.reportLatestOffset() == {"line": 50, "cdckit_rows_left": False}
        assert reader.latestOffset({"line": 40}, ReadMaxBytes(1)) == {"line": 50}
        at_end = {"line": 50, "cdckit_lag_seconds": 0.0, "cdckit_rows_left": False}
        assert reader.reportLatestOffset() == at_end
        fill(script, 50, 80)
        reader.latestOffset({"line": 50}, ReadMaxBytes(1))
        assert reader.latestOffset({"line": 80}, ReadMaxBytes(1)) == {"line": 80}
        assert reader.reportLatestOffset() == {**at_end, "line": 80, "cdckit_lag_bytes": 0}
    finally:
        reader.stop()


def test_it_ends_where_the_log_stood_at_the_start(script: Script, tmp_path: Path) -> None:
    fill(script, 0, 30)
    reader = BareReader(job_of(script, tmp_path / "state", ends=True))
    try:
        assert reader.latestOffset() == {"line": 20}
        assert reader.latestOffset() == {"line": 30}
        fill(script, 30, 60)
        assert [reader.latestOffset() for _ in range(3)] == [{"line": 30}] * 3
    finally:
        reader.stop()


class BareSource(CdckitDataSource):
    """The data source as Spark 4.0 and 4.1 know it."""

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's own name
        return BareReader(self.job)


def bare(job: Job) -> type[CdckitDataSource]:
    """The same for one job."""

    class Bound(BareSource, bound_to(job)):  # type: ignore[misc]  # made for the job
        pass

    return Bound


def started(session: SparkSession, job: Job, checkpoint: Path, sizes: list[int]) -> StreamingQuery:
    """A query that notes how many messages each batch holds."""

    def note(frame: DataFrame, _: int) -> None:
        sizes.append(frame.count())

    session.dataSource.register(bare(job))
    writer = session.readStream.format("cdckit").load().writeStream.foreachBatch(note)
    return writer.option("checkpointLocation", str(checkpoint)).start()


@pytest.mark.spark
def test_a_query_of_a_bare_reader_is_cut_and_goes_on(session: SparkSession, script: Script, tmp_path: Path) -> None:
    sizes: list[int] = []
    for last, expected in ((50, [20, 20, 10]), (75, [20, 5])):
        fill(script, last - sum(expected), last)
        query = started(session, job_of(script, tmp_path / "state", ends=True), tmp_path / "checkpoint", sizes)
        try:
            query.processAllAvailable()
        finally:
            query.stop()
        assert sizes == expected
        sizes.clear()


@pytest.mark.spark
@pytest.mark.nightly
@pytest.mark.usefixtures("session")
def test_the_runner_ends_a_query_that_spark_goes_on_with(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cdckit.engine.spark.query.LIMITED", False)
    monkeypatch.setattr("cdckit.engine.spark.query.bound_to", bare)
    out, state = tmp_path / "out.jsonl", tmp_path / "state"
    pipeline = script.pipeline(state, "file", path=out, cut_at=20)
    script.row({"id": 0, "name": "row"})
    fill(script, 1, 51)
    for last in (51, 51, 80):
        fill(script, len(lines(script.folder / "log.jsonl")) + 1, last)
        SparkRunner(pipeline).run(once=True)
        assert [line["key"]["id"] for line in lines(out)] == list(range(last))
        assert offset_in(state) == {"line": last - 1}
