"""`tail: direct`: a source that goes away as a stage ends is waited for by the next, as in the middle of the stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cdckit.engine.runners.spark import SparkRunner
from cdckit.engine.runners.stop import StopSignal
from cdckit.engine.runners.tail import TailRunner
from cdckit.errors import SourceError
from spark.hands import BACK, BACKLOG, OPTIONS
from testkit.background import repeated
from testkit.running import Pipeline, create_reader, source_of, to_file
from testkit.servers.lost_address import lost_at
from testkit.servers.mongodb import MongoReplicaSet
from testkit.servers.mysql import MySQLServer
from testkit.servers.ports import free_port
from testkit.servers.proxy import MovingAddress
from testkit.waiting import wait_for

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session"), pytest.mark.timeout(900)]


@dataclass(frozen=True)
class Line:
    """A source that a pipeline finds by an address.

    Attributes:
        address: leads to it.
        port: the server's own.
        source: the source's options.
        insert: adds a row with a key.
        again: what the log says when it is asked once more than at a start, or for the second time.
    """

    address: MovingAddress
    port: int
    source: Mapping[str, Any]
    insert: Callable[[int], object]
    again: str


@pytest.fixture
def mysql(mysql_server: MySQLServer, unique_name: str) -> Iterator[Line]:
    """MySQL."""
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}; CREATE TABLE {unique_name}.t (id INT PRIMARY KEY)")
    create_reader(mysql_server)
    with MovingAddress(mysql_server.port) as address:
        source = source_of(mysql_server, unique_name, database_port=address.port)
        yield Line(
            address,
            mysql_server.port,
            source,
            lambda key: mysql_server.execute(f"INSERT INTO t VALUES ({key})", database=unique_name),
            "trying again in 0.6 s (attempt 2)",
        )
    mysql_server.execute(f"DROP DATABASE {unique_name}")


@pytest.fixture
def mongodb(mongo: MongoReplicaSet, unique_name: str) -> Iterator[Line]:
    """MongoDB, which at a start is asked once more at the most."""
    with MovingAddress(mongo.primary().port) as address, mongo.client() as client:
        source = {
            "type": "mongodb",
            "topic.prefix": "p",
            "mongodb.connection.string": f"mongodb://127.0.0.1:{address.port}/?directConnection=true",
            "mongodb.server.selection.timeout.ms": 1000,
            "connect.max.attempts": 1,
            "connect.backoff.initial.delay.ms": 20,
            "retriable.restart.connector.wait.ms": 100,
            "database.include.list": unique_name,
        }
        yield Line(
            address,
            mongo.primary().port,
            source,
            lambda key: client[unique_name].t.insert_one({"_id": key}),
            "trying again in 0.1 s (restart 1)",
        )


@pytest.mark.parametrize("kind", ["mysql", pytest.param("mongodb", marks=pytest.mark.nightly)])
def test_a_source_that_is_away_as_another_stage_begins_is_waited_for(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """In either direction."""
    caplog.set_level("INFO")
    line: Line = request.getfixturevalue(kind)
    pipeline = to_file(tmp_path, line.source, **OPTIONS)
    keys = iter(range(10_000))

    def insert() -> None:
        line.insert(next(keys))

    insert()
    with _running(pipeline) as run:

        def await_(holds: Callable[[], bool], what: str) -> None:
            wait_for(lambda: run.done() or holds(), what)

        await_(lambda: bool(_keys(pipeline)), "the first row")
        with lost_at(line.address, BACKLOG) as lost:
            with repeated(insert, 0.002):
                await_(lost.is_set, "Spark's turn")
            await_(lambda: line.again in caplog.text, "its second attempt")
        caplog.clear()
        with lost_at(line.address, BACK) as lost:
            line.address.move(line.port)
            await_(lost.is_set, "the direct process's turn")
            await_(lambda: line.again in caplog.text, "its second attempt")
        line.address.move(line.port)
        insert()
        last = next(keys) - 1
        await_(lambda: last in _keys(pipeline), "the last row")
    assert sorted(set(_keys(pipeline))) == list(range(last + 1))


def test_at_the_first_start_it_ends_the_run(mysql: Line, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Its address may be wrong. Spark asks first, where it has a batch to finish, or the tail."""
    pipeline = to_file(tmp_path, {**mysql.source, "database.port": free_port()}, **OPTIONS)
    runners: list[type[TailRunner | SparkRunner]] = [TailRunner, SparkRunner]
    for runner in runners:
        with pytest.raises(SourceError, match=r"check database\.hostname and database\.port"):
            runner(pipeline.resolved()).run()
    assert "trying again" not in caplog.text


@contextmanager
def _running(pipeline: Pipeline) -> Iterator[Future[None]]:
    stopping = StopSignal()
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(TailRunner(pipeline.resolved(), stopping).run)
        try:
            yield run
        finally:
            stopping.stop()
        run.result()


def _keys(pipeline: Pipeline) -> list[int]:
    events = pipeline.events() if pipeline.output.exists() else []
    return [int(event["key"]["id"]) for event in events if event["value"]]
