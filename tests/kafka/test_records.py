"""What the sink writes is what a consumer reads."""

from __future__ import annotations

import pytest

from cdckit.api.record import POSITION_HEADER
from cdckit.api.sink import SinkContext
from cdckit.errors import SinkError
from kafka.reading import read_topic, topic_names
from kafka.writing import Outgoing, batch, deliver, opened
from testkit.servers.kafka import KafkaBroker


def test_every_part_of_a_record_arrives(kafka_broker: KafkaBroker, unique_name: str) -> None:
    headers = (("a", b'"x"'), ("b", None), ("a", b""))
    deliver(
        kafka_broker.bootstrap,
        [Outgoing(unique_name, b'{"id":1}', '{"n":"é"}'.encode(), headers, "0001:02", 1_700_000_000_123)],
    )
    [record] = read_topic(kafka_broker.bootstrap, unique_name)
    assert (record.topic, record.key, record.value) == (unique_name, b'{"id":1}', '{"n":"é"}'.encode())
    assert record.headers == (*headers, (POSITION_HEADER, b"0001:02"))
    assert record.timestamp == 1_700_000_000_123


def test_headers_follow_their_own_record(kafka_broker: KafkaBroker, unique_name: str) -> None:
    shared, other = (("s", b"1"),), (("o", b"2"),)
    sent = [
        Outgoing(unique_name, b"k", b"0", shared, "p0"),
        Outgoing(unique_name, b"k", b"1", shared, "p1"),
        Outgoing(unique_name, b"k", b"2", shared),
        Outgoing(unique_name, b"k", b"3", other, "p3"),
        Outgoing(unique_name, b"k", b"4"),
        Outgoing(unique_name, b"k", b"5", shared, "p5"),
    ]
    deliver(kafka_broker.bootstrap, sent)
    marks = [((POSITION_HEADER, one.position.encode()),) if one.position else () for one in sent]
    read = read_topic(kafka_broker.bootstrap, unique_name)
    assert [record.headers for record in read] == [(*one.headers, *mark) for one, mark in zip(sent, marks, strict=True)]


def test_a_position_is_written_as_other_headers_are(kafka_broker: KafkaBroker, unique_name: str) -> None:
    context = SinkContext("test", once=True, around_position=('{"payload":"', '"}'))
    with opened(kafka_broker.bootstrap, context=context) as sink:
        sink.write(batch([Outgoing(unique_name, b"k", b"v", position="0001"), Outgoing(unique_name, b"k", b"v")]))
        sink.flush()
    read = read_topic(kafka_broker.bootstrap, unique_name)
    assert [record.headers for record in read] == [((POSITION_HEADER, b'{"payload":"0001"}'),), ()]


def test_a_tombstone_is_a_null_and_an_empty_value_is_not(kafka_broker: KafkaBroker, unique_name: str) -> None:
    deliver(kafka_broker.bootstrap, [Outgoing(unique_name, b"k"), Outgoing(unique_name, b"k", b"")])
    assert [record.value for record in read_topic(kafka_broker.bootstrap, unique_name)] == [None, b""]


def test_a_record_without_a_timestamp_gets_the_present(kafka_broker: KafkaBroker, unique_name: str) -> None:
    deliver(kafka_broker.bootstrap, [Outgoing(unique_name, b"k", b"v")])
    [record] = read_topic(kafka_broker.bootstrap, unique_name)
    assert record.timestamp > 1_700_000_000_000


def test_an_explicit_partition_wins_over_the_key(kafka_broker: KafkaBroker, unique_name: str) -> None:
    kafka_broker.create_topic(unique_name, partitions=5)
    deliver(kafka_broker.bootstrap, [Outgoing(unique_name, b"k", b"%d" % n, partition=n) for n in range(5)])
    read = read_topic(kafka_broker.bootstrap, unique_name)
    assert {(record.partition, record.value) for record in read} == {(n, b"%d" % n) for n in range(5)}


def test_order_holds_across_batches_larger_than_the_buffer(kafka_broker: KafkaBroker, unique_name: str) -> None:
    sent = [Outgoing(unique_name, b"k%d" % (n % 7), b"%d" % n) for n in range(20_000)]
    with opened(
        kafka_broker.bootstrap,
        {"kafka.queue.buffering.max.messages": 500, "topic.creation.default.partitions": 3},
    ) as sink:
        for start in range(0, len(sent), 3_000):
            sink.write(batch(sent[start : start + 3_000]))
        sink.flush()
    read = read_topic(kafka_broker.bootstrap, unique_name)
    assert len(read) == len(sent)
    for key in {one.key for one in sent}:
        arrived = [record.value for record in read if record.key == key]
        assert arrived == [one.value for one in sent if one.key == key]


def test_what_was_not_flushed_is_dropped_by_close(kafka_broker: KafkaBroker, unique_name: str) -> None:
    with opened(kafka_broker.bootstrap, {"kafka.linger.ms": 10_000}) as sink:
        sink.write(batch([Outgoing(unique_name, b"k", b"v")]))
    assert read_topic(kafka_broker.bootstrap, unique_name) == []


def test_an_idle_flush_and_a_second_close_do_nothing(kafka_broker: KafkaBroker) -> None:
    before = topic_names(kafka_broker.bootstrap)
    with opened(kafka_broker.bootstrap) as sink:
        sink.write(batch([]))
        sink.flush()
        sink.close()
        with pytest.raises(SinkError, match="not open"):
            sink.flush()
    assert topic_names(kafka_broker.bootstrap) == before
