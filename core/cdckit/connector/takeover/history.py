"""Schema histories that Debezium's connectors keep: a file, a Kafka topic, or a dump of one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cdckit.api.takeover import HistoryRecord
from cdckit.connector.damage import DAMAGE
from cdckit.connector.waiting import answer_of
from cdckit.errors import ConfigError, SourceError, StateError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, TopicPartition

_SCHEME = "kafka://"


@dataclass(frozen=True, slots=True)
class Patience:
    """How many seconds a topic is waited for.

    Attributes:
        query: for what Kafka knows of it.
        record: for the next of its records.
        options: what sets them, for messages.
    """

    query: float = 30.0
    record: float = 30.0
    options: str = ""


def read_history(
    place: str, properties: Mapping[str, str] | None = None, patience: Patience | None = None
) -> Iterator[HistoryRecord]:
    """The records of a history, in order.

    Args:
        place: the file of Debezium's `FileSchemaHistory`, a dump of a topic with a record a line (also as `KEY TAB
            VALUE`, or in a JSON object's `value`), or a topic: `kafka://HOST:PORT[,…]/TOPIC`.
        properties: more of the consumer's, in librdkafka's words.
        patience: how long a topic is waited for.

    Raises:
        StateError: it is none of these, or has more than one partition.
        SourceError: Kafka cannot be reached.
    """
    if place.startswith(_SCHEME):
        servers, _, topic = place.removeprefix(_SCHEME).rpartition("/")
        if not servers or not topic:
            raise ConfigError(f"--history: '{place}' is not of the form kafka://HOST:PORT/TOPIC")
        yield from _documents(_of_topic(servers, topic, properties or {}, patience or Patience()), place)
        return
    try:
        with Path(place).open("rb") as lines:
            yield from _documents(lines, place)
    except OSError as error:
        raise StateError(f"{place}: {error.strerror}") from error


def _documents(lines: Iterator[bytes], place: str) -> Iterator[HistoryRecord]:
    for number, line in enumerate(lines, 1):
        text = line.rpartition(b"\t")[2].strip()
        if not text or text == b"null":
            continue
        try:
            record = json.loads(text)
            found = record.get("value", record) if "position" not in record else record
            document = json.loads(found) if isinstance(found, str) else found
            if not isinstance(document, dict):
                raise TypeError("no object")
        except DAMAGE as error:
            raise StateError(f"{place}, record {number}: no JSON document of a schema history") from error
        yield document


def _of_topic(servers: str, topic: str, properties: Mapping[str, str], patience: Patience) -> Iterator[bytes]:
    try:
        from confluent_kafka import Consumer, TopicPartition  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise ConfigError("--history kafka://… needs the extra: pip install 'cdckit[kafka]'") from error
    own = {"bootstrap.servers": servers, "group.id": "cdckit-takeover", "enable.auto.commit": "false"}
    consumer = Consumer({**own, **properties})
    try:
        yield from _whole(consumer, TopicPartition(topic, 0, 0), patience)
    finally:
        consumer.close()


def _whole(consumer: Consumer, place: TopicPartition, patience: Patience) -> Iterator[bytes]:
    from confluent_kafka import KafkaException  # noqa: PLC0415 - an optional extra

    try:
        topic = answer_of(lambda: consumer.list_topics(place.topic, patience.query)).topics[place.topic]
        if topic.error is not None:
            raise StateError(f"topic {place.topic}: {topic.error.str()}")
        if len(topic.partitions) != 1:
            raise StateError(
                f"topic {place.topic} has {len(topic.partitions)} partitions; a schema history has one, or it has no "
                "order"
            )
        _, end = answer_of(lambda: consumer.get_watermark_offsets(place, patience.query))
        consumer.assign([place])
        at = 0
        while at < end:
            message = answer_of(lambda: consumer.poll(patience.record))
            if message is None or message.error():
                reason = message.error() if message else f"no record for {patience.record:g} s{patience.options}"
                raise SourceError(f"topic {place.topic} cannot be read: {reason}")
            at = (message.offset() or 0) + 1
            yield message.value() or b""
    except KafkaException as error:
        raise SourceError(f"topic {place.topic} cannot be read: {error}") from error
