"""From real topics: pipelines with the sources `ticdc` and `debezium`, their offsets, ends and errors."""

from __future__ import annotations

import json
import random
import threading
import time
from dataclasses import replace

import pytest
from confluent_kafka import Consumer, TopicPartition

from cdckit.engine.runners.stop import StopSignal
from cdckit.errors import ConfigError, DecodeError, SourceError
from cdckit_ticdc.message import Message
from testkit.running import PASSWORD, Pipeline
from ticdc.emulation import FIRST_TS, Emulator, make_history, source_block
from ticdc.recordings import lines
from ticdc.topics import Topic, rows_of


@pytest.mark.parametrize("watermarks", [True, False])
def test_reads_to_the_end_saves_and_then_emits_nothing(topic: Topic, watermarks: bool) -> None:
    """Two runs with `--once`: the first delivers all, the second only what came since."""
    chance = random.Random(3)
    history = make_history(chance, 300)
    log = Emulator(chance, watermarks=watermarks).write(history)
    halves = {partition: len(messages) // 2 for partition, messages in log.items()}
    topic.produce(message for one, messages in log.items() for message in messages[: halves[one]])
    first = topic.once(type="ticdc", protocol="debezium")
    assert first
    assert topic.once(type="ticdc", protocol="debezium") == []
    topic.produce(message for one, messages in log.items() for message in messages[halves[one] :])
    topic.once(type="ticdc", protocol="debezium")
    assert rows_of(topic.written()) == history.final
    assert {line["topic"] for line in topic.written()} == {"default.shop.orders"}


def test_the_command_ends_with_zero_and_then_finds_nothing(topic: Topic) -> None:
    """`cdckit run FILE --once`, twice; rows that no watermark lets out are delivered at the end."""
    log = Emulator(random.Random(8), watermarks=False, restarts=0).write(make_history(random.Random(8), 60))
    rows = [message for messages in log.values() for message in messages]
    topic.produce(rows)
    source = {
        "type": "ticdc", "protocol": "debezium", "bootstrap.servers": topic.broker.bootstrap, "topics": [topic.name],
        "watermarks": "always", "kafka.sasl.password": PASSWORD,
    }  # fmt: skip
    pipeline = Pipeline(topic.folder, source, {"type": "file", "path": str(topic.folder / "out.jsonl")})
    for _ in range(2):
        assert pipeline.run("--once").code == 0
        assert len(pipeline.events()) == len(rows)


def test_commits_offsets_to_the_group(topic: Topic) -> None:
    """Tools that look at the consumer group see how far the pipeline is."""
    log = Emulator(random.Random(1), watermarks=False).write(make_history(random.Random(1), 50))
    topic.produce(message for messages in log.values() for message in messages)
    topic.once(type="ticdc", protocol="debezium", **{"group.id": "shown"})
    consumer = Consumer({"bootstrap.servers": topic.broker.bootstrap, "group.id": "shown"})
    asked = [TopicPartition(topic.name, number) for number in range(3)]
    committed = {found.partition: found.offset for found in consumer.committed(asked, timeout=10)}
    consumer.close()
    assert committed == {partition.number: len(messages) for partition, messages in log.items()}


def test_follows_topics_until_it_is_stopped(topic: Topic) -> None:
    """Without `--once`: rows come as their watermark passes, and a stopped pipeline goes on where it was."""
    chance = random.Random(5)
    history = make_history(chance, 200)
    log = Emulator(chance, restarts=1).write(history)
    stopping = StopSignal()
    runner = topic.runner(stopping, type="ticdc", protocol="debezium", watermarks="always")
    thread = threading.Thread(target=runner.run)
    thread.start()
    topic.produce(message for messages in log.values() for message in messages)
    deadline = time.monotonic() + 120
    while rows_of(topic.written()) != history.final and thread.is_alive() and time.monotonic() < deadline:
        time.sleep(0.1)
    stopping.stop()
    thread.join()
    assert rows_of(topic.written()) == history.final
    assert topic.once(type="ticdc", protocol="debezium", watermarks="always") == []


def test_topics_by_regular_expression(topic: Topic) -> None:
    """A name that begins with `^` stands for all topics that it fits."""
    log = Emulator(random.Random(2)).write(make_history(random.Random(2), 30))
    topic.produce(message for messages in log.values() for message in messages)
    found = topic.once(type="ticdc", protocol="debezium", topics=[f"^{topic.name[:-2]}.*"])
    assert found


def test_one_topic_of_rows_and_ddl_by_shape(topic: Topic) -> None:
    """The source `debezium` on TiCDC's own messages: rows, DDL and watermarks share the topic."""
    recorded = [line.message._replace(partition=0) for line in lines("debezium-ticdc", "null_over_default")]
    topic.produce(recorded)
    found = topic.once(type="debezium")
    assert [("ddl" in line["value"], line["value"].get("op")) for line in found] == [
        (True, None), (False, "c"), (False, "c"),
    ]  # fmt: skip
    assert {line["topic"] for line in found} == {topic.name}


BAD = [
    pytest.param("debezium", b'{"payload":{"source":{"comm', "no message of this protocol", id="truncated"),
    pytest.param("debezium", b"\xff\x00garbage", "no message of this protocol", id="garbage"),
    pytest.param("canal-json", b'{"payload":{"op":"c"}}', "'type' is missing", id="wrong protocol"),
    pytest.param("simple", b'{"version":1,"type":"INSERT","commitTs":5,"buildTs":1,"database":"d","table":"t",'
                 b'"schemaVersion":7,"data":{"id":"1"}}', "no message has brought its schema version 7",
                 id="schema missing"),
    pytest.param("open-protocol", b"\0\0\0\0\0\0\0\xff{", "open-protocol's version 1", id="no open-protocol"),
]  # fmt: skip


@pytest.mark.parametrize(("protocol", "value", "why"), BAD)
def test_bad_messages_stop_with_their_place(topic: Topic, protocol: str, value: bytes, why: str) -> None:
    """Never silence, never a wrong value: the topic, the partition and the offset."""
    topic.produce([Message(topic.name, 2, 0, b"k", value)])
    with pytest.raises(DecodeError, match=f"topic {topic.name}, partition 2, offset 0: .*{why}"):
        topic.once(type="ticdc", protocol=protocol)


FITTING = b'{"schema":{"type":"struct","fields":[{"type":"int32","field":"id"}]},"payload":{"id":"x"}}'
BAD_DEBEZIUM = [
    pytest.param(b'{"before":null,"after":{"id', "no message in Debezium's format", id="truncated"),
    pytest.param(b"\xff\x00garbage", "no message in Debezium's format", id="garbage"),
    pytest.param(FITTING, "id: is 'x', no integer", id="does not fit its schema"),
    pytest.param(b'{"schema":{"type":"int128"},"payload":1}', "'int128' is missing", id="unknown type"),
]


@pytest.mark.parametrize(("value", "why"), BAD_DEBEZIUM)
def test_bad_messages_in_debezium_topics(topic: Topic, value: bytes, why: str) -> None:
    topic.produce([Message(topic.name, 1, 0, b"k", value)])
    with pytest.raises(DecodeError, match=f"topic {topic.name}, partition 1, offset 0: .*{why}"):
        topic.once(type="debezium")


def test_an_option_that_librdkafka_lacks(topic: Topic) -> None:
    with pytest.raises(ConfigError, match=r"source\.kafka\.nonsense: librdkafka has no such option"):
        topic.once(type="debezium", **{"kafka.nonsense": "1"})


def _document(number: int) -> Message:
    value = {"before": None, "after": {"id": number}, "source": {"db": "d", "table": "t"}, "op": "c"}
    return Message("", 0, 0, json.dumps({"id": number}).encode(), json.dumps(value).encode())


def test_starts_at_the_end_where_that_is_asked_for(topic: Topic) -> None:
    """Without saved offsets alone; with them it goes on where it was."""
    latest = {"type": "debezium", "auto.offset.reset": "latest"}
    topic.produce([_document(1)])
    assert topic.once(**latest) == []
    topic.produce([_document(2)])
    assert [line["key"] for line in topic.once(**latest)] == [{"id": 2}]


@pytest.mark.parametrize("source", [{"type": "debezium"}, {"type": "ticdc", "protocol": "debezium"}])
def test_messages_that_retention_removed_are_no_silence(topic: Topic, source: dict[str, str]) -> None:
    """What lies between the saved offset and the oldest message left is lost, and that is said."""
    topic.once(**source)
    topic.produce([_large_row(1)._replace(partition=0) for _ in range(5)])
    removed = TopicPartition(topic.name, 0, 3)
    admin = topic.broker.admin()
    admin.delete_records([removed])[removed].result(30)
    with pytest.raises(SourceError, match=rf"{topic.name} \[0\]: offset 0 is gone, the oldest left is 3"):
        topic.once(**source)


def test_an_unknown_schema_id_stops_with_its_place(topic: Topic) -> None:
    """A registry that lacks the schema is named, and the number."""
    registry = topic.folder / "registry.json"
    registry.write_text("[]")
    topic.produce([Message(topic.name, 1, 0, None, b"\0\0\0\0\x2a\x02")])
    with pytest.raises(DecodeError, match=r"partition 1, offset 0: .* no schema with id 42"):
        topic.once(type="ticdc", protocol="avro", **{"schema.registry.url": str(registry)})


@pytest.fixture
def large(topic: Topic) -> Topic:
    """A topic that takes messages of up to 16 MB."""
    name = f"{topic.name}_large"
    topic.broker.create_topic(name, 2, max_message_bytes=16_000_000)
    return replace(topic, name=name)


def _large_row(size: int) -> Message:
    payload = {"source": source_block(FIRST_TS), "op": "c", "after": {"id": 1, "v": "x" * size}}
    return Message("", 1, 0, b'{"payload":{"id":1}}', json.dumps({"payload": payload}).encode())


def test_a_message_larger_than_a_fetch_is_read(large: Topic) -> None:
    """Limits of fetches are no limits of messages."""
    large.produce([_large_row(12_000_000)])
    (found,) = large.once(type="ticdc", protocol="debezium")
    assert len(found["value"]["after"]["v"]) == 12_000_000


@pytest.mark.parametrize(
    "source", [{"type": "debezium"}, {"type": "ticdc", "protocol": "debezium", "watermarks": "never"}]
)
def test_a_message_larger_than_the_client_takes_stops_with_its_place(large: Topic, source: dict[str, str]) -> None:
    """librdkafka would ask for it again and again; its place and the option are told instead."""
    for message in (_large_row(10)._replace(partition=0), _large_row(10), _large_row(3_000_000)):
        large.produce([message])
    limits = {"receive.message.max.bytes": "2000000", "fetch.max.bytes": "1000000", "fetch.message.max.bytes": "100000"}
    options = {f"kafka.{name}": value for name, value in limits.items()}
    place = f"topic {large.name}, partition 1, offset 1: .*source.kafka.receive.message.max.bytes"
    with pytest.raises(SourceError, match=place):
        large.once(**source, **options)


def test_what_came_before_a_bad_message_is_delivered(topic: Topic) -> None:
    """The restart need not repeat it, and stops at the same place."""
    log = Emulator(random.Random(4), partitions=1, watermarks=False, restarts=0).write(
        make_history(random.Random(4), 20)
    )
    (messages,) = log.values()
    topic.produce([*messages, Message(topic.name, 0, 0, None, b"{")])
    for _ in range(2):
        with pytest.raises(DecodeError, match=f"offset {len(messages)}: "):
            topic.once(type="ticdc", protocol="debezium")
        assert len(topic.written()) == len(messages)


def test_a_topic_that_is_missing_is_named(topic: Topic) -> None:
    """A misspelt topic is an error, not an empty stream."""
    with pytest.raises(SourceError, match="there is no topic 'nothing'"):
        topic.once(type="ticdc", protocol="debezium", topics=["nothing"])
