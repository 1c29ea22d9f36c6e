"""Versions of tables: what a definition makes of rows, kept for as long as the definition holds."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

from cdckit import DecodeError, Schema
from cdckit.connector.avro_names import field_names, schema_names
from cdckit.connector.context_headers import context_headers
from cdckit.connector.table_events import RecordOptions, TableEvents
from cdckit.connector.topics import Topics
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.converters.configured import Converters, converter_options
from cdckit_mysql.events.formats import event_format
from cdckit_mysql.events.source_block import source_blocks
from cdckit_mysql.filters import Filters
from cdckit_mysql.server.facts import RowLogging
from cdckit_mysql.table import Column, Table, TableId
from cdckit_mysql.values.column import ColumnValue, column_value, telling_dates
from cdckit_mysql.values.conversion_failures import ConversionFailures
from cdckit_mysql.values.options import ValueOptions

log = logging.getLogger("cdckit.mysql")


_KEPT = 10_000
"""So many tables' versions are kept; one more, and the one that was made first is made anew when it is needed."""


@dataclass(frozen=True, slots=True)
class TableVersion:
    """One definition of a captured table.

    Attributes:
        table: the definition.
        values: how each of its columns is rendered; None for one that is left out.
        events: what makes its records.
    """

    table: Table
    values: tuple[ColumnValue | None, ...]
    events: TableEvents

    @property
    def shown(self) -> list[tuple[Column, ColumnValue]]:
        """The columns that events show, in order."""
        pairs = zip(self.table.columns, self.values, strict=True)
        return [(column, value) for column, value in pairs if value is not None]


