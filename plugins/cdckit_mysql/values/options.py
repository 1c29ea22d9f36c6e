"""How columns are rendered: the handling modes of Debezium's options, resolved once for a source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from cdckit import ColumnConverter, Schema
from cdckit_mysql.options.events import EventFormatName
from cdckit_mysql.table import Column, TableId
from cdckit_mysql.values.conversion_failures import ConversionFailures
from cdckit_mysql.values.mapping import ColumnMapping

DecimalMode = Literal["precise", "double", "string"]
TimeMode = Literal["adaptive", "adaptive_time_microseconds", "connect", "isostring", "microseconds", "nanoseconds"]
BigIntUnsignedMode = Literal["long", "precise"]
BinaryMode = Literal["bytes", "base64", "base64-url-safe", "hex"]

UNAVAILABLE_VALUE = "__debezium_unavailable_value"
"""Debezium's default of `unavailable.value.placeholder`."""


def _nowhere(_table: TableId, _column: Column) -> bool:
    return False


def _no_converter(_table: TableId, _column: Column, _schema: Schema) -> ColumnConverter | None:
    return None


def _no_mapping(_table: TableId, _column: Column) -> ColumnMapping | None:
    return None


@dataclass(frozen=True, slots=True)
class ValueOptions:
    """What decides a column's schema and value besides its definition.

    Attributes:
        zero_timestamps: whether zero timestamps of the log are shown, as 1970, and not null: those of MariaDB are,
            and those of every server in the formats of Debezium 1.
        event_format: `event.format`.
        decimal_mode: `decimal.handling.mode`.
        time_mode: `time.precision.mode`.
        bigint_unsigned_mode: `bigint.unsigned.handling.mode`.
        binary_mode: `binary.handling.mode`.
        time_adjuster: `enable.time.adjuster`: years 0 to 69 are 2000 to 2069, 70 to 99 are 1970 to 1999.
        invalid_dates: what a date that does not exist, such as 31 February, does: `fail`, or be `epoch`.
        unavailable_value: `unavailable.value.placeholder`, for columns which the log does not carry.
        complete_images: whether the log carries all columns of a row (`binlog_row_image=FULL`); else columns that
            cannot hold the placeholder are optional in the schema.
        comments: `include.schema.comments`.
        propagates_type: whether a column's schema gets the parameters `__debezium.source.column.*`
            (`column.propagate.source.type`, `datatype.propagate.source.type`).
        converter: the user's converter for a column that would have a schema, or None; asked once per column.
        mapping: how a column's values are cut or masked, or None.
        failures: takes values that do not fit their column; None: they stop the pipeline.
    """

    zero_timestamps: bool = False
    event_format: EventFormatName = "3"
    decimal_mode: DecimalMode = "precise"
    time_mode: TimeMode = "adaptive_time_microseconds"
    bigint_unsigned_mode: BigIntUnsignedMode = "long"
    binary_mode: BinaryMode = "bytes"
    time_adjuster: bool = True
    invalid_dates: Literal["fail", "epoch"] = "fail"
    unavailable_value: str = UNAVAILABLE_VALUE
    complete_images: bool = True
    comments: bool = False
    propagates_type: Callable[[TableId, Column], bool] = _nowhere
    converter: Callable[[TableId, Column, Schema], ColumnConverter | None] = _no_converter
    mapping: Callable[[TableId, Column], ColumnMapping | None] = _no_mapping
    failures: ConversionFailures | None = None

    @property
    def wide_floats(self) -> bool:
        """Whether FLOAT is a double that has the 32 bits' own value: 0.10000000149011612 for 0.1."""
        return self.event_format != "3"

    @property
    def shortens_timestamps(self) -> bool:
        """Whether a TIMESTAMP of the log, or a default, ends with the last digit of its second that is not zero."""
        return self.event_format != "3"

    @property
    def drops_signs(self) -> bool:
        """Whether snapshots and defaults show negative times of less than an hour as positive: Debezium 1.9 does."""
        return self.event_format == "1.9"

    @property
    def documents(self) -> bool:
        """Whether a column's comment is its schema's `doc`."""
        return self.comments and self.event_format == "3"

    @property
    def names_columns(self) -> bool:
        """Whether the parameters of a propagated type tell the column's name, too."""
        return self.event_format == "3"

    @property
    def large_times(self) -> bool:
        """Whether negative times and those from 24 h on can be shown."""
        return self.time_mode not in {"connect", "isostring"}
