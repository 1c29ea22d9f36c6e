"""Kafka, written from Spark's tasks."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession, functions as sql

from cdckit.api.plugins import config_model, find
from cdckit.engine.config.error_handling import ErrorHandling
from cdckit.engine.config.pipeline import Component
from cdckit.engine.runners.spark import SparkRunner
from cdckit.engine.spark.task_delivery import by_bucket, by_hash
from kafka.reading import read_topic
from spark.script import Script
from testkit.servers.kafka import KafkaBroker
from testkit.servers.schema_registry import SchemaRegistry

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

ADAPTIVE = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
    "spark.sql.shuffle.partitions": "16",
}
"""As users may have it: plans are made anew while they run."""
OLD = tuple(map(int, pyspark.__version__.split(".")[:2])) < (4, 1)


@pytest.fixture(params=[pytest.param("as planned", marks=[] if OLD else pytest.mark.nightly), "adaptive"])
def replanned(request: pytest.FixtureRequest, session: SparkSession) -> Iterator[None]:
    """Whether Spark plans anew."""
    adaptive = request.param == "adaptive"
    if adaptive and OLD:
        pytest.skip("streams of Spark 4.0 are never planned anew")
    before = {name: str(session.conf.get(name)) for name in ADAPTIVE}
    for name, value in ADAPTIVE.items() if adaptive else ():
        session.conf.set(name, value)
    yield
    for name, value in before.items():
        session.conf.set(name, value)


@pytest.mark.usefixtures("replanned", "told_plans")
def test_each_keys_order_holds_though_splits_are_read_together(
    session: SparkSession, kafka_broker: KafkaBroker, script: Script, tmp_path: Path, unique_name: str
) -> None:
    keys, rounds = 7, 60
    for number in range(keys * rounds):
        script.change("u", {"id": number % keys, "name": str(number // keys)}, table=unique_name)
    script.change("d", None, {"id": 0, "name": "last"}, table=unique_name)
    pipeline = script.pipeline(
        tmp_path / "state", "kafka", bootstrap_servers=kafka_broker.bootstrap, cut_at=300,
        topic_creation_default_partitions=3,
    )  # fmt: skip
    before = executions(session)
    SparkRunner(pipeline).run(once=True)
    plans = plans_of(session, before)
    assert any("MapInArrow" in plan for plan in plans)
    assert not any("coalesced" in plan for plan in plans)
    names, positions = defaultdict(list), []
    for record in read_topic(kafka_broker.bootstrap, f"script.shop.{unique_name}"):
        assert record.key is not None
        names[json.loads(record.key)["id"]].append(record.value and json.loads(record.value)["after"])
        positions.append(record.header("__cdckit.position"))
    expected = [str(turn) for turn in range(rounds)]
    assert names.pop(0) == [{"id": 0, "name": name} for name in expected] + [None, None]
    for key, found in names.items():
        assert found == [{"id": key, "name": name} for name in expected]
    assert len(set(positions)) == keys * rounds + 2


@pytest.mark.usefixtures("told_plans")
def test_the_reader_of_the_only_split_writes_it(
    session: SparkSession, kafka_broker: KafkaBroker, script: Script, tmp_path: Path, unique_name: str
) -> None:
    for number in range(5000):
        script.change("u", {"id": number % 7, "name": str(number)}, table=unique_name)
    pipeline = script.pipeline(tmp_path / "state", "kafka", bootstrap_servers=kafka_broker.bootstrap)
    # Where changes wait, one task reads all.
    waits = ErrorHandling("quarantine", folder=tmp_path / "quarantine", later_changes="wait")
    pipeline = replace(pipeline, errors=waits)
    before = executions(session)
    SparkRunner(pipeline).run(once=True)
    plans = plans_of(session, before)
    assert plans and not any("MapInArrow" in plan for plan in plans), "a second Python process would get all of it"
    records = read_topic(kafka_broker.bootstrap, f"script.shop.{unique_name}")
    assert [json.loads(record.value or b"")["after"]["name"] for record in records] == [*map(str, range(5000))]


@pytest.mark.parametrize("put", [by_bucket, by_hash])
@pytest.mark.parametrize("parallelism", [2, 3, 16])
def test_each_share_of_the_keys_has_a_task_of_its_own(
    session: SparkSession, parallelism: int, put: Callable[[DataFrame, int], DataFrame]
) -> None:
    """By hashes, too, which are all that Spark 4.0 has."""
    packets = session.range(100).selectExpr(f"int(id % {parallelism}) as bucket", "id as position")
    found = put(packets, parallelism).select("bucket", sql.spark_partition_id().alias("task")).distinct()
    assert sorted(map(tuple, found.collect())) == [(number, number) for number in range(parallelism)]


def test_values_in_avro_keys_as_texts(
    kafka_broker: KafkaBroker, schema_registry: SchemaRegistry, script: Script, tmp_path: Path, unique_name: str
) -> None:
    """Each part by its own serializer, in whichever process a task runs; schemas are registered from there."""
    script.change("c", {"id": 7, "name": "x"}, table=unique_name)
    pipeline = script.pipeline(tmp_path / "state", "kafka", bootstrap_servers=kafka_broker.bootstrap)
    SparkRunner(
        replace(
            pipeline,
            serializer=component("avro", {"schema.registry.url": schema_registry.url}),
            key_serializer=component("string", {}),
            header_serializer=component("simple", {}),
        )
    ).run(once=True)
    [record] = read_topic(kafka_broker.bootstrap, f"script.shop.{unique_name}")
    assert (record.key, record.value and record.value[:1]) == (b"Struct{id=7}", b"\0")
    subject = f"/subjects/script.shop.{unique_name}-value/versions/latest"
    assert int.from_bytes((record.value or b"")[1:5], "big") == json.loads(schema_registry.get(subject))["id"]


def executions(session: SparkSession) -> set[int]:
    """The numbers of the executions that the session keeps."""
    return {one.executionId() for one in _kept(session)}


def plans_of(session: SparkSession, but: set[int]) -> list[str]:
    """How Spark has carried out the executions that the session keeps, but for some."""
    return [one.physicalPlanDescription() for one in _kept(session) if one.executionId() not in but]


def _kept(session: SparkSession) -> list[Any]:
    store: Any = session._jsparkSession.sharedState().statusStore()
    found = store.executionsList()
    return [found.apply(at) for at in range(found.size())]


def component(kind: str, options: dict[str, Any]) -> Component:
    registration = find("serializer", kind)
    return Component(registration, config_model(registration).load(options, "serializer")[0])
