"""Types of columns as the kit's layouts write them, which is as Spark does, and as Arrow has them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import pyarrow as pa

COMMENT = b"comment"
"""The member of a column's metadata that says what it is for, in Delta's schemas and, here, in Iceberg's."""

_PLAIN = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp_ntz": pa.timestamp("us"),
    "timestamp": pa.timestamp("us", tz="UTC"),
}
_NAMES = {kind: name for name, kind in _PLAIN.items()}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_COMPOUND = re.compile(r"(array|map|struct)<(.*)>", re.DOTALL)


def arrow_type(text: str) -> pa.DataType:
    """The type that a text names.

    Raises:
        ValueError: it names none.
    """
    if text in _PLAIN:
        return _PLAIN[text]
    if found := _DECIMAL.fullmatch(text):
        return pa.decimal128(int(found[1]), int(found[2]))
    if (compound := _COMPOUND.fullmatch(text)) is None:
        raise ValueError(f"'{text}' is no type of a column")
    kind, parts = compound[1], list(_parts(compound[2]))
    if kind == "array":
        return pa.list_(pa.field("element", arrow_type(parts[0])))
    if kind == "map":
        return pa.map_(arrow_type(parts[0]), arrow_type(parts[1]))
    members = (part.partition(":") for part in parts)
    return pa.struct([(name, arrow_type(inner)) for name, _, inner in members])


def _parts(text: str) -> Iterator[str]:
    """Split at the commas that stand in no brackets."""
    depth = begun = 0
    for at, letter in enumerate(text):
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            yield text[begun:at]
            begun = at + 1
    if text:
        yield text[begun:]


def type_text(kind: pa.DataType) -> str:
    """The text that names a type.

    Raises:
        ValueError: none does.
    """
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_map(kind):
        return f"map<{type_text(kind.key_type)},{type_text(kind.item_type)}>"
    if pa.types.is_struct(kind):
        return f"struct<{','.join(f'{member.name}:{type_text(member.type)}' for member in kind)}>"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"array<{type_text(kind.value_type)}>"
    if kind in _NAMES:
        return _NAMES[kind]
    raise ValueError(f"columns of type {kind} are not written")


def arrow_schema(columns: Mapping[str, str]) -> pa.Schema:
    """The schema of columns by their names and types."""
    return pa.schema([(name, arrow_type(kind)) for name, kind in columns.items()])


def commented(schema: pa.Schema, comments: Mapping[str, str]) -> pa.Schema:
    """Columns with just these comments; what else is told of them stays."""
    return pa.schema([field.with_metadata(_with_comment(field, comments.get(field.name))) for field in schema])


def _with_comment(column: pa.Field, text: str | None) -> dict[bytes, bytes] | None:
    others = {name: value for name, value in (column.metadata or {}).items() if name != COMMENT}
    return ({**others, COMMENT: text.encode()} if text else others) or None
