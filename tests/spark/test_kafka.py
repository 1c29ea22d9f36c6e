"""Kafka, written from Spark's tasks."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import SparkSession

from cdckit.api.plugins import config_model, find
from cdckit.engine.config.pipeline import Component
from cdckit.engine.runners.spark import SparkRunner
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
"""As users may have it: how many tasks write is planned anew once it is known what each of them would."""


@pytest.fixture(params=["as planned", "adaptive"])
def replanned(request: pytest.FixtureRequest, session: SparkSession) -> Iterator[bool]:
    """Whether Spark plans anew how many tasks write."""
    adaptive = request.param == "adaptive"
    if adaptive and tuple(map(int, pyspark.__version__.split(".")[:2])) < (4, 1):
        pytest.skip("streams of Spark 4.0 are never planned anew")
    before = {name: str(session.conf.get(name)) for name in ADAPTIVE}
    for name, value in ADAPTIVE.items() if adaptive else ():
        session.conf.set(name, value)
    yield adaptive
    for name, value in before.items():
        session.conf.set(name, value)


def test_each_keys_order_holds_though_splits_are_read_together(
    session: SparkSession, kafka_broker: KafkaBroker, script: Script, tmp_path: Path, unique_name: str, replanned: bool
) -> None:
    keys, rounds = 7, 60
    for number in range(keys * rounds):
        script.change("u", {"id": number % keys, "name": str(number // keys)}, table=unique_name)
    script.change("d", None, {"id": 0, "name": "last"}, table=unique_name)
    pipeline = script.pipeline(
        tmp_path / "state", "kafka", bootstrap_servers=kafka_broker.bootstrap, cut_at=300,
        topic_creation_default_partitions=3,
    )  # fmt: skip
    before = max(plans_of(session), default=-1)
    SparkRunner(pipeline).run(once=True)
    plans = [plan for number, plan in plans_of(session).items() if number > before]
    assert any("AQEShuffleRead" in plan and "coalesced" in plan for plan in plans) is replanned
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


def plans_of(session: SparkSession) -> dict[int, str]:
    """How Spark has carried out what the session keeps of executions, by their numbers."""
    store: Any = session._jsparkSession.sharedState().statusStore()
    found = store.executionsList()
    executions = [found.apply(at) for at in range(found.size())]
    return {one.executionId(): one.physicalPlanDescription() for one in executions}


def component(kind: str, options: dict[str, Any]) -> Component:
    registration = find("serializer", kind)
    return Component(registration, config_model(registration).load(options, "serializer")[0])
