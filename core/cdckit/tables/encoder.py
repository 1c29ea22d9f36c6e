"""Records to packets: rows of one table and one layout put together, column by column."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from cdckit.api.marks import MarkKind, RoutedMark
from cdckit.api.record import UNAVAILABLE_HEADER, Record, SchemaAndValue
from cdckit.api.schema import Schema
from cdckit.api.struct import Struct, Template, TemplateStruct
from cdckit.errors import SinkError
from cdckit.tables.documents import DeclaredColumn, DocumentRows
from cdckit.tables.groups import Group, Mode, RowGroup, key_group, source_name, truncate_group
from cdckit.tables.layout import Layout
from cdckit.tables.marks import Mark
from cdckit.tables.pieces import REDEFINING
from cdckit.tables.shapes import EnvelopeShape, Facts, SharedFacts, carries_rows, hole_of, shape_of
from cdckit.tables.sink import Packet

_REMOVED = Facts("d", deleted=True)


class TableEncoder:
    """Makes packets. It remembers the last delete, whose tombstone says nothing new.

    Args:
        mode: what the tables are.
        placeholder: what stands for an unavailable value.
        declared: the columns of documents that the user has declared.
        inferred: whether columns are to be read off the documents.
    """

    def __init__(
        self, mode: Mode, placeholder: str, declared: Sequence[DeclaredColumn] = (), *, inferred: bool = False
    ) -> None:
        self.mode = mode
        self.placeholder = placeholder
        self._documents = DocumentRows(declared, with_update=mode == "changelog", inferred=inferred)
        self._groups: dict[tuple[Any, ...], Group] = {}
        self._deleted: Record | None = None
        self._template: Template | None = None
        self._shared = SharedFacts(_REMOVED, None, None)
        self._run: _Run | None = None
        self._emptied: list[tuple[str, Mark]] = []
        # Behind these a table has columns that are known; tables that do not log a RENAME do not follow it.
        self._defining = REDEFINING if mode == "changelog" else REDEFINING - {MarkKind.RENAME}

    def __call__(self, records: Sequence[Record]) -> Iterable[Packet]:
        """The packets of the records, the rows of each table in their order."""
        groups, emptied = self.gathered(records)
        return [*(group.packet() for group in groups), *(mark.packet(topic) for topic, mark in emptied)]

    def gathered(self, records: Sequence[Record]) -> tuple[Collection[Group], Sequence[tuple[str, Mark]]]:
        """The rows of each table in their order; and what records say of whole tables, with their topics.

        Raises:
            SinkError: as a call.
        """
        self._groups, self._emptied = {}, []
        self._run = None
        at = 0
        while at < len(records):
            run = self._run
            if run is not None and (end := run.end(records, at)) > at:
                run.add(records[at:end])
                at = end
            else:
                self._take(records[at])
                at += 1
        return self._groups.values(), self._emptied

    def _take(self, record: Record) -> None:
        value = record.value
        if value is None or (isinstance(value, SchemaAndValue) and value.value is None):
            self._tombstone(record)  # with the row's schema, as ExtractNewRecordState leaves it by default, or without
        elif not isinstance(value, Struct):
            if isinstance(record.key, Struct) and not carries_rows(record.key.schema):
                return
            raise _fault(
                record, "the value is no struct, so it has no columns; leave out the transform that made it so"
            )
        elif (shape := shape_of(value.schema)) is None:
            if carries_rows(value.schema):
                self._flattened(record, value)
        elif shape.has_documents:
            self._document(record, value, shape)
        else:
            self._change(record, value, shape)

    def mark(self, mark: RoutedMark) -> Packet:
        """The packet of a table mark."""
        return self.seen(mark).packet(mark.topic)

    def seen(self, mark: RoutedMark) -> Mark:
        """A table mark as the sink sees it."""
        told, value = mark.mark, mark.example.value
        database, _, table = told.table.partition(".")
        source, named = told.table, (database, table)
        if isinstance(value, Struct) and (shape := shape_of(value.schema)) is not None:
            facts = self._facts_of(value, shape)
            named = facts.db or database, facts.table or table
        elif isinstance(value, Struct):
            source = source_name(value.schema, _REMOVED)  # flattened rows do not say where they come from
            named = value.get("__db"), value.get("__table")  # unless the transform was told to
        return Mark(
            told.kind,
            told.position,
            told.table,
            source,
            mark.scope,
            mark.sharing,
            told.previous,
            told.statement,
            layout=self._layout(mark.example) if told.kind in self._defining else None,
            change=told.change,
            named=named,
            made_ms=told.made_ms,
        )

    def _layout(self, example: Record) -> Layout | None:
        """The layout of rows like an example; none of documents, and where the table's definition is not known."""
        value = example.value
        shape = shape_of(value.schema) if isinstance(value, Struct) else None
        if value is None or (shape is not None and shape.has_documents):
            return None
        groups, _ = TableEncoder(self.mode, self.placeholder).gathered([example])
        return next((replace(group.layout(), ops="") for group in groups), None)

    def _change(self, record: Record, value: Struct, shape: EnvelopeShape) -> None:
        facts = self._facts_of(value, shape)
        if facts.op == "t" and self.mode != "changelog":
            table = source_name(None, facts)
            emptied = Mark(MarkKind.TRUNCATE, record.position, table, table, told=False, made_ms=facts.source_ts_ms)
            self._emptied.append((record.topic, emptied))
            return
        if facts.op == "t":
            emptying = truncate_group(self.mode, self.placeholder, record, facts)
            emptying.add((), record.position, facts)
            self._groups[record.topic, "truncate", record.position] = emptying  # each by itself: its position is told
            return
        image = shape.image(value, before=facts.deleted)
        if facts.deleted:
            self._deleted = record
            if image is None:
                self._only_key(record, facts)
                return
        if image is None:
            raise _fault(record, "a change without the row; the source's log must carry it")
        group = self._rows(record, shape.row, facts)
        if facts.op == "u" and record.key is None and self.mode != "changelog":
            before = shape.image(value, before=True)
            if before is None:
                raise _fault(record, "an update of a table without a key, and without the row before")
            group.add_record(before.values, record, replace(_REMOVED, source_ts_ms=facts.source_ts_ms))
        elif not facts.deleted and isinstance(value, TemplateStruct) and self._shared.are_whole:
            self._run = _Run.of(record, value, shape, group, facts)
        group.add_record(image.values, record, facts)

    def _document(self, record: Record, value: Struct, shape: EnvelopeShape) -> None:
        """An update that does not carry the document leaves a mirror's as it is: it was deleted in the meantime."""
        facts = self._facts_of(value, shape)
        text = shape.document(value, before=facts.deleted)
        if facts.deleted:
            self._deleted = record
            if text is None:
                self._only_key(record, facts)
                return
        try:
            group = self._document_group(record, facts)
            assert isinstance(record.key, Struct)
            row = self._documents.row(record.key, text, shape.updated(value))
        except ValueError as error:
            raise _fault(record, str(error)) from None
        group.add(row, record.position, facts, None if text is not None else self._documents.absent)

    def _document_group(self, record: Record, facts: Facts) -> Group:
        if not isinstance(record.key, Struct):
            raise _fault(record, "a document without a key that is a struct; leave out the transform that made it so")
        group = self._groups.get((record.topic, "documents", record.key.schema))
        if group is None:
            columns = self._documents.columns(record.key.schema)
            key = tuple(field.name for field in record.key.schema.fields)
            source = f"{facts.db}.{facts.table}"
            inferred = self._documents.inferred
            group = Group(self.mode, self.placeholder, "rows", columns, record, source, key, inferred)
            self._groups[record.topic, "documents", record.key.schema] = group
        return group

    def _facts_of(self, value: Struct, shape: EnvelopeShape) -> Facts:
        """Events of one template share their facts, but for times that are filled in."""
        if not isinstance(value, TemplateStruct):
            return shape.facts(value.values)
        if value.template is not self._template:
            self._template = value.template
            self._shared = shape.shared_facts(value.template)
        return self._shared.of(value.fills)

    def _flattened(self, record: Record, value: Struct) -> None:
        deleted = str(value.get("__deleted", "false")).lower() == "true"
        facts = Facts("d" if deleted else None, deleted, _whole_number(value.get("__source_ts_ms")))
        if deleted:
            self._deleted = record
        self._rows(record, value.schema, facts).add_record(value.values, record, facts)

    def _tombstone(self, record: Record) -> None:
        """A delete of a flattened row; after an event that tells of the delete it says nothing new."""
        told, self._deleted = self._deleted, None
        if told is None or told.topic != record.topic or told.key != record.key:
            self._only_key(record, _REMOVED)

    def _only_key(self, record: Record, facts: Facts) -> None:
        if not isinstance(record.key, Struct):
            raise _fault(record, "a delete with neither the row nor a key that is a struct")
        self._keys(record, record.key.schema, facts).add(record.key.values, record.position, facts)

    def _rows(self, record: Record, row: Schema, facts: Facts) -> RowGroup:
        key = (record.topic, row, record.key.schema if record.key is not None else None)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = RowGroup(self.mode, self.placeholder, record, row, facts)
        assert isinstance(group, RowGroup)
        return group

    def _keys(self, record: Record, schema: Schema, facts: Facts) -> Group:
        group = self._groups.get((record.topic, "keys", schema))
        if group is None:
            group = key_group(self.mode, self.placeholder, record, schema, facts)
            self._groups[record.topic, "keys", schema] = group
        return group


