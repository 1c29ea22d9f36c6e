"""The schema history's copy in a Kafka topic, in the documents of Debezium's own (`schema.history.internal: kafka`).

The pipeline reads its own state; the topic is for who takes over from it, be it a Debezium connector or a pipeline that
has lost its state. A record is in the topic before any offset behind its statement is saved.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cdckit import HistoryRecord, StateError
from cdckit.connector.takeover.history import HistoryClient, Patience, read_history
from cdckit.kafka import ClientErrors, ClientOptions, KafkaClientError, ask, open_admin, open_producer
from cdckit.waiting import answer_of
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.ddl import SchemaChange
from cdckit_mysql.filters import Filters
from cdckit_mysql.offsets import SNAPSHOT_RUNNING, LogOffset
from cdckit_mysql.options.history import CONSUMER_OPTIONS, PRODUCER_OPTIONS
from cdckit_mysql.schema_changes.events import SchemaEvent, SchemaEvents
from cdckit_mysql.schema_changes.formats import HistoryFormat, history_document
from cdckit_mysql.schema_changes.snapshot import CreateStatements, snapshot_events
from cdckit_mysql.table import Tables

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Producer
    from confluent_kafka.admin import AdminClient

SERVERS = "schema.history.internal.kafka.bootstrap.servers"
QUERY = "schema.history.internal.kafka.query.timeout.ms"
_CREATE = "schema.history.internal.kafka.create.timeout.ms"
_LOSSLESS = {"enable.idempotence": "true", "max.in.flight.requests.per.connection": "1"}
"""With more requests under way librdkafka may count one as acknowledged that a new topic's broker has refused."""
FOREVER = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}


class HistoryTopic:
    """Writes and reads the topic of one source.

    Args:
        config: the source's options.
        filters: what is captured.
    """

    def __init__(self, config: MySqlConfig, filters: Filters) -> None:
        self._servers = config.schema_history_internal_kafka_bootstrap_servers
        self._topic = config.schema_history_internal_kafka_topic
        self._settings = {"bootstrap.servers": self._servers, **config.history_producer.settings}
        self._errors = ClientErrors(ClientOptions(PRODUCER_OPTIONS, SERVERS, QUERY), self._settings)
        self._query = config.schema_history_internal_kafka_query_timeout_ms / 1000
        self._write_seconds = config.schema_history_internal_kafka_create_timeout_ms / 1000
        self._reading = _reading_client(config, self._query)
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
        return read_history(f"kafka://{self._servers}/{self._topic}", self._reading)

    def close(self) -> None:
        """Lets the connection go; writing opens another one."""
        self.__dict__.pop("_producer", None)

    def _write(self, events: Iterable[SchemaEvent], at: LogOffset) -> None:
        failures: list[KafkaError] = []

        def delivered(error: KafkaError | None, _message: Any) -> None:
            if error is not None:
                failures.append(error)

        for event in events:
            document = history_document(event, self._prefix, at, comments=self._comments)
            timed = {**document, "ts_ms": time.time_ns() // 1_000_000}
            self._producer.produce(self._topic, json.dumps(timed).encode(), partition=0, on_delivery=delivered)
        if answer_of(lambda: self._producer.flush(self._write_seconds)) or failures:
            reason = str(self._errors.fault(failures[0])) if failures else self._no_answer()
            place = f"{self._topic} at {self._servers}"
            raise StateError(
                f"schema.history.internal.kafka.topic: {place} does not take a record: {reason}", number="CDC7203"
            )

    def _no_answer(self) -> str:
        reason = self._errors.reason()
        return f"no answer for {self._write_seconds:g} s ({_CREATE})" + (f": {reason}" if reason else "")

    @cached_property
    def _producer(self) -> Producer:
        """The producer, once the topic is there, with the one partition that gives it an order."""
        self._errors.clear()
        try:
            self._make(open_admin(self._settings, self._errors))
        except (KafkaClientError, TimeoutError) as error:
            said = str(error) or f"no answer ({_CREATE})"
            raise StateError(
                f"schema.history.internal.kafka.topic: {self._topic} cannot be had: {said}", number="CDC7203"
            ) from error
        return open_producer({**self._settings, **_LOSSLESS}, self._errors)

    def _make(self, admin: AdminClient) -> None:
        from confluent_kafka.admin import NewTopic  # noqa: PLC0415 - an optional extra

        topic = self._topic
        known = ask(self._errors, admin.poll, lambda: admin.list_topics(timeout=self._query)).topics.get(topic)
        if known is None:
            made = admin.create_topics([NewTopic(topic, num_partitions=1, config=FOREVER)])[topic]
            ask(self._errors, admin.poll, lambda: made.result(self._write_seconds))
        elif len(known.partitions) != 1:
            raise StateError(
                f"schema.history.internal.kafka.topic: {topic} has {len(known.partitions)} partitions; a schema "
                "history has one, or its records have no order: name another topic, which is made with one",
                number="CDC7203",
            )


def _reading_client(config: MySqlConfig, query: float) -> HistoryClient:
    wait = config.schema_history_internal_kafka_recovery_poll_interval_ms
    options = " (schema.history.internal.kafka.recovery.poll.interval.ms and .recovery.attempts)"
    patience = Patience(query, wait * config.schema_history_internal_kafka_recovery_attempts / 1000, options)
    given = CONSUMER_OPTIONS if config.schema_history_internal_consumer else PRODUCER_OPTIONS
    return HistoryClient(config.history_consumer.settings, ClientOptions(given, SERVERS, QUERY), patience)
