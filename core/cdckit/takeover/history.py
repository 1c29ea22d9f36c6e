"""Schema histories that Debezium's connectors keep: a file, a Kafka topic, or a dump of one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdckit.errors import ConfigError, SourceError, StateError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, TopicPartition

_SCHEME = "kafka://"
_SECONDS = 30.0

HistoryRecord = dict[str, Any]
"""A document of the history: `source`, `position`, `databaseName`, `ddl`, `tableChanges` …."""


def read_history(place: str, properties: Mapping[str, str] | None = None) -> Iterator[HistoryRecord]:
    """The records of a history, in order.

    Args:
        place: the file of Debezium's `FileSchemaHistory`, a dump of a topic with a record a line (also as `KEY TAB
            VALUE`, or in a JSON object's `value`), or a topic: `kafka://HOST:PORT[,…]/TOPIC`.
        properties: more of the consumer's, in librdkafka's words.

    Raises:
        StateError: it is none of these, or has more than one partition.
        SourceError: Kafka cannot be reached.
    """
    if place.startswith(_SCHEME):
        servers, _, topic = place.removeprefix(_SCHEME).rpartition("/")
        if not servers or not topic:
            raise ConfigError(f"--history: '{place}' is not of the form kafka://HOST:PORT/TOPIC")
        yield from _documents(_of_topic(servers, topic, properties or {}), place)
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
            yield json.loads(found) if isinstance(found, str) else found
        except (ValueError, AttributeError) as error:
            raise StateError(f"{place}, record {number}: no JSON document of a schema history") from error


def _of_topic(servers: str, topic: str, properties: Mapping[str, str]) -> Iterator[bytes]:
    try:
        from confluent_kafka import Consumer, TopicPartition  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise ConfigError("--history kafka://… needs the extra: pip install 'cdckit[kafka]'") from error
    own = {"bootstrap.servers": servers, "group.id": "cdckit-takeover", "enable.auto.commit": "false"}
    consumer = Consumer({**own, **properties})
    try:
        yield from _whole(consumer, TopicPartition(topic, 0, 0))
    finally:
        consumer.close()


def _whole(consumer: Consumer, place: TopicPartition) -> Iterator[bytes]:
    from confluent_kafka import KafkaException  # noqa: PLC0415 - an optional extra

    try:
        partitions = consumer.list_topics(place.topic, _SECONDS).topics[place.topic].partitions
        if len(partitions) != 1:
            raise StateError(
                f"topic {place.topic} has {len(partitions)} partitions; a schema history has one, or it has no order"
            )
        _, end = consumer.get_watermark_offsets(place, _SECONDS)
        consumer.assign([place])
        at = 0
        while at < end:
            message = consumer.poll(_SECONDS)
            if message is None or message.error():
                raise SourceError(f"topic {place.topic} cannot be read: {message and message.error()}")
            at = (message.offset() or 0) + 1
            yield message.value() or b""
    except KafkaException as error:
        raise SourceError(f"topic {place.topic} cannot be read: {error}") from error
