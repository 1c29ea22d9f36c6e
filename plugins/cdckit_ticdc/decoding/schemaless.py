"""Change events without schemas: typed by definitions, by what the user says, or by what their values look like."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from cdckit import STRING, Schema, Struct, logical, struct_schema
from cdckit_ticdc.columns.column import Column
from cdckit_ticdc.columns.debezium import DebeziumColumns
from cdckit_ticdc.columns.options import ColumnOptions
from cdckit_ticdc.columns.seen import ENVELOPE_MEMBERS, fitted, seen_schema, source_schema
from cdckit_ticdc.decoding.inference import InferredTable
from cdckit_ticdc.decoding.table_changes import moment
from cdckit_ticdc.definitions import Definition, Definitions
from cdckit_ticdc.layout import Layout

Payload = Mapping[str, Any]
_ROWS = frozenset({"before", "after"})
_DOCUMENT = logical.JSON.replace(optional=True)
_NO_ROW = struct_schema(None, {}, optional=True)


class SchemalessEnvelopes:
    """Makes structs of change events."""

    def __init__(self, options: ColumnOptions, known: Definitions) -> None:
        self._columns = DebeziumColumns(options, unscaled=options.decimal_mode == "precise")
        self._options = options
        self._definitions = known
        self._layouts: dict[Hashable, Layout] = {}
        self._inferred: dict[Hashable, InferredTable] = {}
        self._sources: dict[Hashable, Schema] = {}
        self._envelopes: dict[Hashable, Schema] = {}
        self._last: dict[str, Layout] = {}

    def envelope(self, topic: str, payload: Payload) -> tuple[Struct, Layout | None]:
        """The event as a struct, and the layout that its row was read with; None for documents (MongoDB).

        Raises:
            DecodeError: a value does not fit its column.
        """
        before, after = payload.get("before"), payload.get("after")
        source = self._source(payload["source"])
        if isinstance(before, str) or isinstance(after, str) or "updateDescription" in payload:
            return self._assembled(topic, payload, source, _DOCUMENT, before, after), None
        if before is None and after is None:
            last = self._last.get(topic)
            return self._assembled(topic, payload, source, last.row if last else _NO_ROW, None, None), last
        images = self._images(topic, payload, before, after)
        self._last[topic] = images.layout
        made = self._assembled(topic, payload, source, images.layout.row, images.before, images.after)
        return made, images.layout

    def _images(self, topic: str, payload: Payload, before: Payload | None, after: Payload | None) -> Any:
        source = payload["source"]
        database = source.get("schema") or source.get("db") or ""
        table = (str(database), str(source.get("table") or ""))
        names = frozenset(after if after is not None else before or ())
        definition = self._fitting(table, moment(source), names)
        if definition is not None:
            return self._defined(topic, definition).images(payload["op"], before, after)
        return self._seen(topic, table).images(payload["op"], before, after)

    def _fitting(self, table: tuple[str, str], at: int, names: frozenset[str]) -> Definition | None:
        """The definition in force; where it has other columns, one that has just these, or these too.

        Times may be whole seconds, and places in the log are those of one server.
        """
        inforce = self._definitions.at(*table, at)
        if inforce is None or inforce.names == names:
            return inforce
        candidates = [inforce, *(one for one in self._definitions if (one.database, one.table) == table)]
        exact = next((one for one in reversed(candidates) if one.names == names), None)
        return exact or next((one for one in candidates if names <= one.names), None)

    def _defined(self, topic: str, definition: Definition) -> Layout:
        found = self._layouts.get((topic, definition))
        if found is None:
            table = (definition.database, definition.table)
            columns = [
                self._columns.defined(table, column.name, column.type, optional=column.optional)
                for column in definition.columns
            ]
            found = self._layouts[topic, definition] = self._layout(topic, table, columns, definition.key)
        return found

    def _seen(self, topic: str, table: tuple[str, str]) -> InferredTable:
        found = self._inferred.get((topic, table))
        if found is None:

            def make_layout(columns: list[Column]) -> Layout:
                return self._layout(topic, table, columns, ())

            found = self._inferred[topic, table] = InferredTable(table, self._columns, make_layout)
        return found

    @staticmethod
    def _layout(topic: str, table: tuple[str, str], columns: list[Column], key: tuple[str, ...]) -> Layout:
        return Layout(topic, *table, columns, key, STRING)

    def _source(self, source: Payload) -> Struct:
        identity = tuple([(name, value.__class__) for name, value in source.items()])
        schema = self._sources.get(identity)
        if schema is None:
            schema = self._sources[identity] = source_schema(source)
        return Struct(schema, tuple(source.values()))

    def _assembled(self, topic: str, payload: Payload, source: Struct, row: Schema, before: Any, after: Any) -> Struct:
        """The envelope, its members in the message's order."""
        identity = (topic, tuple(payload), row, source.schema)
        schema = self._envelopes.get(identity)
        if schema is None or any(name not in ENVELOPE_MEMBERS for name in payload.keys() - _ROWS - {"source"}):
            schema = self._envelopes[identity] = self._schema(topic, payload, source.schema, row)
        given = {"before": before, "after": after, "source": source}
        values = []
        for member in schema.fields:
            name = member.name
            values.append(given[name] if name in given else fitted(member.schema, payload[name]))
        return Struct(schema, tuple(values))

    @staticmethod
    def _schema(topic: str, payload: Payload, source: Schema, row: Schema) -> Schema:
        members: dict[str, Schema] = {}
        for name, value in payload.items():
            if name in _ROWS:
                members[name] = row
            elif name == "source":
                members[name] = source
            else:
                members[name] = ENVELOPE_MEMBERS.get(name) or seen_schema(value)
        return struct_schema(f"{topic}.Envelope", members)
