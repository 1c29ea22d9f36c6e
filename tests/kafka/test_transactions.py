"""Exactly-once delivery by the sink: transactions with the offset, fencing, aborted batches, the offset's topic."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from cdckit.api.sink import SinkContext, Transactions
from cdckit.errors import RetriableSinkError, SinkError
from cdckit_kafka.sink import KafkaSink
from kafka.reading import read_topic, topic_names
from kafka.writing import Outgoing, batch, configured
from testkit.servers.kafka import KafkaBroker

_ONCE_EACH = {"delivery.guarantee": "exactly-once", "topic.creation.default.replication.factor": 1}


@contextmanager
def opened(broker: KafkaBroker, name: str, **options: Any) -> Iterator[tuple[KafkaSink, Transactions]]:
    """An open sink and its transactions."""
    given = {option.replace("_", "."): value for option, value in options.items()}
    sink = KafkaSink(configured(broker.bootstrap, {**_ONCE_EACH, **given}))
    try:
        sink.open(SinkContext(name, once=True))
        assert sink.transactions is not None
        yield sink, sink.transactions
    finally:
        sink.close()


def seen(broker: KafkaBroker, topic: str) -> list[bytes | None]:
    """The values that a reader of committed records sees; none where there is no topic."""
    if topic not in topic_names(broker.bootstrap):
        return []
    return [record.value for record in read_topic(broker.bootstrap, topic)]


def test_records_are_seen_with_the_commit_and_not_before(kafka_broker: KafkaBroker, unique_name: str) -> None:
    with opened(kafka_broker, unique_name) as (sink, transactions):
        assert transactions.committed() is None
        sink.write(batch([Outgoing(unique_name, b"k", b"1")]))
        sink.flush()
        assert seen(kafka_broker, unique_name) == []
        transactions.commit({"at": 1})
        assert seen(kafka_broker, unique_name) == [b"1"]
    with opened(kafka_broker, unique_name) as (_, transactions):
        assert transactions.committed() == {"at": 1}


def test_what_was_rolled_back_or_left_behind_is_never_seen(kafka_broker: KafkaBroker, unique_name: str) -> None:
    with opened(kafka_broker, unique_name) as (sink, transactions):
        sink.write(batch([Outgoing(unique_name, b"k", b"1")]))
        transactions.commit({"at": 1})
        sink.write(batch([Outgoing(unique_name, b"k", b"rolled back")]))
        sink.flush()
        assert transactions.rollback() == {"at": 1}
        sink.write(batch([Outgoing(unique_name, b"k", b"2")]))
        transactions.commit({"at": 2})
        sink.write(batch([Outgoing(unique_name, b"k", b"left behind")]))
        sink.flush()
    with opened(kafka_broker, unique_name) as (sink, transactions):
        assert transactions.committed() == {"at": 2}
        sink.write(batch([Outgoing(unique_name, b"k", b"3")]))
        transactions.commit({"at": 3})
    assert seen(kafka_broker, unique_name) == [b"1", b"2", b"3"]


def test_a_producer_that_was_fenced_says_so_and_writes_nothing(kafka_broker: KafkaBroker, unique_name: str) -> None:
    with opened(kafka_broker, unique_name) as (older, first):
        first.commit({"at": 1})
        older.write(batch([Outgoing(unique_name, b"k", b"older")]))
        older.flush()
        with opened(kafka_broker, unique_name) as (newer, second):
            second.commit({"at": 1})
            with pytest.raises(SinkError, match=f"transactional id 'cdckit-{unique_name}'") as fenced:
                older.write(batch([Outgoing(unique_name, b"k", b"older")]))
                first.commit({"at": 2})
            assert not isinstance(fenced.value, RetriableSinkError)
            with pytest.raises(SinkError, match="another process writes"):
                first.rollback()
            newer.write(batch([Outgoing(unique_name, b"k", b"newer")]))
            second.commit({"at": 2})
    assert seen(kafka_broker, unique_name) == [b"newer"]


def test_a_transaction_that_lasted_too_long_is_lost_and_written_again(
    kafka_broker: KafkaBroker, unique_name: str
) -> None:
    timeout = {"kafka.transaction.timeout.ms": 5000}
    with opened(kafka_broker, unique_name, **timeout) as (sink, transactions):
        transactions.commit({"at": 1})
        sink.write(batch([Outgoing(unique_name, b"k", b"too late")]))
        sink.flush()
        _wait_for_the_abort(kafka_broker, unique_name)
        with pytest.raises(SinkError):
            transactions.commit({"at": 2})
        assert transactions.rollback() == {"at": 1}
        sink.write(batch([Outgoing(unique_name, b"k", b"again")]))
        transactions.commit({"at": 2})
    assert seen(kafka_broker, unique_name) == [b"again"]


def test_a_transaction_that_always_lasts_too_long_is_not_written_again_for_ever(
    kafka_broker: KafkaBroker, unique_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("cdckit_kafka.transactions.time", SimpleNamespace(monotonic=lambda: now))
    with opened(kafka_broker, unique_name) as (sink, transactions):
        transactions.commit({"at": 1})
        for _ in range(2):
            sink.write(batch([Outgoing(unique_name, b"k", b"slow")]))
            now += 61
            assert transactions.rollback() == {"at": 1}
        sink.write(batch([Outgoing(unique_name, b"k", b"slow")]))
        now += 61
        with pytest.raises(SinkError, match=r"raise sink\.kafka\.transaction\.timeout\.ms") as ended:
            transactions.rollback()
        assert not isinstance(ended.value, RetriableSinkError)


def _wait_for_the_abort(broker: KafkaBroker, topic: str) -> None:
    """Waits until nothing in a topic's one partition is undecided."""
    deadline = time.monotonic() + 120
    while _end(broker, topic, "read_committed") < _end(broker, topic, "read_uncommitted"):
        assert time.monotonic() < deadline, "the broker aborts no transaction"
        time.sleep(0.2)


