"""What a record's value is to a table: a change event, a flattened row, or nothing that belongs into a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cdckit.api.schema import Schema
from cdckit.api.struct import Path, Struct, Template, TemplateStruct

_NO_ROWS = ("SchemaChangeKey", "SchemaChangeValue", "TransactionMetadataValue", "MessageValue", "Heartbeat")
"""The last part of the schema names of events that carry no rows; a key's where the value has no schema."""

_TOLD_IN_SECONDS = frozenset({"ts_sec", "sec"})
"""Members of source blocks of before Debezium 0.10 that say when a change was made, in the place of ts_ms."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a change event says besides the row: the columns that a changelog has for it, in their order.

    Attributes:
        op: the operation; None where a flattened row does not say.
        deleted: whether the row is gone.
        source_ts_ms: when the change was made at the source, in milliseconds.
        ts_ms: when it was read.
        db: the source's database.
        table: the source's table.
    """

    op: str | None
    deleted: bool
    source_ts_ms: int | None = None
    ts_ms: int | None = None
    db: str | None = None
    table: str | None = None


FACT_COLUMNS = (
    ("__op", "string"),
    ("__deleted", "boolean"),
    ("__source_ts_ms", "bigint"),
    ("__ts_ms", "bigint"),
    ("__db", "string"),
    ("__table", "string"),
)
"""The columns of `Facts`."""


@dataclass(frozen=True, slots=True)
class SharedFacts:
    """What change events of one template say besides the rows.

    Attributes:
        facts: what is the same in all of them.
        made: which of the template's fills says when a change was made; None: the template does.
        read: the same of when it was read.
    """

    facts: Facts
    made: int | None
    read: int | None

    @property
    def are_whole(self) -> bool:
        """Whether nothing of them is filled in."""
        return self.made is None and self.read is None

    def of(self, fills: tuple[Any, ...]) -> Facts:
        """Those of one event."""
        if self.are_whole:
            return self.facts
        same = self.facts
        made_ms = same.source_ts_ms if self.made is None else fills[self.made]
        read_ms = same.ts_ms if self.read is None else fills[self.read]
        return Facts(same.op, same.deleted, made_ms, read_ms, same.db, same.table)


class EnvelopeShape:
    """Where the parts of an envelope stand, for one schema.

    Attributes:
        row: the schema of `after`: a row's, or that of a document's text.
    """

    def __init__(self, schema: Schema) -> None:
        index = schema.index
        self.before, self.after = index.get("before"), index["after"]
        self.op, self.ts_ms, self.source = index["op"], index.get("ts_ms"), index["source"]
        self.update = index.get("updateDescription")
        self.row = schema.fields[self.after].schema

    @property
    def has_documents(self) -> bool:
        """Whether `before` and `after` are the text of documents."""
        return self.row.type == "string"

    def facts(self, values: tuple[Any, ...]) -> Facts:
        """What an envelope's values, or those that a template shares, say besides the rows."""
        source: Struct = values[self.source]
        database, table = _place(source)
        return Facts(
            op=values[self.op],
            deleted=values[self.op] == "d",
            source_ts_ms=_made_ms(source),
            ts_ms=None if self.ts_ms is None else values[self.ts_ms],
            db=database,
            table=table,
        )

    def shared_facts(self, template: Template) -> SharedFacts:
        """What envelopes of one template say besides the rows, with the times that fill its holes."""
        source: Struct = template.values[self.source]
        made = None if _TOLD_IN_SECONDS & source.schema.index.keys() else source.schema.index.get("ts_ms")
        return SharedFacts(
            self.facts(template.values),
            None if made is None else _hole_at(template, (self.source, made)),
            None if self.ts_ms is None else hole_of(template, self.ts_ms),
        )

    def image(self, value: Struct, *, before: bool) -> Struct | None:
        """The row before or after the change."""
        row: Struct | None = _member(value, self.before if before else self.after)
        return row

    def document(self, value: Struct, *, before: bool) -> str | None:
        """The document's text before or after the change."""
        text: str | None = _member(value, self.before if before else self.after)
        return text

    def updated(self, value: Struct) -> Struct | None:
        """What an update has changed, where the event tells."""
        update: Struct | None = _member(value, self.update)
        return update


def _made_ms(source: Struct) -> int | None:
    """When a change was made; blocks of before Debezium 0.10 tell it in seconds."""
    seconds: int | None = source.get("ts_sec", source.get("sec"))
    made: int | None = source.get("ts_ms") if seconds is None else seconds * 1000
    return made


def _place(source: Struct) -> tuple[str | None, str | None]:
    """Database, and table or collection; MongoDB's blocks of before Debezium 0.10 have both in one."""
    namespace = source.get("ns")
    if namespace is None:
        return source.get("db"), source.get("table") or source.get("collection")
    database, _, name = namespace.partition(".")
    return database, name


def _member(value: Struct, at: int | None) -> Any:
    if at is None:
        return None
    if isinstance(value, TemplateStruct):
        fill = hole_of(value.template, at)
        if fill is not None:
            return value.fills[fill]
    return value.values[at]


def hole_of(template: Template, at: int) -> int | None:
    """Which of a template's fills is the member at `at`."""
    return _hole_at(template, (at,))


def _hole_at(template: Template, path: Path) -> int | None:
    return next((number for number, hole in enumerate(template.holes) if hole == path), None)


def shape_of(schema: Schema) -> EnvelopeShape | None:
    """The shape of envelopes of a schema; None for flattened rows. Made once for each schema."""
    if "tables.shape" not in schema.derived:
        schema.derived["tables.shape"] = EnvelopeShape(schema) if _is_envelope(schema) else None
    shape: EnvelopeShape | None = schema.derived["tables.shape"]
    return shape


def _is_envelope(schema: Schema) -> bool:
    if not schema.index.keys() >= {"after", "op", "source"}:
        return False
    return schema.field("source").schema.type == "struct" and schema.field("after").schema.type in ("struct", "string")


def carries_rows(schema: Schema) -> bool:
    """Whether values of this schema are rows or changes of rows."""
    return schema.type == "struct" and (schema.name or "").rpartition(".")[2] not in _NO_ROWS
