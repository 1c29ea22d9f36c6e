"""Schema histories that Debezium's connectors keep: a file, a Kafka topic, or a dump of one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from cdckit.api.takeover import HistoryRecord
from cdckit.connector.damage import DAMAGE
from cdckit.errors import ConfigError, SourceError, StateError
from cdckit.kafka import (
    CONSUMER,
    ClientErrors,
    ClientOptions,
    KafkaClientError,
    ask,
    from_java_or_librdkafka,
    open_consumer,
)
from cdckit.waiting import let_go

if TYPE_CHECKING:
    from confluent_kafka import Consumer

_SCHEME = "kafka://"
_NO_MATTER = ("GROUP_AUTHORIZATION_FAILED",)
"""What librdkafka tells though nothing is asked of the group, which is told of no offset."""
_IMPORT = ClientOptions("--history-consumer", "--history", patience="30 s")


@dataclass(frozen=True, slots=True)
class Patience:
    """How many seconds a topic is waited for.

    Attributes:
        query: for what Kafka knows of it.
        record: for the next of its records.
        options: what sets the latter, for messages.
    """

    query: float = 30.0
    record: float = 30.0
    options: str = ""


@dataclass(frozen=True, slots=True)
class HistoryClient:
    """How a topic is read.

    Attributes:
        settings: more of the consumer's, in librdkafka's words.
        options: where they came from, for messages.
        patience: how long the topic is waited for.
    """

    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    options: ClientOptions = _IMPORT
    patience: Patience = field(default_factory=Patience)

    @classmethod
    def of_file(cls, path: Path) -> Self:
        """As a file of properties says, such as Kafka's own tools take (`consumer.properties`).

        Raises:
            ConfigError: it cannot be read, or a property cannot be had here.
        """
        import javaproperties  # noqa: PLC0415 - only such a file needs it

        try:
            with path.open("rb") as file:
                given = javaproperties.load(file)
            return cls(from_java_or_librdkafka(given, CONSUMER, _IMPORT.properties).settings)
        except OSError as error:
            raise ConfigError(f"{_IMPORT.properties}: {path}: {error.strerror}") from error
        except ValueError as error:
            raise ConfigError(str(error)) from error


def read_history(place: str, client: HistoryClient | None = None) -> Iterator[HistoryRecord]:
    """The records of a history, in order.

    Args:
        place: the file of Debezium's `FileSchemaHistory`, a dump of a topic with a record a line (also as `KEY TAB
            VALUE`, or in a JSON object's `value`), or a topic: `kafka://HOST:PORT[,…]/TOPIC`.
        client: how a topic is read.

    Raises:
        ConfigError: the topic is not named so, or the client refuses its settings.
        StateError: it is none of these, or has more than one partition.
        SourceError: Kafka cannot be reached.
    """
    if place.startswith(_SCHEME):
        servers, _, topic = place.removeprefix(_SCHEME).rpartition("/")
        if not servers or not topic:
            raise ConfigError(f"--history: '{place}' is not of the form kafka://HOST:PORT/TOPIC")
        yield from _documents(_of_topic(servers, topic, client or HistoryClient()), place)
        return
    try:
        with Path(place).open("rb") as lines:
            yield from _documents(lines, place)
    except OSError as error:
        raise StateError(f"{place}: {error.strerror}", number="CDC7403") from error


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
            raise StateError(
                f"{place}, record {number}: no JSON document of a schema history", number="CDC7403"
            ) from error
        yield document


def _of_topic(servers: str, topic: str, client: HistoryClient) -> Iterator[bytes]:
    own = {"bootstrap.servers": servers, "group.id": "cdckit-takeover", "enable.auto.commit": "false"}
    settings = {**own, **client.settings}
    errors = ClientErrors(client.options, settings)
    consumer = open_consumer(settings, errors)
    try:
        yield from _whole(consumer, topic, errors, client.patience)
    except KafkaClientError as fault:
        raise SourceError(f"topic {topic} cannot be read: {fault}", number="CDC3405") from fault
    finally:
        let_go(consumer.close)


def _whole(consumer: Consumer, topic: str, errors: ClientErrors, patience: Patience) -> Iterator[bytes]:
    from confluent_kafka import TopicPartition  # noqa: PLC0415 - an optional extra

    place = TopicPartition(topic, 0, 0)
    known = ask(errors, consumer.poll, lambda: consumer.list_topics(topic, patience.query)).topics[topic]
    if known.error is not None:
        raise StateError(f"topic {topic}: {known.error.str()}", number="CDC7403")
    if len(known.partitions) != 1:
        raise StateError(
            f"topic {topic} has {len(known.partitions)} partitions; a schema history has one, or it has no order",
            number="CDC7403",
        )
    _, end = ask(errors, consumer.poll, lambda: consumer.get_watermark_offsets(place, patience.query))
    consumer.assign([place])
    at = 0
    while at < end:
        message = ask(errors, consumer.poll, lambda: consumer.poll(patience.record))
        if message is None:
            raise SourceError(
                f"topic {topic} cannot be read: no record for {patience.record:g} s{patience.options}", number="CDC3405"
            )
        if (error := message.error()) is not None:
            if error.name() in _NO_MATTER:
                continue
            raise errors.fault(error)
        at = (message.offset() or 0) + 1
        yield message.value() or b""
