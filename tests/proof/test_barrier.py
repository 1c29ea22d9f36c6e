"""A place at which a pipeline that runs and `cdc diff` agree, so that both sides are compared as they were there."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from proof.shop import deliver, fill, piped, proved, to_file
from proof.test_files import written
from proof.test_lakes import SINKS, to_lake
from testkit.running import Pipeline
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql_family import SQLServer

pytestmark = pytest.mark.timeout(900)

TOPICS: dict[str, dict[str, Any]] = {
    "kafka": {},
    "exactly-once": {"delivery.guarantee": "exactly-once"},
    "long transactions": {"delivery.guarantee": "exactly-once", "transaction.boundary": "interval"},
}
LONG = {"exactly-once"}
"""What `make test` shows by the long ones alone."""
COMPACTED = {
    "topic.creation.default.cleanup.policy": "compact",
    "topic.creation.default.segment.ms": 300,
    "topic.creation.default.min.cleanable.dirty.ratio": 0.001,
}


def to_topics(server: SQLServer, database: str, folder: Path, broker: KafkaBroker, **options: Any) -> Pipeline:
    sink = {
        "type": "kafka", "bootstrap.servers": broker.bootstrap, "topic.creation.default.partitions": 3, **options,
    }  # fmt: skip
    return piped(server, database, folder, sink, {"name": database}, topic_prefix=database)


@pytest.fixture
def make(
    request: pytest.FixtureRequest, db_server: SQLServer, database: str, tmp_path: Path
) -> Callable[[str], Pipeline]:
    """Makes the pipeline into a sink of some kind."""

    def made(kind: str) -> Pipeline:
        if kind in TOPICS:
            return to_topics(db_server, database, tmp_path, request.getfixturevalue("kafka_broker"), **TOPICS[kind])
        return (
            to_file(db_server, database, tmp_path) if kind == "file" else to_lake(db_server, database, tmp_path, kind)
        )

    return made


@pytest.mark.parametrize(
    "kind",
    ["file", *SINKS, *(pytest.param(one, marks=pytest.mark.nightly if one in LONG else ()) for one in TOPICS)],
)
@pytest.mark.parametrize("db_server", ["mysql", pytest.param("mariadb", marks=pytest.mark.nightly)], indirect=True)
def test_rows_that_never_stand_still_are_compared(
    db_server: SQLServer, database: str, make: Callable[[str], Pipeline], kind: str
) -> None:
    fill(db_server, database, 300)
    pipeline = make(kind)
    pipeline.others["offset.flush.interval.ms"] = 100  # type: ignore[index]
    deliver(pipeline)
    with pipeline.running() as process, written(db_server, database) as statements:
        process.wait_for("starts on the runner")
        for _ in range(2):
            before = len(statements)
            orders = proved(pipeline)["orders"]
            assert (orders.outcome, orders.note, orders.differences) == ("equal", "", ())
            assert orders.exact
            assert len(statements) > before
        if kind in TOPICS:
            _forge(pipeline, f"{database}.{database}.orders")
            orders = proved(pipeline)["orders"]
            assert [(json.loads(one.key)["id"], one.fault) for one in orders.differences] == [(777, "extra")]
            assert (orders.outcome, orders.extra, orders.exact) == ("unequal", 1, True)


def _forge(pipeline: Pipeline, topic: str) -> None:
    producer = Producer({"bootstrap.servers": pipeline.sink["bootstrap.servers"]})
    value = {"schema": None, "payload": {"op": "c", "source": {}, "before": None, "after": {"id": 777}}}
    key = {"schema": None, "payload": {"id": 777}}
    producer.produce(topic, json.dumps(value).encode(), json.dumps(key).encode())
    producer.flush()


@pytest.mark.parametrize("db_server", ["mysql"], indirect=True)
def test_what_compaction_takes_meanwhile_is_not_missed(
    db_server: SQLServer, database: str, tmp_path: Path, kafka_broker: KafkaBroker
) -> None:
    fill(db_server, database, 300)
    pipeline = to_topics(db_server, database, tmp_path, kafka_broker, **COMPACTED)
    pipeline.others["offset.flush.interval.ms"] = 100  # type: ignore[index]
    topic = f"{database}.{database}.orders"
    deliver(pipeline)
    with pipeline.running() as process, written(db_server, database):
        process.wait_until(lambda: _gaps(kafka_broker, topic))
        orders = proved(pipeline)["orders"]
        assert (orders.outcome, orders.note, orders.differences, orders.exact) == ("equal", "", (), False)
        _forge(pipeline, topic)
        orders = proved(pipeline)["orders"]
    assert [(json.loads(one.key)["id"], one.fault) for one in orders.differences] == [(777, "extra")]


def _gaps(broker: KafkaBroker, topic: str) -> bool:
    """Whether messages between others are gone."""
    offsets = sorted((one.partition() or 0, one.offset() or 0) for one in broker.messages(topic))
    return any(a[0] == b[0] and b[1] - a[1] > 1 for a, b in pairwise(offsets))
