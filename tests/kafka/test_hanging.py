"""Transactions whose end is decided and never came to their partitions, as Kafka 4.3 leaves some (KAFKA-20734)."""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer

from cdckit.api.sink import SinkContext, Transactions
from cdckit.errors import SinkError
from cdckit_kafka.sink import KafkaSink
from kafka.reading import read_topic
from kafka.writing import Outgoing, batch, configured
from testkit.servers.kafka import QUICK_TO_BELIEVE_IN_DEATH, KafkaBroker

_ONCE_EACH = {
    "delivery.guarantee": "exactly-once",
    "topic.creation.default.replication.factor": 1,
    "topic.creation.default.partitions": 3,
}
_NAME = "pipeline"
_OFFSETS = f"cdckit-offsets-{_NAME}"
_HEAD = struct.Struct(">qiibih")
_CONTROL = 0x20
_RECORDS = [Outgoing("changes", b"%d" % number, b"%d" % number) for number in range(30)]


@pytest.fixture
def broker() -> Iterator[KafkaBroker]:
    """A broker of the test's own that is soon back after a kill."""
    with KafkaBroker().start(**QUICK_TO_BELIEVE_IN_DEATH) as broker:
        yield broker


@contextmanager
def opened(broker: KafkaBroker, *, resumes: bool = True, **options: str) -> Iterator[tuple[KafkaSink, Transactions]]:
    """An open sink and its transactions."""
    given = {option.replace("_", "."): value for option, value in options.items()}
    sink = KafkaSink(configured(broker.bootstrap, {**_ONCE_EACH, **given}))
    try:
        sink.open(SinkContext(_NAME, once=True, resumes=resumes))
        assert sink.transactions is not None
        yield sink, sink.transactions
    finally:
        sink.close()


def test_a_transaction_that_kafka_left_open_is_written_again(broker: KafkaBroker) -> None:
    with opened(broker) as (sink, transactions):
        transactions.commit({"at": 1})
        sink.write(batch(_RECORDS))
        transactions.commit({"at": 2})
        assert len(read_topic(broker.bootstrap, "changes")) == len(_RECORDS)
    broker.kill()
    assert _take_last_markers(broker.datadir, "changes") == 3
    assert _take_last_markers(broker.datadir, _OFFSETS) == 1
    broker.start()
    with pytest.raises(SinkError, match=f"left it open in topic '{_OFFSETS}'"), opened(broker, resumes=False):
        pass
    with opened(broker) as (sink, transactions):
        assert transactions.committed() == {"at": 1}
        assert read_topic(broker.bootstrap, "changes") == []
        sink.write(batch(_RECORDS[:1]))
        transactions.commit({"at": 1})
        sink.write(batch(_RECORDS[1:]))
        transactions.commit({"at": 2})
    seen = [record.value for record in read_topic(broker.bootstrap, "changes")]
    assert sorted(map(str, seen)) == sorted(str(one.value) for one in _RECORDS)


def _take_last_markers(data: Path, topic: str) -> int:
    """Takes the marker at the end of each of a topic's logs away; gives how many there were."""
    taken = 0
    for log in data.glob(f"{topic}-*/*.log"):
        content, place, last, attributes = log.read_bytes(), 0, 0, 0
        while place + _HEAD.size <= len(content):
            last = place
            _, length, _, _, _, attributes = _HEAD.unpack_from(content, place)
            place += 12 + length
        if attributes & _CONTROL:
            log.write_bytes(content[:last])
            taken += 1
    return taken


def test_what_another_pipeline_has_open_in_a_shared_topic_is_waited_for(
    kafka_broker: KafkaBroker, unique_name: str
) -> None:
    topic = f"{unique_name}-offsets"
    with opened(kafka_broker, offset_topic=topic) as (_, transactions):
        transactions.commit({"at": 1})
    other = Producer({"bootstrap.servers": kafka_broker.bootstrap, "transactional.id": unique_name})
    other.init_transactions(30)
    other.begin_transaction()
    other.produce(topic, b"{}", b"another's")
    other.flush()
    threading.Timer(7, other.commit_transaction).start()
    with opened(kafka_broker, offset_topic=topic) as (_, transactions):
        assert transactions.committed() == {"at": 1}
