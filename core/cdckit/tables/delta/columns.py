"""Types of columns as delta-rs has them, as texts of the kit's layouts.

https://github.com/delta-io/delta/blob/master/PROTOCOL.md#primitive-types
"""

from __future__ import annotations

from deltalake import DeltaTable
from deltalake.schema import ArrayType, DataType, MapType, PrimitiveType, StructType

_NAMES = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
_SAME = frozenset({"float", "double", "boolean", "string", "binary", "date", "timestamp", "timestamp_ntz"})


def columns_of(table: DeltaTable) -> dict[str, str]:
    """The columns of a table and their types, in order.

    Raises:
        ValueError: one has a type that is not written here.
    """
    return {field.name: type_text(field.type) for field in table.schema().fields}


def type_text(kind: DataType) -> str:
    """The text that names a type.

    Raises:
        ValueError: none does.
    """
    if isinstance(kind, ArrayType):
        return f"array<{type_text(kind.element_type)}>"
    if isinstance(kind, MapType):
        return f"map<{type_text(kind.key_type)},{type_text(kind.value_type)}>"
    if isinstance(kind, StructType):
        return f"struct<{','.join(f'{member.name}:{type_text(member.type)}' for member in kind.fields)}>"
    if isinstance(kind, PrimitiveType):
        text: str = kind.type
        if text in _SAME or text.startswith("decimal("):
            return text
        if text in _NAMES:
            return _NAMES[text]
    raise ValueError(f"columns of type {kind} are not written")
