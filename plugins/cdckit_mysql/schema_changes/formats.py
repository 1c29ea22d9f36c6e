"""The formats of schema changes (`schema.change.format`): key and value of one event.

`3` and `1.9` are those of these versions' `SchemaChangeValue`; `1.1` is that of Debezium's manual of that time, section
"Schema change topic"; `history` has the documents of the schema-history topic, as a cloud's manual of data subscription
shows them for DDL: with a position in the place of a source block, and without a schema.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, ClassVar

from cdckit import (
    INT32,
    INT64,
    OPTIONAL_BOOLEAN,
    OPTIONAL_INT32,
    OPTIONAL_STRING,
    STRING,
    Datum,
    Schema,
    SchemaAndValue,
    Struct,
    array_schema,
    struct_schema,
)
from cdckit_mysql.ddl import ChangeKind
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.schema_changes.events import SchemaEvent, TableChange
from cdckit_mysql.schema_changes.facts import quoted_id, table_facts

_COLUMN = {
    "name": STRING,
    "jdbcType": INT32,
    "nativeType": OPTIONAL_INT32,
    "typeName": STRING,
    "typeExpression": OPTIONAL_STRING,
    "charsetName": OPTIONAL_STRING,
    "length": OPTIONAL_INT32,
    "scale": OPTIONAL_INT32,
    "position": INT32,
    "optional": OPTIONAL_BOOLEAN,
    "autoIncremented": OPTIONAL_BOOLEAN,
    "generated": OPTIONAL_BOOLEAN,
    "comment": OPTIONAL_STRING,
}
_DEFAULTS = {"defaultValueExpression": OPTIONAL_STRING, "enumValues": array_schema(STRING, optional=True)}
_ROWS_AND_VIEWS = frozenset({ChangeKind.TRUNCATE, ChangeKind.VIEW})
_NEVER = frozenset({ChangeKind.SEQUENCE})


class SchemaChangeFormat(ABC):
    """Makes keys and values.

    Args:
        connector: `mysql` or `mariadb`, a part of the schemas' names.
        source: the schema of source blocks.
        server: `topic.prefix`.
        comments: whether comments are shown.
        schema_name: what makes a schema's name from its raw name.
    """

    told: ClassVar[frozenset[ChangeKind]] = frozenset(ChangeKind) - _ROWS_AND_VIEWS - _NEVER
    """The kinds of changes that are told."""
    version: ClassVar[int | None] = None
    """That of the schemas."""

    def __init__(
        self, connector: str, source: Schema, server: str, *, comments: bool, schema_name: Callable[[str], str]
    ) -> None:
        self.connector = connector
        self.source = source
        self.server = server
        self.comments = comments
        self.schema_name = schema_name
        self._key = self.struct(f"io.debezium.connector.{connector}.SchemaChangeKey", {"databaseName": STRING})

    def struct(self, name: str, members: Mapping[str, Schema], *, optional: bool = False) -> Schema:
        """A struct's schema in this format."""
        return struct_schema(self.schema_name(name), members, optional=optional, version=self.version)

    def grouped(self, events: Sequence[SchemaEvent]) -> Iterator[SchemaEvent]:
        """The events of one statement as this format tells them."""
        return iter(events)

    def text(self, event: SchemaEvent) -> str:
        """The statement; before Debezium 2 a version comment at its end was no part of it."""
        return _without_last_comment(event.ddl)

    def key(self, event: SchemaEvent) -> Datum:
        """The key of an event's record."""
        return Struct(self._key, (event.database,))

    @abstractmethod
    def value(self, event: SchemaEvent, source: Struct, at: LogOffset) -> Datum:
        """The value of an event's record.

        Args:
            event: what is told.
            source: its source block.
            at: where the log goes on behind it; its `snapshot` is set for an event of a snapshot.
        """


class Format19(SchemaChangeFormat):
    """Debezium 1.9: the statement with the tables after it; views and emptied tables are told, too."""

    told = frozenset(ChangeKind) - _NEVER
    column: ClassVar[Mapping[str, Schema]] = _COLUMN

    def __init__(
        self, connector: str, source: Schema, server: str, *, comments: bool, schema_name: Callable[[str], str]
    ) -> None:
        super().__init__(connector, source, server, comments=comments, schema_name=schema_name)
        self._column = self.struct("io.debezium.connector.schema.Column", self.column)
        table = {
            "defaultCharsetName": OPTIONAL_STRING,
            "primaryKeyColumnNames": array_schema(STRING, optional=True),
            "columns": array_schema(self._column),
            "comment": OPTIONAL_STRING,
        }
        self._table = self.struct("io.debezium.connector.schema.Table", table, optional=True)
        change = {"type": STRING, "id": STRING, "table": self._table}
        self._change = self.struct("io.debezium.connector.schema.Change", change)
        self._value = self.struct(f"io.debezium.connector.{connector}.SchemaChangeValue", self.members())

    def members(self) -> dict[str, Schema]:
        """The members of the value."""
        return {
            "source": self.source,
            "databaseName": OPTIONAL_STRING,
            "schemaName": OPTIONAL_STRING,
            "ddl": OPTIONAL_STRING,
            "tableChanges": array_schema(self._change),
        }

    def value(self, event: SchemaEvent, source: Struct, at: LogOffset) -> Datum:
        """The statement with its source block."""
        change = self.shown(event.change)
        members = {
            "source": source,
            "databaseName": event.database,
            "ddl": self.text(event),
            "tableChanges": [] if change is None else [self._changed(change)],
            **self.times(),
        }
        return Struct.of(self._value, members)

    def shown(self, change: TableChange | None) -> TableChange | None:
        """The change, unless it is one that this format leaves out."""
        return None if change is not None and change.type == "DROP" else change

    def times(self) -> dict[str, int]:
        """Members that say when the event was made."""
        return {}

    def _changed(self, change: TableChange) -> Struct:
        table = None
        if change.table is not None:
            facts = table_facts(change.table, comments=self.comments)
            columns = [_part(self._column, column) for column in facts["columns"]]
            table = _part(self._table, {**facts, "columns": columns})
        return Struct(self._change, (change.type, quoted_id(change.id), table))


