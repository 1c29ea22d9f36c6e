"""An outbox table's columns: which part of an event each row's values become."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cdckit import Datum, Header, Schema, SchemaAndValue, Struct, TransformError, logical, struct_schema
from cdckit_transforms.event_router_config import EventRouterConfig, Where

EVENT_ID = "id"
"""The header with the event's id."""
PAYLOAD = "payload"
"""The field of the payload where other columns stand beside it."""

_UNITS = {
    logical.TIMESTAMP.name: 1,
    logical.MICRO_TIMESTAMP.name: 1_000,
    logical.NANO_TIMESTAMP.name: 1_000_000,
}
"""The types that a column with the event's time may have, and how many of their units make a millisecond."""


@dataclass(frozen=True, slots=True)
class Words:
    """What errors call an outbox.

    Attributes:
        whole: that which has the columns.
        part: a column.
        prefix: what the names of the options begin with.
    """

    whole: str
    part: str
    prefix: str


OF_A_TABLE = Words("table", "column", "table")


@dataclass(frozen=True, slots=True)
class _Column:
    """A column under the name that it has in the event."""

    name: str
    place: int
    schema: Schema

    def of(self, row: Struct) -> Any:
        """The column's value; its default where that is null, as Kafka Connect reads structs."""
        value = row.values[self.place]
        return self.schema.default if value is None else value


class OutboxTable:
    """The columns of one definition of an outbox table.

    Attributes:
        payload: the event itself.
        route: what says where it goes.

    Raises:
        TransformError: the table lacks a column that the options name.
    """

    def __init__(self, schema: Schema, config: EventRouterConfig, words: Words = OF_A_TABLE) -> None:
        self._schema = schema
        self._words = words
        own = f"{words.prefix}.field.event"
        self._event_id = self._column(config.table_field_event_id, f"{own}.id", EVENT_ID)
        self.payload = self._column(config.table_field_event_payload, f"{own}.payload")
        self.route = self._column(config.route_by_field, "route.by.field")
        self._key = self._if_named(config.table_field_event_key, f"{own}.key")
        self._time = self._if_named(config.table_field_event_timestamp, f"{own}.timestamp")
        self._unit = self._unit_of_time()
        self._version = self._if_named(config.table_field_event_schema_version, f"{own}.schema.version")
        self._beside = self._placed(config, "envelope")
        self._in_headers = self._placed(config, "header")
        self._partitions = self._placed(config, "partition")

    def key(self, row: Struct) -> Datum | None:
        """The record's key."""
        return None if self._key is None else SchemaAndValue(self._key.schema, self._key.of(row))

    def headers(self, row: Struct) -> list[Header]:
        """The headers to add."""
        return [Header(column.name, column.of(row), column.schema) for column in (self._event_id, *self._in_headers)]

    def timestamp(self, row: Struct) -> int | None:
        """The event's time in milliseconds since 1970, or None where the row has none."""
        value: int | None = None if self._time is None else self._time.of(row)
        if value is None:
            return None
        return -(-value // self._unit) if value < 0 else value // self._unit  # towards zero, as Java does

    def partition(self, row: Struct) -> int | None:
        """The record's partition, or None where no column says it."""
        return next((column.of(row) for column in self._partitions), None)

    def value(self, row: Struct, payload: Datum, route: str) -> Datum:
        """The payload, with the columns beside it that are to be there."""
        if not self._beside:
            return payload
        version = None if self._version is None else self._version.of(row)
        plain = payload if isinstance(payload, Struct) else payload.value
        return Struct(
            self._value_schema(payload.schema, route, version), (plain, *(column.of(row) for column in self._beside))
        )

    def _value_schema(self, payload: Schema | None, route: str, version: int | None) -> Schema:
        assert payload is not None
        known: Schema | None = payload.derived.get((self, route, version))
        if known is None:
            members = {PAYLOAD: payload, **{column.name: column.schema for column in self._beside}}
            known = struct_schema(self._value_name(route), members, version=version)
            payload.derived[self, route, version] = known
        return known

    def _value_name(self, route: str) -> str:
        """The row's schema name with the route before its last part."""
        front, dot, last = (self._schema.name or "").rpartition(".")
        return f"{front}{dot}{route}.{last}" if last else route

    def _placed(self, config: EventRouterConfig, where: Where) -> Sequence[_Column]:
        option = f"{self._words.prefix}.fields.additional.placement"
        skips = config.table_field_additional_missing == "ignore"
        wanted = [placement for placement in config.placements if placement.where == where]
        return [
            self._column(placement.column, option, placement.alias)
            for placement in wanted
            if not skips or placement.column in self._schema.index
        ]

    def _if_named(self, name: str, option: str) -> _Column | None:
        return self._column(name, option) if name else None

    def _column(self, name: str, option: str, alias: str = "") -> _Column:
        if name not in self._schema.index:
            raise TransformError(f"the outbox {self._words.whole} has no {self._words.part} '{name}' ({option})")
        field = self._schema.field(name)
        return _Column(alias or name, field.index, field.schema)

    def _unit_of_time(self) -> int:
        if self._time is None:
            return 1
        unit = _UNITS.get(self._time.schema.name or "")
        if unit is None:
            raise TransformError(
                f"{self._words.part} '{self._time.name}' ({self._words.prefix}.field.event.timestamp) "
                f"is no timestamp, but {self._time.schema.name or self._time.schema.type}"
            )
        return unit
