"""Options: how columns' values and schemas are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from cdckit import NameList, PluginConfig, RegexList
from cdckit.connector.avro_names import NameAdjustment
from cdckit_mysql.converters.configured import converter_options
from cdckit_mysql.values.column_mappings import OPTIONS as MAPPING_OPTIONS, ColumnMappings


class ValueOptions(PluginConfig):
    """Values and their schemas."""

    decimal_handling_mode: Literal["precise", "double", "string"] = "precise"
    """How DECIMAL is shown: exactly (Connect's Decimal), as a double, or as text."""
    time_precision_mode: Literal[
        "adaptive", "adaptive_time_microseconds", "connect", "isostring", "microseconds", "nanoseconds"
    ] = "adaptive_time_microseconds"
    """How dates and times are shown: in the column's own precision, in Connect's types (milliseconds), as ISO 8601
    text, or always in microseconds or nanoseconds.
    """
    bigint_unsigned_handling_mode: Literal["long", "precise"] = "long"
    """How BIGINT UNSIGNED is shown: as a signed 64-bit number, or exactly (Connect's Decimal)."""
    binary_handling_mode: Literal["bytes", "base64", "base64-url-safe", "hex"] = "bytes"
    """How binary columns are shown."""
    enable_time_adjuster: bool = True
    """Whether years of two digits are completed: up to 69 to 20xx, from 70 on to 19xx."""
    column_propagate_source_type: RegexList = ""
    """Columns (`database.table.column`) whose type, length and scale stand in their field's schema."""
    datatype_propagate_source_type: RegexList = ""
    """Types (`database.table.TYPE` or `database.TYPE`) whose columns do the same."""
    column_mappings: dict[str, NameList] = Field(default_factory=dict, repr=False)
    """Columns of text that are cut to so many characters (`column.truncate.to.LENGTH.chars`), shown as so many
    asterisks (`column.mask.with.LENGTH.chars`), or as salted hashes in hexadecimal digits
    (`column.mask.hash.v2.ALGORITHM.with.salt.SALT`; without `v2`, of what Java serializes): regular expressions
    that match a whole `database.table.column`.
    """
    converters: NameList = ""
    """Names of converters, which make other values and schemas of columns; what `NAME.type` and the other options of
    each say stands beside. The first that wants a column has it.
    """
    converter_options: dict[str, str] = Field(default_factory=dict)
    """For each name in `converters`: `NAME.type` (`TinyIntOneToBooleanConverter`, `ZeroDateFallbackConverter`,
    `JdbcSinkDataTypesConverter`, or what a plugin brings), and the options of that converter.
    """
    field_name_adjustment_mode: NameAdjustment = "none"
    """What replaces characters that Avro does not allow in field names: nothing, `_`, or `_uXXXX`."""
    sanitize_field_names: bool = False
    """Debezium 1.9's way to say `field.name.adjustment.mode: avro`."""
    unavailable_value_placeholder: str = "__debezium_unavailable_value"
    """What stands for a value that the log does not carry (row images other than FULL)."""

    patterns: ClassVar[Mapping[str, str]] = dict.fromkeys(MAPPING_OPTIONS, "column_mappings")

    named: ClassVar[Mapping[str, str]] = {"converters": "converter_options"}

    @field_validator("column_mappings")
    @classmethod
    def _readable_mappings(cls, options: dict[str, str]) -> dict[str, str]:
        ColumnMappings(options)
        return options

    @property
    def field_names(self) -> NameAdjustment:
        """How names of fields are adjusted, whichever option says it."""
        mode = self.field_name_adjustment_mode
        return "avro" if mode == "none" and self.sanitize_field_names else mode

    @model_validator(mode="after")
    def _known_converters(self) -> Self:
        converter_options(self.converters, self.converter_options)
        return self