class Format3(Format19):
    """Debezium 3: dropped tables are among the changes, columns have their defaults and labels."""

    told = SchemaChangeFormat.told
    version = 1
    column = {**_COLUMN, **_DEFAULTS}

    def text(self, event: SchemaEvent) -> str:
        """The statement."""
        return event.ddl

    def members(self) -> dict[str, Schema]:
        """Those of 1.9, and when the event was made."""
        first, *others = super().members().items()
        return dict([first, ("ts_ms", INT64), *others])

    def shown(self, change: TableChange | None) -> TableChange | None:
        """Every change."""
        return change

    def times(self) -> dict[str, int]:
        """Milliseconds since 1970."""
        return {"ts_ms": time.time_ns() // 1_000_000}


class Format11(SchemaChangeFormat):
    """Debezium 1.1: the statements alone, those for one database in one event."""

    told = Format19.told

    def __init__(
        self, connector: str, source: Schema, server: str, *, comments: bool, schema_name: Callable[[str], str]
    ) -> None:
        super().__init__(connector, source, server, comments=comments, schema_name=schema_name)
        members = {"databaseName": STRING, "ddl": STRING, "source": source}
        self._value = self.struct(f"io.debezium.connector.{connector}.SchemaChangeValue", members)

    def grouped(self, events: Sequence[SchemaEvent]) -> Iterator[SchemaEvent]:
        """One event for each group of changes to the same database."""
        for database, group in groupby(events, lambda event: event.database):
            members = list(group)
            yield SchemaEvent(database, "; ".join(map(self.text, members)) + ";", members[0].tables)

    def value(self, event: SchemaEvent, source: Struct, at: LogOffset) -> Datum:
        """The statements with their source block."""
        return Struct(self._value, (event.database, event.ddl, source))


class HistoryFormat(SchemaChangeFormat):
    """The documents of the schema history; a table's new name is told as Debezium 1.9 tells it."""

    def __init__(
        self, connector: str, source: Schema, server: str, *, comments: bool, schema_name: Callable[[str], str]
    ) -> None:
        super().__init__(connector, source, server, comments=comments, schema_name=schema_name)
        self._renames = Format19(connector, source, server, comments=comments, schema_name=schema_name)

    def value(self, event: SchemaEvent, source: Struct, at: LogOffset) -> Datum:
        """A document without a schema."""
        if event.renames:
            return self._renames.value(event, source, at)
        return SchemaAndValue(None, self._without_drops(event, at))

    def _without_drops(self, event: SchemaEvent, at: LogOffset) -> dict[str, Any]:
        """A document as Debezium 1.9 had it."""
        change = event.change if event.change is not None and event.change.table is not None else None
        told = replace(event, ddl=self.text(event), change=change)
        return history_document(told, self.server, at, comments=self.comments)


def history_document(event: SchemaEvent, server: str, at: LogOffset, *, comments: bool) -> dict[str, Any]:
    """A record of Debezium's schema history, but for the time of its making.

    Args:
        event: what it tells.
        server: `topic.prefix`.
        at: where the log goes on behind it; its `snapshot` is set for one of a snapshot.
        comments: whether comments are shown.
    """
    return {
        "source": {"server": server},
        "position": _position(at),
        "databaseName": event.database,
        "ddl": event.ddl,
        "tableChanges": [] if event.change is None else _changes(event.change, comments=comments),
    }


def _changes(change: TableChange, *, comments: bool) -> list[dict[str, Any]]:
    head = {"type": change.type, "id": quoted_id(change.id)}
    if change.previous is not None:
        head["previousId"] = quoted_id(change.previous)
    if change.table is None:
        return [head]
    facts = table_facts(change.table, comments=comments)
    comment = facts.pop("comment")
    facts["columns"] = [_given(column) for column in facts["columns"]]
    return [{**head, "table": facts, "comment": comment}]


def _position(at: LogOffset) -> dict[str, Any]:
    place = {"ts_sec": at.ts_sec, "file": at.file, "pos": at.pos}
    if at.gtids is not None:
        place["gtids"] = at.gtids
    if at.snapshot is not None:
        return {**place, "snapshot": True}
    return {"transaction_id": at.transaction_id, **place, "server_id": at.server_id}


_LEFT_OUT = ("nativeType", "length", "scale", "defaultValueExpression")
"""Members of a column that a document of the history has only where they say something."""


def _given(column: dict[str, Any]) -> dict[str, Any]:
    made = {name: value for name, value in column.items() if value is not None or name not in _LEFT_OUT}
    return {**made, "enumValues": column["enumValues"] or []}


def _part(schema: Schema, facts: Mapping[str, Any]) -> Struct:
    """The members that the schema has."""
    return Struct(schema, tuple(facts[field.name] for field in schema.fields))


FORMATS: dict[str, type[SchemaChangeFormat]] = {
    "3": Format3,
    "1.9": Format19,
    "1.1": Format11,
    "history": HistoryFormat,
}


def _without_last_comment(ddl: str) -> str:
    """The statement without a version comment that ends it."""
    text = ddl.rstrip()
    before, _, comment = text.rpartition("/*")
    if not comment.startswith(("!", "M!")) or "*" in comment.removesuffix("*/"):
        return ddl
    return before.rstrip()
