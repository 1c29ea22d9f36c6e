"""Types of columns as the kit's layouts write them, which is as Spark does, and as Arrow has them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from arro3.core import DataType, Field, Schema

from cdckit.tables.arrays import (
    BINARY,
    DATE,
    INSTANT,
    INT32,
    INT64,
    MICROSECONDS,
    STRING,
    fields_of,
    list_type,
    map_type,
    struct_type,
)

if TYPE_CHECKING:
    from arro3.core.types import ArrowSchemaExportable

COMMENT = b"comment"
"""The member of a column's metadata that says what it is for, in Delta's schemas and, here, in Iceberg's."""

_PLAIN = {
    "tinyint": DataType.int8(),
    "smallint": DataType.int16(),
    "int": INT32,
    "bigint": INT64,
    "float": DataType.float32(),
    "double": DataType.float64(),
    "boolean": DataType.bool(),
    "string": STRING,
    "binary": BINARY,
    "date": DATE,
    "timestamp_ntz": MICROSECONDS,
    "timestamp": INSTANT,
}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_COMPOUND = re.compile(r"(array|map|struct)<(.*)>", re.DOTALL)


def arrow_type(text: str) -> DataType:
    """The type that a text names.

    Raises:
        ValueError: it names none.
    """
    if text in _PLAIN:
        return _PLAIN[text]
    if found := _DECIMAL.fullmatch(text):
        return DataType.decimal128(int(found[1]), int(found[2]))
    if (compound := _COMPOUND.fullmatch(text)) is None:
        raise ValueError(f"'{text}' is no type of a column")
    kind, parts = compound[1], list(_parts(compound[2]))
    if kind == "array":
        return list_type(arrow_type(parts[0]))
    if kind == "map":
        return map_type(arrow_type(parts[0]), arrow_type(parts[1]))
    members = (part.partition(":") for part in parts)
    return struct_type({name: arrow_type(inner) for name, _, inner in members})


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


def arrow_schema(columns: Mapping[str, str]) -> Schema:
    """The schema of columns by their names and types; pyarrow takes it as it is (`pyarrow.schema`)."""
    return Schema([Field(name, arrow_type(kind)) for name, kind in columns.items()])


def commented(schema: ArrowSchemaExportable, comments: Mapping[str, str]) -> Schema:
    """Columns with just these comments; what else is told of them stays."""
    return Schema([_with_comment(field, comments.get(field.name)) for field in fields_of(Schema.from_arrow(schema))])


def _with_comment(column: Field, text: str | None) -> Field:
    others = {name: value for name, value in column.metadata.items() if name != COMMENT}
    return column.with_metadata({**others, COMMENT: text.encode()} if text else others)