class _Run:
    """Rows of one rows event, which go into the same group in the same way: most records are in one."""

    __slots__ = ("_facts", "_fill", "_group", "_headers", "_template", "_topic")

    def __init__(self, record: Record, template: Template, fill: int, group: RowGroup, facts: Facts) -> None:
        self._topic, self._headers = record.topic, record.headers
        self._template, self._fill = template, fill
        self._group, self._facts = group, facts

    @classmethod
    def of(
        cls, record: Record, value: TemplateStruct, shape: EnvelopeShape, group: RowGroup, facts: Facts
    ) -> _Run | None:
        """The run that a record begins, where the rows that follow need nothing but their own values."""
        fill = hole_of(value.template, shape.after)
        if fill is None or group.needs_records or record.header(UNAVAILABLE_HEADER) is not None:
            return None
        return cls(record, value.template, fill, group, facts)

    def end(self, records: Sequence[Record], begin: int) -> int:
        """Up to where the records from `begin` on belong to the run."""
        template, topic, headers = self._template, self._topic, self._headers
        for at in range(begin, len(records)):
            record = records[at]
            value = record.value
            if not (
                isinstance(value, TemplateStruct)
                and value.template is template
                and record.topic == topic
                and record.headers is headers
            ):
                return at
        return len(records)

    def add(self, records: Sequence[Record]) -> None:
        """Takes the rows of records that belong to it."""
        fill = self._fill
        rows = [record.value.fills[fill].values for record in records]  # type: ignore[union-attr]
        self._group.extend(rows, [record.position for record in records], self._facts)


def _whole_number(value: Any) -> int | None:
    return value if isinstance(value, int) else None


def _fault(record: Record, what: str) -> SinkError:
    return SinkError(f"topic {record.topic}, position {record.position or 'unknown'}: {what}")
