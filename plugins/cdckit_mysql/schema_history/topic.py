"""The schema history's copy in a Kafka topic, in the documents of Debezium's own (`schema.history.internal: kafka`).

The pipeline reads its own state; the topic is for who takes over from it, be it a Debezium connector or a pipeline that
has lost its state. A record is in the topic before any offset behind its statement is saved.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cdckit import ConfigError, HistoryRecord, StateError
from cdckit.connector.takeover.history import Patience, read_history
from cdckit.connector.waiting import answer_of
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

_client_log = logging.getLogger("cdckit.mysql.client")
_LOSSLESS: dict[str, str | int | float | bool] = {
    "enable.idempotence": True,
    "max.in.flight.requests.per.connection": 1,
}
"""With more requests under way librdkafka may count one as acknowledged that a new topic's broker has refused."""
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
        self._query = config.schema_history_internal_kafka_query_timeout_ms / 1000
        self._write_seconds = config.schema_history_internal_kafka_create_timeout_ms / 1000
        self._patience = _patience(config, self._query)
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
        return read_history(f"kafka://{self._servers}/{self._topic}", self._properties, self._patience)

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
        if answer_of(lambda: self._producer.flush(self._write_seconds)) or failures:
            raise StateError(
                f"schema.history.internal.kafka.topic: {self._topic} at {self._servers} does not take a record: "
                f"{failures[0] if failures else self._no_answer()}"
            )

    def _no_answer(self) -> str:
        option = "schema.history.internal.kafka.create.timeout.ms"
        return f"no answer for {self._write_seconds:g} s ({option})"

    @cached_property
    def _producer(self) -> Producer:
        """The producer, once the topic is there, with the one partition that gives it an order."""
        try:
            from confluent_kafka import Producer  # noqa: PLC0415 - an optional extra
            from confluent_kafka.admin import AdminClient  # noqa: PLC0415
        except ImportError as error:
            raise ConfigError("schema.history.internal=kafka needs the extra: pip install 'cdckit[kafka]'") from error
        settings: dict[str, str | int | float | bool] = {"bootstrap.servers": self._servers, **self._properties}
        _with(self._topic, lambda: answer_of(lambda: self._make(AdminClient(settings, logger=_client_log))))
        return Producer({**settings, **_LOSSLESS}, logger=_client_log)

    def _make(self, admin: Any) -> None:
        from confluent_kafka.cimpl import NewTopic  # noqa: PLC0415 - an optional extra

        topic = self._topic
        known = admin.list_topics(timeout=self._query).topics.get(topic)
        if known is None:
            made = admin.create_topics([NewTopic(topic, num_partitions=1, config=_FOREVER)])[topic]
            made.result(self._write_seconds)
        elif len(known.partitions) != 1:
            raise StateError(
                f"schema.history.internal.kafka.topic: {topic} has {len(known.partitions)} partitions; a schema "
                "history has one, or its records have no order: name another topic, which is made with one"
            )


def _with(topic: str, act: Callable[[], None]) -> None:
    from confluent_kafka import KafkaException  # noqa: PLC0415 - an optional extra

    try:
        act()
    except (KafkaException, TimeoutError) as error:
        said = error or "no answer (schema.history.internal.kafka.create.timeout.ms)"
        raise StateError(f"schema.history.internal.kafka.topic: {topic} cannot be had: {said}") from error


def _patience(config: MySqlConfig, query: float) -> Patience:
    wait = config.schema_history_internal_kafka_recovery_poll_interval_ms
    options = " (schema.history.internal.kafka.recovery.poll.interval.ms and .recovery.attempts)"
    return Patience(query, wait * config.schema_history_internal_kafka_recovery_attempts / 1000, options)
