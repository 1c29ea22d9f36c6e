"""Rows to change events of Debezium's form, so that every transform and sink understands them."""

from __future__ import annotations

import json
import time
from typing import Any

from cdckit import INT64, OPTIONAL_INT64, STRING, DecodeError, Record, Schema, Struct, struct_schema

DELETED = "_deleted"
"""A row with this member true deletes its key."""

_SOURCE = struct_schema("cdckit.example.Source", {"file": STRING, "pos": INT64})
_TYPES: dict[type, str] = {bool: "boolean", int: "int64", float: "float64", str: "string", type(None): "string"}


class EventMaker:
    """Makes the events of one file. Schemas follow what stands in the lines, and are made once for each shape."""

    def __init__(self, topic: str, file: str, key_field: str) -> None:
        self._topic = topic
        self._file = file
        self._key_field = key_field
        self._schemas: dict[tuple[tuple[str, str], ...], tuple[Schema, Schema, Schema]] = {}

    def record(self, line: bytes, end: int) -> Record:
        """The event of the line that ends at byte `end`.

        Raises:
            DecodeError: the line is no row, or lacks its key.
        """
        row = self._row(line, end)
        deleted = bool(row.pop(DELETED, False))
        shape = tuple((name, _TYPES.get(type(value), "string")) for name, value in row.items())
        key_schema, row_schema, envelope = self._schemas_of(shape)
        values = tuple(value if type(value) in _TYPES else json.dumps(value) for value in row.values())
        image = Struct(row_schema, values)
        source = Struct(_SOURCE, (self._file, end))
        before, after, op = (image, None, "d") if deleted else (None, image, "c")
        return Record(
            self._topic,
            Struct(key_schema, (row[self._key_field],)),
            Struct(envelope, (before, after, source, op, int(time.time() * 1000))),
            position=f"{end:020d}-{self._file}",
        )

    def _row(self, line: bytes, end: int) -> dict[str, Any]:
        try:
            row = json.loads(line)
        except ValueError as error:
            raise DecodeError(f"{self._file}, line before byte {end}: no JSON: {error}") from error
        if not isinstance(row, dict) or row.get(self._key_field) is None:
            raise DecodeError(
                f"{self._file}, line before byte {end}: should be an object with the key '{self._key_field}'; "
                "source.key.field names another"
            )
        return row

    def _schemas_of(self, shape: tuple[tuple[str, str], ...]) -> tuple[Schema, Schema, Schema]:
        if shape not in self._schemas:
            members = {name: Schema(kind, optional=True) for name, kind in shape}  # type: ignore[arg-type]
            key = dict(shape)[self._key_field]
            row = struct_schema(f"{self._topic}.Value", members, optional=True)
            envelope = {"before": row, "after": row, "source": _SOURCE, "op": STRING, "ts_ms": OPTIONAL_INT64}
            self._schemas[shape] = (
                struct_schema(f"{self._topic}.Key", {self._key_field: Schema(key)}),  # type: ignore[arg-type]
                row,
                struct_schema(f"{self._topic}.Envelope", envelope),
            )
        return self._schemas[shape]
