"""Rows of a DataFrame as messages, and the order in which a batch of them is written."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from pyspark.sql.types import ArrayType, BinaryType, IntegerType, StringType, StructType, TimestampType

from cdckit.api.messages import Messages
from cdckit.engine.spark.failures import WorkerError
from cdckit.engine.spark.message_rows import MessageRows
from cdckit.engine.spark.staged import Share, in_order, staged
from cdckit.errors import SinkError
from spark.written import arrow, message, spark_rows, stream_writer

TO_KAFKA = {"sink.bootstrap.servers": "broker:9092"}
HEADER = StructType().add("key", StringType()).add("value", BinaryType())
SCHEMA = (
    StructType()
    .add("topic", StringType())
    .add("partition", IntegerType())
    .add("key", BinaryType())
    .add("value", BinaryType())
    .add("headers", ArrayType(HEADER))
    .add("timestamp", TimestampType())
    .add("position", StringType())
)
ROWS = MessageRows.of(SCHEMA, None)
MOMENT = datetime(2026, 3, 29, 1, 30, 0, 123000, tzinfo=UTC)


@pytest.fixture(params=["UTC", "Europe/Berlin"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The time zone of the worker."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize("given", [arrow, spark_rows])
def test_each_release_of_spark_gives_the_same_messages(given: object) -> None:
    rows = [
        ("t", 3, b"k", None, [{"key": "h", "value": b"1"}, {"key": "n", "value": None}], MOMENT, "0001"),
        ("u", None, None, b"v", [], None, None),
    ]
    (found,) = ROWS.messages(given(rows))  # type: ignore[operator]
    assert found == Messages(
        ["t", "u"], [3, None], [b"k", None], [None, b"v"], [(("h", b"1"), ("n", None)), ()], ["0001", ""],
        [int(MOMENT.timestamp() * 1000), None],
    )  # fmt: skip


def test_texts_are_bytes_and_one_topic_may_do_for_all() -> None:
    schema = StructType().add("value", StringType()).add("key", StringType())
    rows = MessageRows.of(schema, "orders")
    (found,) = rows.messages(iter([("ä", "1"), (None, None)]))
    assert (found.topics, found.keys, found.values) == (["orders"] * 2, [b"1", None], ["ä".encode(), None])


def test_rows_come_in_portions_whatever_spark_puts_in_a_batch() -> None:
    rows = [message("t", "k", str(number)) for number in range(4_500)]
    for given in (arrow(rows, 16), arrow(rows, 4_500), spark_rows(rows)):
        found = [*ROWS.messages(given)]
        assert [value for part in found for value in part.values] == [str(number).encode() for number in range(4_500)]
    assert len([*ROWS.messages(arrow(rows, 16))]) == 3


def test_a_row_without_a_topic_is_refused() -> None:
    with pytest.raises(SinkError, match="topic: a row has null there"):
        [*ROWS.messages(arrow([(None, None, b"k", b"v", None, None, None)]))]


def written(*parts: list[tuple[str, str | None]]) -> list[str]:
    """The values in the order in which a batch is written whose tasks have these values and positions."""
    found = in_order([share(part) for part in parts])
    return [value.decode() for messages in found for value in messages.values if value]


def share(part: list[tuple[str, str | None]]) -> Share:
    rows = [message("t", "k", value, position) for value, position in part]
    return staged(ROWS.messages(arrow(rows)))


def test_a_batch_is_written_in_the_logs_order_however_it_was_shared() -> None:
    assert written([("b", "02"), ("e", "05")], [], [("a", "01"), ("c", "03"), ("d", "04")]) == [*"abcde"]
    assert written([("d", "04"), ("a", "01")], [("b", "02"), ("c", "03")]) == [*"abcd"]
    assert written([("b", "02"), ("a", "01")]) == [*"ab"]


def test_rows_without_positions_keep_their_places() -> None:
    assert written([("b", None), ("a", None)], [("d", None), ("c", None)]) == [*"badc"]
    assert written([("a", "01"), ("b", None), ("d", "03")], [("c", "02")]) == [*"abcd"]


OWN = StructType().add("_op", StringType()).add("_position", StringType()).add("id", IntegerType())
ODD = StructType().add("id", IntegerType()).add("key", IntegerType()).add("headers", StringType())
ONCE = {**TO_KAFKA, "sink.delivery.guarantee": "exactly-once"}


@pytest.mark.parametrize(("options", "schema", "said"), [
    ({}, SCHEMA, ["sink.bootstrap.servers: required"]),
    ({"kafka.linger.ms": "1", **TO_KAFKA}, SCHEMA, ["kafka.linger.ms: unknown option; it belongs at 'sink.kafka.li"]),
    ({"sink.acsk": "all", **TO_KAFKA}, SCHEMA, ["sink.acsk: unknown option; did you mean 'acks'?"]),
    ({"sink.kafka.acks": "1", **TO_KAFKA}, SCHEMA, ["sink.kafka: 'acks' is the sink's own option"]),
    ({"sink.kafka.sasl.password": "${NO_SUCH}", **TO_KAFKA}, SCHEMA, ["sink.kafka.sasl.password: the environment var"]),
    ({"source.type": "mysql", "runner": "spark", **TO_KAFKA}, SCHEMA, ["source: has no part", "runner: has no part"]),
    ({"sink.type": "stdout"}, SCHEMA, ["sink.type: 'stdout' takes no messages of Spark jobs"]),
    ({"writer": "nobody", **TO_KAFKA}, SCHEMA, ["writer: should be driver or tasks"]),
    (ONCE, SCHEMA, ["name: required with exactly-once delivery"]),
    ({"name": "a", "writer": "tasks", **ONCE}, SCHEMA, ["writer: 'tasks' cannot write a batch as one transaction"]),
    (TO_KAFKA, OWN, ["columns: rows of one table", "to_json"]),
    (TO_KAFKA, ODD, ["columns: value is required", "topic: required", "columns: id is no part of a message",
                     "columns: key should be binary or string, and is int", "columns: headers should be array<struct"]),
])  # fmt: skip
def test_what_cannot_be_written_is_refused_by_name(
    options: dict[str, str], schema: StructType, said: list[str]
) -> None:
    with pytest.raises(WorkerError) as refused:
        stream_writer(options, schema)
    assert [part for part in said if part not in str(refused.value)] == []


def test_what_spark_adds_to_a_querys_options_is_passed_over() -> None:
    stream_writer({**TO_KAFKA, "checkpointLocation": "/c", "queryName": "q"}, SCHEMA)


def test_topics_are_appended_to() -> None:
    from cdckit.spark import CdckitDataSource

    source = CdckitDataSource(TO_KAFKA)
    for made in (source.streamWriter, source.writer):
        with pytest.raises(WorkerError, match="mode: topics are appended to"):
            made(SCHEMA, True)


def test_secrets_stand_in_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "KAFKA_PASSWORD", "hidden-one")
    options = {
        **TO_KAFKA, "sink.kafka.sasl.password": "hidden-two", "sink.kafka.ssl.key.password": "${KAFKA_PASSWORD}",
        "sink.timeout": "hidden-three", "sink.kafka.sasl.passwrod": "hidden-four", "writer": "hidden-five",
    }  # fmt: skip
    with pytest.raises(WorkerError, match=r"sink\.timeout: should be a number") as refused:
        stream_writer(options, SCHEMA)
    assert "hidden" not in str(refused.value)
