"""How columns are shown: the handling modes, under Debezium's names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from typing import Literal

from cdckit_ticdc.columns.types import MySqlType

DecimalMode = Literal["precise", "double", "string"]
BigIntMode = Literal["long", "precise"]
BinaryForm = Literal["base64", "base64-url-safe", "hex"]


@dataclass(frozen=True, slots=True)
class ColumnOptions:
    """What decides about a column besides its messages.

    Attributes:
        decimal_mode: `decimal.handling.mode`.
        bigint_mode: `bigint.unsigned.handling.mode`.
        binary_form: how the producer writes bytes into texts.
        zone: the time zone of TIMESTAMP texts that name none.
        types: types that the user gives, by `database.table.column`.
    """

    decimal_mode: DecimalMode = "precise"
    bigint_mode: BigIntMode = "long"
    binary_form: BinaryForm = "base64"
    zone: tzinfo = UTC
    types: Mapping[str, MySqlType] = field(default_factory=dict)

    def given_type(self, database: str, table: str, column: str) -> MySqlType | None:
        """The type that the user gives to a column, or None."""
        return self.types.get(f"{database}.{table}.{column}") if self.types else None
