"""Streams and DataFrames that Spark itself has written to Kafka by the data source; the docs' examples among them."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, functions as f
from pyspark.sql.streaming.query import StreamingQuery

from cdckit.engine.spark.datasource import bound_to
from cdckit.engine.spark.job import Job
from cdckit.spark import CdckitDataSource
from kafka.reading import read_topic
from spark.own_rows import own_options
from spark.pages import examples_of
from spark.script import Script
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql import MySQLServer

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


def read(session: SparkSession, script: Script, state: Path) -> DataFrame:
    """A stream of a script's messages, cut into several splits a batch."""
    pipeline = script.pipeline(state, "file", path=state / "out.jsonl", cut_at=300)
    session.dataSource.register(bound_to(Job(pipeline, ends=True, wait_seconds=0.0, parallelism=4)))
    return session.readStream.format("cdckit").load()


def write(frame: DataFrame, broker: KafkaBroker, checkpoint: Path, **more: str) -> StreamingQuery:
    """A query to Kafka, at its source's end."""
    options = {"sink.bootstrap.servers": broker.bootstrap, "checkpointLocation": str(checkpoint), **more}
    query = frame.writeStream.format("cdckit").options(**options).start()
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    return query


def _write_from_tasks(frame: DataFrame, broker: KafkaBroker, checkpoint: Path, **more: str) -> None:
    """Batch by batch: Spark does not sort streams."""
    options = {"sink.bootstrap.servers": broker.bootstrap, "writer": "tasks", **more}

    def copied(rows: DataFrame, _: int) -> None:
        shares = rows.repartition(3, "key").sortWithinPartitions("position")
        shares.write.format("cdckit").options(**options).mode("append").save()

    query = frame.writeStream.foreachBatch(copied).option("checkpointLocation", str(checkpoint)).start()
    try:
        query.processAllAvailable()
    finally:
        query.stop()


def test_tasks_do_not_write_a_stream(
    session: SparkSession, kafka_broker: KafkaBroker, script: Script, tmp_path: Path
) -> None:
    frame = read(session, script, tmp_path / "state")
    with pytest.raises(PySparkException, match="writer: 'tasks' cannot keep the order of a stream"):
        write(frame, kafka_broker, tmp_path / "checkpoint", writer="tasks")


def once(name: str) -> dict[str, str]:
    more = {"sink.delivery.guarantee": "exactly-once", "sink.topic.creation.default.replication.factor": "1"}
    return {"name": name, **more}


