"""Tables read again on Spark, into each kind of sink: their rows come anew, the other tables go on where they are."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pymongo.database import Database
from pyspark.sql import SparkSession

from cdckit.cli.main import call
from cdckit.connector.resnapshot import KEPT_AS
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from cdckit.engine.runners.spark import SparkRunner
from cdckit.errors import SinkError
from cdckit.tables.delta import target as driver_target
from cdckit_spark import targets as spark_targets
from kafka.reading import read_topic
from spark.lake import at_source, mirrored
from testkit.running import Pipeline, source_of
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mongodb import MongoReplicaSet
from testkit.servers.mysql import MySQLServer
from testkit.states import kept_in

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


def _run(pipeline: Pipeline) -> None:
    SparkRunner(load_pipeline(pipeline.written(), runner="spark")).run(once=True)


def _ask(pipeline: Pipeline, *tables: str) -> None:
    named = [word for table in tables for word in ("--table", table)]
    assert call(["resnapshot", str(pipeline.written()), *named]) == 0


def _events(values: list[dict[str, Any]]) -> Counter[tuple[str, str, int]]:
    return Counter((value["source"]["table"], value["op"], value["after"]["id"]) for value in values)


def _dying(replace: Callable[..., None]) -> Callable[..., None]:
    def dies(*arguments: Any, **named: Any) -> None:
        replace(*arguments, **named)
        raise SinkError("it died")

    return dies


def test_a_mirror_is_built_anew(
    session: SparkSession, mysql_server: MySQLServer, shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the pipeline dies when the table is written and the batch not noted; the other is merged into."""
    lake = tmp_path / "lake"
    pipeline = Pipeline(tmp_path, source_of(mysql_server, shop), {"type": "spark", "mode": "mirror", "path": str(lake)})
    _run(pipeline)
    session.sql(f"INSERT INTO delta.`{lake}/p.{shop}.a` VALUES (99, 'stray', '')")
    session.sql(f"DELETE FROM delta.`{lake}/p.{shop}.a` WHERE id = 1")
    _ask(pipeline, f"{shop}.a")
    mysql_server.run_sql("INSERT INTO a VALUES (3, 'z'); INSERT INTO b VALUES (2, 'y');", database=shop)
    for target in (spark_targets.DeltaTarget, driver_target.DeltaTarget):  # whichever writes it
        monkeypatch.setattr(target, "replace", _dying(target.replace))
    with pytest.raises(SinkError, match="it died"):
        _run(pipeline)
    monkeypatch.undo()
    assert kept_in(pipeline.state, KEPT_AS) is not None
    mysql_server.run_sql("INSERT INTO a VALUES (4, 'later');", database=shop)
    _run(pipeline)
    for table in ("a", "b"):
        assert mirrored(session, lake, f"p.{shop}.{table}") == at_source(mysql_server, f"{shop}.{table}")
    assert kept_in(pipeline.state, KEPT_AS) is None
    done = [row.operation for row in session.sql(f"DESCRIBE HISTORY delta.`{lake}/p.{shop}.b`").collect()]
    assert done.count("WRITE") == 1, "the other table was written whole once, by the first snapshot"