class TableVersions:
    """Makes and keeps the versions of captured tables for one run of a source.

    Args:
        config: the source's options.
        filters: what is captured.
        rows: how the server shows rows.
        run_id: the run's id in the records' headers.
    """

    def __init__(self, config: MySqlConfig, filters: Filters, rows: RowLogging, *, run_id: str) -> None:
        self.topics = Topics(config, config.topic_prefix)
        self.format = event_format(config)
        self.blocks = source_blocks(config)
        self._filters = filters
        handling = config.event_converting_failure_handling_mode
        self.conversion_failures = None if handling == "fail" else ConversionFailures(handling)
        self._field_name: Callable[[str], str] = field_names(config.field_names)
        self._options = ValueOptions(
            zero_timestamps=rows.mariadb or config.event_format != "3",
            event_format=config.event_format,
            decimal_mode=config.decimal_handling_mode,
            time_mode=config.time_precision_mode,
            bigint_unsigned_mode=config.bigint_unsigned_handling_mode,
            binary_mode=config.binary_handling_mode,
            time_adjuster=config.enable_time_adjuster,
            invalid_dates="fail" if config.event_deserialization_failure_handling_mode == "fail" else "epoch",
            unavailable_value=config.unavailable_value_placeholder,
            propagates_type=filters.propagates_type,
            complete_images=rows.complete,
            comments=config.include_schema_comments,
            mapping=filters.mapping,
            failures=self.conversion_failures,
            converter=Converters(converter_options(config.converters, config.converter_options)).of,
        )
        self._key_options = replace(self._options, propagates_type=_nowhere, mapping=_unmapped, complete_images=True)
        headers = context_headers(config.topic_prefix, config.connector, run_id)
        self.headers = headers if config.extended_headers_enabled and self.format.context_headers else ()
        self._events = RecordOptions(
            headers=self.headers,
            source=self.blocks.schema,
            envelope=self.format.envelope,
            tombstones=config.tombstones_on_delete,
            skip_unchanged=config.skip_messages_without_change,
            schema_name=schema_names(config.schema_name_adjustment_mode),
        )
        self._kept: dict[TableId, TableVersion] = {}
        self._by_table = bool(config.converters) or self.conversion_failures is not None
        self._values: dict[tuple[int, bool], ColumnValue] = {}
        self._dates_met: defaultdict[tuple[TableId, str], set[str]] = defaultdict(set)

    def of(self, table: Table) -> TableVersion:
        """The version of a captured table that this definition makes.

        Raises:
            DecodeError: the definition cannot be rendered.
        """
        kept = self._kept.get(table.id)
        if kept is None or (kept.table is not table and kept.table != table):
            if len(self._kept) >= _KEPT:
                del self._kept[next(iter(self._kept))]
            kept = self._kept[table.id] = self._make(table)
        return kept

    @property
    def complete_images(self) -> bool:
        """Whether the log is to carry all columns of a changed row."""
        return self._options.complete_images

    @cached_property
    def with_gaps(self) -> TableVersions:
        """The versions for rows of which the log carries only some columns, as sessions may have it.

        Those that cannot hold the placeholder are optional in their schemas.
        """
        if not self.complete_images:
            return self
        other = copy(self)
        other._options = replace(self._options, complete_images=False)
        other._kept, other._values = {}, {}
        return other

    def _make(self, table: Table) -> TableVersion:
        in_key = self._filters.key_columns(table)
        values = tuple(self._value(table.id, column, in_key=column.name in in_key) for column in table.columns)
        fields: dict[str, Schema] = {}
        for column, value in zip(table.columns, values, strict=True):
            name = self._field_name(column.name)
            if value is None:
                continue
            if name in fields:
                raise DecodeError(
                    f"{table.id}: two columns would be called '{name}' in events: "
                    "set field.name.adjustment.mode=avro_unicode, or leave one out with column.exclude.list",
                    number="CDC5109",
                )
            fields[name] = value.schema
        key = {
            self._field_name(column.name): self._key_schema(table.id, column, value)
            for column, value in self._key_columns(table, values)
        }
        masks = {place: value.mask for place, value in enumerate(filter(None, values)) if value.mask is not None}
        events = TableEvents.named(self.topics, table.id, fields, key, self._events, masks, table.comment)
        return TableVersion(table, values, events)

    def _value(self, table: TableId, column: Column, *, in_key: bool) -> ColumnValue | None:
        if not self._filters.column(table, column.name):
            return None
        value = self._column_value(table, column, in_key=in_key)
        if value.mask is not None:
            log.warning("%s.%s is masked or cut in events, but the records' key shows it as it is", table, column.name)
        if in_key and value.kind in {"date", "datetime"}:
            return telling_dates(value, table, self._dates_met[table, column.name])
        return value

    def _column_value(self, table: TableId, column: Column, *, in_key: bool) -> ColumnValue:
        """How it is rendered, once for a column that tables of one shape share, unless that hangs on the table."""
        if self._by_table or self._tells_more(table, column):
            return column_value(column, self._options, table, in_key=in_key)
        known = self._values.get((id(column), in_key))
        if known is None or known.column is not column:
            if len(self._values) >= _KEPT:
                self._values.clear()
            known = self._values[id(column), in_key] = column_value(column, self._options, table, in_key=in_key)
        return known

    def _key_columns(self, table: Table, values: Sequence[ColumnValue | None]) -> Iterator[tuple[Column, ColumnValue]]:
        """The columns of the key that events show, in the key's order."""
        shown = {
            column.name: (column, value)
            for column, value in zip(table.columns, values, strict=True)
            if value is not None
        }
        return (shown[name] for name in self._filters.key_columns(table) if name in shown)

    def _key_schema(self, table: TableId, column: Column, value: ColumnValue) -> Schema:
        """Keys never show the columns' declared types, and the log always holds their columns."""
        if self._options.complete_images and not self._tells_more(table, column):
            return value.schema
        return column_value(column, self._key_options, table).schema

    def _tells_more(self, table: TableId, column: Column) -> bool:
        """Whether the column's schema in events has parameters that it has not in keys."""
        return self._options.propagates_type(table, column) or self._options.mapping(table, column) is not None


def _nowhere(_table: TableId, _column: Column) -> bool:
    return False


def _unmapped(_table: TableId, _column: Column) -> None:
    return None