@pytest.mark.parametrize("shuffled", [False, True])
def test_each_keys_order_holds_though_splits_are_read_together(
    session: SparkSession, kafka_broker: KafkaBroker, script: Script, tmp_path: Path, unique_name: str, shuffled: bool
) -> None:
    keys, rounds = 7, 60
    for number in range(keys * rounds):
        script.change("u", {"id": number % keys, "name": str(number // keys)}, table=unique_name)
    frame = read(session, script, tmp_path / "state")
    more = {"sink.topic.creation.default.partitions": "3"}
    if shuffled:
        _write_from_tasks(frame, kafka_broker, tmp_path / "checkpoint", **more)
    else:
        write(frame, kafka_broker, tmp_path / "checkpoint", **more)
    names = defaultdict(list)
    for record in read_topic(kafka_broker.bootstrap, f"script.shop.{unique_name}"):
        names[json.loads(record.key or b"")["id"]].append(json.loads(record.value or b"")["after"]["name"])
    assert names == {key: [str(turn) for turn in range(rounds)] for key in range(keys)}


def test_a_batch_that_spark_repeats_is_there_once(
    session: SparkSession, kafka_broker: KafkaBroker, script: Script, tmp_path: Path, unique_name: str
) -> None:
    """A driver that dies behind its last commit, before Spark has noted the batch."""
    checkpoint = tmp_path / "checkpoint"
    for first, last in ((0, 400), (400, 500)):
        for number in range(first, last):
            script.change("c", {"id": number, "name": "n"}, table=unique_name)
        write(read(session, script, tmp_path / "state"), kafka_broker, checkpoint, **once(unique_name))
        found = [
            json.loads(r.key or b"")["id"] for r in read_topic(kafka_broker.bootstrap, f"script.shop.{unique_name}")
        ]
        assert found == [*range(last)]
        newest = max(int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdecimal())
        for name in (str(newest), f".{newest}.crc"):
            (checkpoint / "commits" / name).unlink(missing_ok=True)
    assert newest > 1


def test_a_dataframe_of_ones_own_is_written(session: SparkSession, kafka_broker: KafkaBroker, unique_name: str) -> None:
    session.dataSource.register(CdckitDataSource)
    frame = session.range(300).selectExpr("cast(id % 5 as string) as key", "cast(id as string) as value")
    writer = frame.write.format("cdckit").option("sink.bootstrap.servers", kafka_broker.bootstrap)
    writer.option("topic", unique_name).mode("append").save()
    found = [int(record.value or b"") for record in read_topic(kafka_broker.bootstrap, unique_name)]
    assert found == [*range(300)]


def test_what_is_wrong_ends_the_query_by_name_and_without_secrets(session: SparkSession, tmp_path: Path) -> None:
    session.dataSource.register(CdckitDataSource)
    frame = session.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
    options = {"sink.bootstrap.servers": "b:1", "sink.kafka.sasl.password": "hidden", "sink.kafka.acks": "1"}
    writer = (
        frame.selectExpr("cast(value as string) as value", "'t' as topic")
        .writeStream.format("cdckit")
        .options(**options)
    )
    query = writer.option("checkpointLocation", str(tmp_path / "c")).start()
    with pytest.raises(Exception, match=r"sink\.kafka: 'acks' is the sink's own option") as ended:
        query.processAllAvailable()
    assert "hidden" not in str(ended.value)
    assert "hidden" not in str(query.exception())


@pytest.mark.usefixtures("told_plans")
def test_variables_keep_secrets_out_of_what_spark_shows(
    session: SparkSession, kafka_broker: KafkaBroker, script: Script, tmp_path: Path, unique_name: str
) -> None:
    script.change("c", {"id": 1, "name": "n"}, table=unique_name)
    before = {one.executionId() for one in _executions(session)}
    frame = read(session, script, tmp_path / "state")
    query = write(frame, kafka_broker, tmp_path / "checkpoint", **{"sink.kafka.sasl.password": "${PATH}"})
    told = [_shown(one) for one in _executions(session) if one.executionId() not in before]
    shown = [*told, str(query.recentProgress)]
    assert len(shown) > 1
    assert [text for text in shown if os.environ["PATH"] in text] == []


def _executions(session: SparkSession) -> list[Any]:
    """Those that the UI shows; it forgets the oldest ones."""
    store: Any = session._jsparkSession.sharedState().statusStore()
    found = store.executionsList()
    return [found.apply(at) for at in range(found.size())]


def _shown(one: Any) -> str:
    """What the UI shows of an execution."""
    plan = one.physicalPlanDescription()
    assert plan
    return f"{one.description()} {one.details()} {plan} {one.modifiedConfigs().toString()}"


def test_the_examples_of_the_docs(
    session: SparkSession, mysql_server: MySQLServer, kafka_broker: KafkaBroker, shop: str, tmp_path: Path
) -> None:
    names: dict[str, Any] = {"spark": session, "f": f}
    session.dataSource.register(CdckitDataSource)
    for name, more in (("changes", {}), ("orders", {"table": f"{shop}.a"})):
        options = own_options(mysql_server, shop, tmp_path / name, endAtLogEnd="true", **more)
        names[name] = session.readStream.format("cdckit").options(**options).load()
    told = {
        "shop.shop.orders": f"{shop}.{shop}.a", "s3a://lake": str(tmp_path), "broker:9092": kafka_broker.bootstrap,
        "${KAFKA_PASSWORD}": "${HOME}", "orders.copied": f"{shop}.copied", "orders.rows": f"{shop}.rows",
        '"copied"': f'"{shop}"', "price": "v",
    }  # fmt: skip
    for example in examples_of("Messages to Kafka", told):
        exec(compile(example, "docs/spark-jobs.md", "exec"), names)
        names["query"].processAllAvailable()
        names["query"].stop()
    found = read_topic(kafka_broker.bootstrap, f"{shop}.copied")
    assert sorted(json.loads(record.value or b"")["payload"]["after"]["id"] for record in found) == [1, 2]
    told_rows = read_topic(kafka_broker.bootstrap, f"{shop}.rows")
    assert sorted((record.key, record.value) for record in told_rows) == [
        (b'{"id":1}', b'{"id":1,"v":"x"}'), (b'{"id":2}', b'{"id":2,"v":"y"}'),
    ]  # fmt: skip
