"""On Spark a record that cannot be delivered holds up nobody else's: tasks hand it to the driver, which keeps it."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cdckit.cli.held import held
from cdckit.engine.config.error_handling import ErrorHandling
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.config.quarantine_topic import QuarantineTopic
from cdckit.engine.quarantine.places import records_kept
from cdckit.engine.quarantine.replay import replay
from cdckit.engine.quarantine.store import Quarantined, kept_records
from cdckit.engine.runners.spark import SparkRunner
from cdckit.errors import DecodeError
from kafka.reading import KafkaRecord, read_topic
from spark.script import Script
from testkit.running import Pipeline, source_of
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql import MySQLServer

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

CHAIN = ({"type": "ExtractNewRecordState"}, {"type": "Cast$Value", "name": "number", "spec": "name:int32"})
"""Fails on a name that is no number."""
LONG = "1" * 1_500


def _pipeline(
    script: Script, folder: Path, broker: KafkaBroker, chain: Sequence[dict[str, Any]] = CHAIN, **errors: Any
) -> ResolvedPipeline:
    pipeline = script.pipeline(
        folder / "state",
        "kafka",
        bootstrap_servers=broker.bootstrap,
        kafka_message_max_bytes=1_200,
        transforms=chain,
    )
    handling = ErrorHandling("quarantine", folder=folder / "quarantine", **errors)
    return replace(pipeline, errors=handling)


def test_rows_of_mysql_that_cannot_be_decoded_are_kept_and_replayed(
    kafka_broker: KafkaBroker, mysql_server: MySQLServer, shop: str, tmp_path: Path
) -> None:
    mysql_server.run_sql("ALTER TABLE a ADD COLUMN day DATE", database=shop)
    sink = {"type": "kafka", "bootstrap.servers": kafka_broker.bootstrap}
    others = {"runner": "spark", "spark": {"spark.master": "local[2]"}, "errors.tolerance": "quarantine"}
    file = Pipeline(tmp_path, source_of(mysql_server, shop), sink, others).written()
    SparkRunner(load_pipeline(file)).run(once=True)
    bad = "SET sql_mode = 'ALLOW_INVALID_DATES'; INSERT INTO a VALUES (3, 'z', '2021-02-31')"
    mysql_server.run_sql(f"{bad}; INSERT INTO a VALUES (4, 'w', NULL)", database=shop)
    pipeline = load_pipeline(file)
    SparkRunner(pipeline).run(once=True)
    (kept,) = _kept(pipeline)
    assert (kept.stage, kept.by, "2021-02-31" in kept.reason) == ("decode", "mysql", True)
    taken = "source.event.converting.failure.handling.mode=skip"
    with held(pipeline) as state:
        assert [one.reason for one in replay(load_pipeline(file, [taken]), state, lambda _: True)] == [""]
    assert _kept(pipeline) == []
    records = read_topic(kafka_broker.bootstrap, f"p.{shop}.a")
    ids = [json.loads(record.key or b"")["payload"]["id"] for record in records]
    # Chunks of a snapshot are read at the same time: of the rows of two there is no first.
    assert (sorted(ids[:2]), ids[2:]) == ([1, 2], [4, 3])


def _kept(pipeline: ResolvedPipeline) -> list[Quarantined]:
    assert pipeline.errors.folder is not None
    return list(kept_records(pipeline.errors.folder))


def _ids(broker: KafkaBroker, table: str) -> list[int]:
    return sorted(
        json.loads(record.key or b"")["id"] for record in read_topic(broker.bootstrap, f"script.shop.{table}")
    )


def test_each_stage_keeps_what_it_cannot_deliver_once(
    kafka_broker: KafkaBroker, script: Script, tmp_path: Path, unique_name: str
) -> None:
    """What is read a second time adds nothing."""
    script.undecodable(unique_name)
    for number in range(6):
        script.change("c", {"id": number, "name": "x" if number == 2 else str(number)}, table=unique_name)
    pipeline = _pipeline(script, tmp_path, kafka_broker)
    for again in range(2):
        runner = SparkRunner(pipeline)
        runner.run(once=True)
        kept = sorted(_kept(pipeline), key=lambda entry: entry.position)  # splits are read at the same time
        assert [(entry.stage, entry.by) for entry in kept] == [("decode", "scripted"), ("transform", "number")]
        counted = {} if again else {"decode": 1, "transform": 1}
        assert (runner.figures.faults.kept, dict(runner.figures.faults.quarantined)) == (2, counted)
        shutil.rmtree(tmp_path / "state")
    assert _ids(kafka_broker, unique_name) == sorted([0, 1, 3, 4, 5] * 2)


def test_what_the_broker_never_takes_is_kept_by_the_task_that_writes_it(
    kafka_broker: KafkaBroker, script: Script, tmp_path: Path, unique_name: str
) -> None:
    for number in range(4):
        script.change("c", {"id": number, "name": LONG if number == 1 else "1"}, table=unique_name)
    pipeline = _pipeline(script, tmp_path, kafka_broker, CHAIN[:1], max_records=1)
    runner = SparkRunner(pipeline)
    runner.run(once=True)
    (kept,) = _kept(pipeline)
    assert (kept.stage, kept.by, kept.topic) == ("write", "kafka", f"script.shop.{unique_name}")
    assert kept.position
    assert _ids(kafka_broker, unique_name) == [0, 2, 3]
    assert dict(runner.figures.faults.quarantined) == {"write": 1}
    script.undecodable(unique_name)
    with pytest.raises(
        DecodeError, match=r"the quarantine holds 1 records, and takes no more \(quarantine.max.records"
    ):
        SparkRunner(pipeline).run(once=True)
    assert len(_kept(pipeline)) == 1


@pytest.mark.parametrize(("chain", "bad", "stage"), [(CHAIN, "x", "transform"), (CHAIN[:1], LONG, "write")])
def test_later_changes_of_a_key_wait_across_splits_and_batches(
    kafka_broker: KafkaBroker,
    script: Script,
    tmp_path: Path,
    unique_name: str,
    chain: Sequence[dict[str, Any]],
    bad: str,
    stage: str,
) -> None:
    names = {number: bad if number in (7, 13) else str(number) for number in range(40)}
    waits = {number for number in names if (number % 5 == 2 and number > 7) or (number % 5 == 3 and number > 13)}
    for number, name in names.items():
        script.change("u" if number > 4 else "c", {"id": number % 5, "name": name}, table=unique_name)
    pipeline = _pipeline(script, tmp_path, kafka_broker, chain, later_changes="wait")
    pipeline = replace(pipeline, source=script.pipeline(tmp_path, "kafka", 22, bootstrap_servers="x").source)
    for again in range(2 if stage == "transform" else 1):
        SparkRunner(pipeline).run(once=True)
        kept = _kept(pipeline)
        assert Counter(entry.stage for entry in kept) == {stage: 2, "wait": len(waits)}
        if not again:
            assert _names(kafka_broker, unique_name) == [int(names[n]) for n in names if n not in (7, 13, *waits)]
        shutil.rmtree(tmp_path / "state")
    mended = replace(pipeline, transforms=pipeline.transforms[:1])
    mended = replace(mended, sink=script.pipeline(tmp_path, "kafka", bootstrap_servers=kafka_broker.bootstrap).sink)
    before = len(read_topic(kafka_broker.bootstrap, f"script.shop.{unique_name}"))
    with held(mended) as state:
        assert [one.reason for one in replay(mended, state, lambda _: True) if one.reason] == []
    replayed = [json.loads(record.value or b"") for record in _records(kafka_broker, unique_name)[before:]]
    for key in (2, 3):
        rows = [row["name"] for row in replayed if row["id"] == key]
        of_key = [names[n] for n in sorted({7, 13, *waits}) if n % 5 == key]
        assert rows == of_key


def _records(broker: KafkaBroker, table: str) -> list[KafkaRecord]:
    return read_topic(broker.bootstrap, f"script.shop.{table}")


def _names(broker: KafkaBroker, table: str) -> list[int]:
    """In the order of the topic."""
    return [int(json.loads(record.value or b"")["name"]) for record in _records(broker, table)]


def test_a_topic_keeps_what_tasks_hand_over(
    kafka_broker: KafkaBroker, script: Script, tmp_path: Path, unique_name: str
) -> None:
    for number in range(6):
        script.change("c", {"id": number, "name": "x" if number in (2, 4) else str(number)}, table=unique_name)
    topic = QuarantineTopic(f"dlq-{unique_name}", "script", kafka_broker.bootstrap, {})
    pipeline = _pipeline(script, tmp_path, kafka_broker)
    pipeline = replace(pipeline, errors=ErrorHandling("quarantine", topic=topic))
    for _ in range(2):
        runner = SparkRunner(pipeline)
        runner.run(once=True)
        kept = list(records_kept(pipeline.errors))
        assert [(entry.number, entry.stage, entry.by) for entry in kept] == [
            (1, "transform", "number"),
            (2, "transform", "number"),
        ]
        assert runner.figures.faults.kept == 2
        shutil.rmtree(tmp_path / "state")
    assert _ids(kafka_broker, unique_name) == sorted([0, 1, 3, 5] * 2)


def test_tables_have_all_but_the_rows_at_fault(session: SparkSession, script: Script, tmp_path: Path) -> None:
    script.undecodable("customers")
    for number in range(6):
        script.change("c", {"id": number, "name": "x" if number == 2 else str(number)})
    place = tmp_path / "lake"
    pipeline = script.pipeline(tmp_path / "state", "spark", path=place, mode="changelog", transforms=CHAIN)
    pipeline = replace(pipeline, errors=ErrorHandling("quarantine", folder=tmp_path / "quarantine"))
    SparkRunner(pipeline).run(once=True)
    assert [(entry.stage, entry.by) for entry in _kept(pipeline)] == [("decode", "scripted"), ("transform", "number")]
    assert _ids_in(session, place) == [0, 1, 3, 4, 5]
    mask = {"type": "MaskField$Value", "fields": "name", "replacement": "77"}
    chain = (CHAIN[0], mask, CHAIN[1])
    mended = script.pipeline(tmp_path / "state", "spark", path=place, mode="changelog", transforms=chain)
    mended = replace(mended, errors=pipeline.errors)
    for one, stays in ((pipeline, [True, True]), (mended, [True, False])):
        with held(one) as state:
            assert [bool(told.reason) for told in replay(one, state, lambda _: True)] == stays
    assert [entry.stage for entry in _kept(pipeline)] == ["decode"]
    assert _ids_in(session, place) == [0, 1, 2, 3, 4, 5]


def _ids_in(session: SparkSession, place: Path) -> list[int]:
    rows = session.read.format("delta").load(str(place / "script.shop.customers"))
    return sorted(row["id"] for row in rows.collect())
