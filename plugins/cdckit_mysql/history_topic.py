"""The schema history's copy in a Kafka topic, in the documents of Debezium's own (`schema.history.internal: kafka`).

The pipeline reads its own state; the topic is for who takes over from it, be it a Debezium connector or a pipeline that
has lost its state. A record is in the topic before any offset behind its statement is saved.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cdckit.errors import ConfigError, StateError
from cdckit.takeover.history import HistoryRecord, read_history
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.ddl import SchemaChange
from cdckit_mysql.filters import Filters
from cdckit_mysql.offsets import SNAPSHOT_RUNNING, LogOffset
from cdckit_mysql.schema_changes.events import SchemaEvent, SchemaEvents
from cdckit_mysql.schema_changes.formats import HistoryFormat, history_document
from cdckit_mysql.schema_changes.snapshot import CreateStatements, snapshot_events
from cdckit_mysql.table import Tables

if TYPE_CHECKING:
    from confluent_kafka import Producer

_SECONDS = 30.0
_FOREVER = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}


class HistoryTopic:
    """Writes and reads the topic of one source.

    Args:
        config: the source's options.
        filters: what is captured.
    """

    def __init__(self, config: MySqlConfig, filters: Filters) -> None:
        self._servers = config.schema_history_internal_kafka_bootstrap_servers
        self._topic = config.schema_history_internal_kafka_topic
        self._properties = dict(config.schema_history_internal_producer)
        self._prefix = config.topic_prefix
        self._comments = config.include_schema_comments
        self._events = SchemaEvents(config, filters, HistoryFormat.told)

    def started(self, tables: Tables, created: CreateStatements, point: LogOffset) -> None:
        """Notes all definitions as a snapshot found them at `point`.

        Raises:
            StateError: Kafka does not take them.
        """
        self._write(snapshot_events(tables, created), point.with_changes(snapshot=SNAPSHOT_RUNNING))

    def changed(self, changes: Sequence[SchemaChange], tables: Tables, behind: LogOffset) -> None:
        """Notes what a statement changed; the log goes on at `behind`.

        Raises:
            StateError: Kafka does not take it.
        """
        self._write(self._events.of(changes, tables), behind)

    def records(self) -> Iterator[HistoryRecord]:
        """What the topic holds, in order.

        Raises:
            StateError: it has more than one partition, or cannot be read.
        """
        return read_history(f"kafka://{self._servers}/{self._topic}", self._properties)

    def close(self) -> None:
        """Lets the connection go; writing opens another one."""
        self.__dict__.pop("_producer", None)

    def _write(self, events: Iterable[SchemaEvent], at: LogOffset) -> None:
        failures: list[str] = []

        def delivered(error: Any, _message: Any) -> None:
            if error is not None:
                failures.append(str(error))

        for event in events:
            document = history_document(event, self._prefix, at, comments=self._comments)
            timed = {**document, "ts_ms": time.time_ns() // 1_000_000}
            self._producer.produce(self._topic, json.dumps(timed).encode(), partition=0, on_delivery=delivered)
        if self._producer.flush(_SECONDS) or failures:
            raise StateError(
                f"schema.history.internal.kafka.topic: {self._topic} at {self._servers} does not take a record: "
                f"{failures[0] if failures else 'no answer'}"
            )

    @cached_property
    def _producer(self) -> Producer:
        """The producer, once the topic is there, with the one partition that gives it an order."""
        try:
            from confluent_kafka import Producer  # noqa: PLC0415 - an optional extra
            from confluent_kafka.admin import AdminClient  # noqa: PLC0415
        except ImportError as error:
            raise ConfigError("schema.history.internal=kafka needs the extra: pip install 'cdckit[kafka]'") from error
        settings: dict[str, str | int | float | bool] = {"bootstrap.servers": self._servers, **self._properties}
        _with(self._topic, lambda: _make(AdminClient(settings), self._topic))
        return Producer({**settings, "enable.idempotence": True})


def _with(topic: str, act: Callable[[], None]) -> None:
    from confluent_kafka import KafkaException  # noqa: PLC0415 - an optional extra

    try:
        act()
    except KafkaException as error:
        raise StateError(f"schema.history.internal.kafka.topic: {topic} cannot be had: {error}") from error


def _make(admin: Any, topic: str) -> None:
    from confluent_kafka.cimpl import NewTopic  # noqa: PLC0415 - an optional extra

    known = admin.list_topics(timeout=_SECONDS).topics.get(topic)
    if known is None:
        admin.create_topics([NewTopic(topic, num_partitions=1, config=_FOREVER)])[topic].result(_SECONDS)
    elif len(known.partitions) != 1:
        raise StateError(
            f"schema.history.internal.kafka.topic: {topic} has {len(known.partitions)} partitions; a schema history "
            "has one, or its records have no order: name another topic, which is made with one"
        )