def test_a_changelog_gets_the_rows_again(
    session: SparkSession, mysql_server: MySQLServer, shop: str, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    pipeline = Pipeline(tmp_path, source_of(mysql_server, shop), {"type": "spark", "path": str(lake)})
    _run(pipeline)
    _ask(pipeline, f"{shop}.a")
    mysql_server.run_sql("UPDATE a SET v = 'new' WHERE id = 1; INSERT INTO b VALUES (2, 'y');", database=shop)
    _run(pipeline)
    _run(pipeline)
    read = {name: session.read.format("delta").load(str(lake / f"p.{shop}.{name}")) for name in ("a", "b")}
    told = {
        name: [tuple(row) for row in frame.orderBy("__position").select("__op", "id", "v").collect()]
        for name, frame in read.items()
    }
    again = [("u", 1, "new"), ("t", None, None), ("r", 1, "new"), ("r", 2, "y")]
    assert told == {"a": [("r", 1, "x"), ("r", 2, "y"), *again], "b": [("r", 1, "x"), ("c", 2, "y")]}


@pytest.mark.parametrize("begun_by", [DirectRunner, SparkRunner])
def test_the_file_sink(mysql_server: MySQLServer, shop: str, tmp_path: Path, begun_by: Any) -> None:
    """Asked for behind a run of either runner."""
    pipeline = Pipeline(
        tmp_path,
        source_of(mysql_server, shop),
        {"type": "file", "path": str(tmp_path / "out.jsonl")},
        {"serializer": {"schemas.enable": False}},
    )
    begun_by(load_pipeline(pipeline.written(), runner=begun_by.name)).run(once=True)
    pipeline.output.unlink()
    _ask(pipeline, f"{shop}.a")
    mysql_server.run_sql("INSERT INTO a VALUES (3, 'z'); INSERT INTO b VALUES (2, 'y');", database=shop)
    _run(pipeline)
    values = [event["value"] for event in pipeline.events()]
    assert _events(values) == {
        ("a", "c", 3): 1, ("b", "c", 2): 1, ("a", "r", 1): 1, ("a", "r", 2): 1, ("a", "r", 3): 1,
    }  # fmt: skip
    assert [value["op"] for value in values] == ["c", "c", "r", "r", "r"]


@pytest.mark.parametrize("runner", [DirectRunner, SparkRunner])
def test_kafka(mysql_server: MySQLServer, kafka_broker: KafkaBroker, shop: str, tmp_path: Path, runner: Any) -> None:
    source = source_of(mysql_server, shop, topic_prefix=shop)
    sink = {"type": "kafka", "bootstrap.servers": kafka_broker.bootstrap, "topic.creation.default.partitions": 1}
    pipeline = Pipeline(tmp_path, source, sink, {"serializer": {"schemas.enable": False}})
    once = load_pipeline(pipeline.written(), runner=runner.name)
    runner(once).run(once=True)
    _ask(pipeline, f"{shop}.a")
    mysql_server.run_sql("DELETE FROM a WHERE id = 2; INSERT INTO b VALUES (2, 'y');", database=shop)
    runner(once).run(once=True)
    told = {
        name: [
            json.loads(one.value)["op"]
            for one in read_topic(kafka_broker.bootstrap, f"{shop}.{shop}.{name}")
            if one.value
        ]
        for name in ("a", "b")
    }
    assert told == {"a": ["r", "r", "d", "r"], "b": ["r", "c"]}


@pytest.fixture
def documents(session: SparkSession, mongo: MongoReplicaSet, unique_name: str) -> Iterator[Database[dict[str, Any]]]:
    """A database with two collections, dropped after the test."""
    with mongo.client() as client:
        client[unique_name].a.insert_many([{"_id": 1, "v": "x"}, {"_id": 2, "v": "y"}])
        client[unique_name].b.insert_one({"_id": 1, "v": "x"})
        yield client[unique_name]
        client.drop_database(unique_name)


@pytest.mark.parametrize("mode", ["mirror", pytest.param("changelog", marks=pytest.mark.nightly)])
def test_collections(
    session: SparkSession, mongo: MongoReplicaSet, documents: Database[dict[str, Any]], tmp_path: Path, mode: str
) -> None:
    source = {
        "type": "mongodb",
        "topic.prefix": "p",
        "mongodb.connection.string": mongo.uri,
        "database.include.list": documents.name,
    }
    lake = tmp_path / "lake"
    sink = {"type": "spark", "mode": mode, "path": str(lake), "document.columns": "v string"}
    pipeline = Pipeline(tmp_path, source, sink)
    _run(pipeline)
    place = f"delta.`{lake}/p.{documents.name}.a`"
    if mode == "mirror":
        session.sql(f"INSERT INTO {place} VALUES ('99', 'stray', '')")
    _ask(pipeline, f"{documents.name}.a")
    documents.a.delete_one({"_id": 2})
    documents.b.insert_one({"_id": 2, "v": "y"})
    _run(pipeline)
    rows = [(row.id, row.v) for row in session.sql(f"SELECT id, v FROM {place} ORDER BY id, v").collect()]
    others = session.sql(f"SELECT id FROM delta.`{lake}/p.{documents.name}.b`").count()
    if mode == "mirror":
        assert rows == [("1", "x")]
    else:
        assert [row[0] for row in rows] == [None, "1", "1", "2", "2"], "the row `t` before those that are read again"
    assert others == 2
    assert kept_in(pipeline.state, KEPT_AS) is None


@pytest.mark.nightly  # how it is planned: tests/mysql/test_shown_definitions.py
def test_the_servers_definition_is_taken(
    session: SparkSession, mysql_server: MySQLServer, shop: str, tmp_path: Path
) -> None:
    """Of a table that a session has altered without a word in the log."""
    lake = tmp_path / "lake"
    pipeline = Pipeline(tmp_path, source_of(mysql_server, shop), {"type": "spark", "mode": "mirror", "path": str(lake)})
    _run(pipeline)
    mysql_server.run_sql("SET sql_log_bin = 0; ALTER TABLE a ADD later INT DEFAULT 7;", database=shop)
    _ask(pipeline, f"{shop}.a")
    _run(pipeline)
    mysql_server.run_sql("INSERT INTO a SET id = 3, later = 8;", database=shop)
    _run(pipeline)
    rows = session.sql(f"SELECT id, later FROM delta.`{lake}/p.{shop}.a`").collect()
    assert {tuple(row) for row in rows} == set(mysql_server.execute(f"SELECT id, later FROM {shop}.a"))