def _end(broker: KafkaBroker, topic: str, level: str) -> int:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "ends", "isolation.level": level})
    try:
        ends = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)
        return ends[1] if ends else 0
    finally:
        consumer.close()


def test_the_topic_of_offsets_is_compacted_and_read_to_its_end(kafka_broker: KafkaBroker, unique_name: str) -> None:
    topic = f"{unique_name}-offsets"
    kafka_broker.create_topic(
        topic, cleanup_policy="compact", segment_ms=100, min_cleanable_dirty_ratio="0.01", delete_retention_ms=0
    )
    with opened(kafka_broker, unique_name, offset_topic=topic) as (_, transactions):
        number = 0
        deadline = time.monotonic() + 180
        while _first(kafka_broker, topic) < 5:
            assert time.monotonic() < deadline, "nothing is compacted"
            number += 1
            transactions.commit({"at": number})
            time.sleep(0.05)
    with opened(kafka_broker, unique_name, offset_topic=topic) as (_, transactions):
        assert transactions.committed() == {"at": number}


def _first(broker: KafkaBroker, topic: str) -> int:
    """The offset of the oldest record that is still there."""
    return min((record.offset for record in read_topic(broker.bootstrap, topic)), default=0)


def test_two_pipelines_share_a_topic_of_offsets(kafka_broker: KafkaBroker, unique_name: str) -> None:
    topic = f"{unique_name}-offsets"
    names = f"{unique_name}-a", f"{unique_name}-b"
    with (
        opened(kafka_broker, names[0], offset_topic=topic) as (_, first),
        opened(kafka_broker, names[1], offset_topic=topic) as (_, second),
    ):
        first.commit({"a": 1})
        second.commit({"b": 1})
        first.commit({"a": 2})
    for name, place in zip(names, ({"a": 2}, {"b": 1}), strict=True):
        with opened(kafka_broker, name, offset_topic=topic) as (_, transactions):
            assert transactions.committed() == place


def test_a_record_that_is_refused_is_told_and_nothing_of_its_batch_is_seen(
    kafka_broker: KafkaBroker, unique_name: str
) -> None:
    kafka_broker.create_topic(unique_name, max_message_bytes=1000)
    with opened(kafka_broker, unique_name) as (sink, transactions):
        transactions.commit({"at": 1})
        with pytest.raises(SinkError, match=f"topic '{unique_name}' partition 0 did not take") as refused:
            sink.write(batch([Outgoing(unique_name, b"a", b"small")]))
            sink.flush()
            sink.write(batch([Outgoing(unique_name, b"k", b"x" * 5000)]))
            transactions.commit({"at": 2})
        assert not isinstance(refused.value, RetriableSinkError)
    with opened(kafka_broker, unique_name) as (_, transactions):
        assert transactions.committed() == {"at": 1}
    assert seen(kafka_broker, unique_name) == []
