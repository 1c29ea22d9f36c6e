"""EventRouter: the rows of an outbox table as the events that they hold (Debezium's transform of that name)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from cdckit import (
    OPTIONAL_STRING,
    Datum,
    Header,
    Record,
    Schema,
    SchemaAndValue,
    Struct,
    Transform,
    TransformError,
    plain,
    struct_schema,
)
from cdckit.connector.envelope import is_envelope
from cdckit.java.regex.topic_rewrite import TopicRewrite
from cdckit_transforms.envelope import (
    AFTER,
    DELETE,
    OPERATION,
    Get,
    Holes,
    Layouts,
    getter,
    is_null,
    is_plain_envelope,
)
from cdckit_transforms.event_router_config import EventRouterConfig
from cdckit_transforms.json_payload import expanded
from cdckit_transforms.outbox_table import OF_A_TABLE, OutboxTable, Words

log = logging.getLogger(__name__)

_UPDATE = "u"


@dataclass(frozen=True, slots=True)
class _Envelope:
    """Takes the parts of envelopes of one schema."""

    operation: Get
    after: Get
    time: Get


class EventRouter(Transform):
    """An inserted row becomes the event that it holds, in the topic that it names.

    Deletes and tombstones are left out, since an outbox is emptied as it is read. What is no change event passes.
    """

    words: ClassVar[Words] = OF_A_TABLE

    def __init__(self, config: EventRouterConfig) -> None:
        self._config = config
        self._keep_nulls = config.table_json_payload_null_behavior == "optional_bytes"
        self._rewrite = TopicRewrite(config.route_topic_regex, config.route_topic_replacement, "route.topic.regex")
        self._layouts = Layouts(_envelope)
        self._told: set[tuple[str, str]] = set()

    def apply(self, record: Record) -> Record | None:
        """The event of an inserted row.

        Raises:
            TransformError: the table lacks a column, or one does not hold what it should.
        """
        value = record.value
        if value is None or is_null(value):
            return None
        if isinstance(value, Struct):
            envelope = self._layouts.of(value)
            if envelope is None:
                return record
            return self._routed(record, envelope.operation(value), envelope.after(value), envelope.time(value))
        if not is_plain_envelope(value):
            return record
        routed = self._routed(record, *_plain_parts(value.value))
        return None if routed is None else _without_schemas(routed, record)

    def _routed(self, record: Record, operation: str, row: Struct | None, captured_ms: int | None) -> Record | None:
        if operation == DELETE:
            return None
        if operation == _UPDATE or row is None:
            self._unexpected(record, operation)
            return None
        return self._event(record, row, captured_ms)

    def _event(self, record: Record, row: Struct, captured_ms: int | None) -> Record:
        table = row.schema.derived.get(self)
        if table is None:
            table = row.schema.derived[self] = OutboxTable(row.schema, self._config, self.words)
        route = table.route.of(row)
        if not isinstance(route, str):
            where = f"{self.words.part} '{self._config.route_by_field}' (route.by.field)"
            raise TransformError(f"{where} holds {route!r}, no text")
        topic = self._rewrite(route)
        timestamp = table.timestamp(row)
        return Record(
            route if topic is None else topic,
            table.key(row),
            self._value(record, table, row, route),
            (*record.headers, *table.headers(row)),
            record.position,
            timestamp if timestamp is not None else record.timestamp if captured_ms is None else captured_ms,
            table.partition(row),
        )

    def _value(self, record: Record, table: OutboxTable, row: Struct, route: str) -> Datum | None:
        payload = table.payload.of(row)
        if self._config.route_tombstone_on_empty_payload and (payload is None or not str(payload).strip()):
            return None
        datum: Datum = SchemaAndValue(table.payload.schema, payload)
        if self._config.table_expand_json_payload and payload is not None:
            datum = self._expanded(record, payload) or datum
        return table.value(row, datum, route)

    def _expanded(self, record: Record, payload: Any) -> Datum | None:
        try:
            return expanded(payload, self._config.table_field_event_payload, keep_nulls=self._keep_nulls)
        except ValueError as error:
            self._tell(record, "a payload that cannot be expanded", f"it is left as it is ({error})", logging.WARNING)
            return None

    def _unexpected(self, record: Record, operation: str) -> None:
        behavior = self._config.table_op_invalid_behavior
        if behavior == "fatal":
            raise TransformError(
                f"an outbox should see inserts and deletes alone, and this is '{operation}' "
                f"({self.words.prefix}.op.invalid.behavior)"
            )
        level = logging.ERROR if behavior == "error" else logging.WARNING
        self._tell(record, f"a change '{operation}', which an outbox should not see", "it is left out", level)

    def _tell(self, record: Record, what: str, consequence: str, level: int) -> None:
        """Logs the first of a topic's faults of one kind, and further ones for those who look closely."""
        first = (record.topic, what) not in self._told
        self._told.add((record.topic, what))
        log.log(
            level if first else logging.DEBUG,
            *("topic %s, position %s: %s; %s", record.topic, record.position or "unknown", what, consequence),
        )


def _envelope(schema: Schema, holes: Holes) -> _Envelope | None:
    if not is_envelope(schema) or AFTER not in schema.index:
        return None
    operation, after = (getter((schema.index[name],), holes) for name in (OPERATION, AFTER))
    time = getter((schema.index["ts_ms"],), holes) if "ts_ms" in schema.index else _no_time
    return _Envelope(operation, after, time)


def _no_time(_: Struct) -> None:
    """Of an envelope that does not tell when it was made."""


def _plain_parts(envelope: Mapping[str, Any]) -> tuple[str, Struct | None, int | None]:
    """Operation, row and time of an envelope without a schema; the row as a struct whose types say nothing."""
    row = envelope.get(AFTER)
    schema = struct_schema(None, dict.fromkeys(row or (), OPTIONAL_STRING))
    return envelope[OPERATION], row and Struct(schema, tuple(row.values())), envelope.get("ts_ms")


def _without_schemas(routed: Record, given: Record) -> Record:
    added = (Header(header.key, header.value, None) for header in routed.headers[len(given.headers) :])
    return routed.replace(
        key=_schemaless(routed.key), value=_schemaless(routed.value), headers=(*given.headers, *added)
    )


def _schemaless(datum: Datum | None) -> Datum | None:
    if datum is None:
        return None
    return SchemaAndValue(None, plain(datum if isinstance(datum, Struct) else datum.value))
