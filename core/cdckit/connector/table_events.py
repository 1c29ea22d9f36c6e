"""The records of one table: schemas made once for a definition, and generated code that turns rows into records.

For sources whose log tells of rows. A row is a tuple of values as events show them, an update a pair of rows. The
functions are written as text for each table, so that nothing is asked at a row that is the same for all rows of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import count
from types import CodeType
from typing import Any, Protocol, Self

from cdckit.api.record import Header, Record
from cdckit.api.schema import STRING, Schema, Stored, struct_schema
from cdckit.api.struct import Struct, Template, TemplateStruct
from cdckit.connector.envelope import MakeEnvelope, envelope_schema, key_change
from cdckit.connector.topics import Name, Topics

Row = tuple[Any, ...]
Functions = dict[str, Callable[..., list[Record]]]
"""For each operation the function that makes records of rows."""
Change = tuple[Row, Row]

_ENDS_KEPT = 4096


def row_ends(part: int) -> list[str]:
    """What follows the prefix in the positions of an event's first rows."""
    return [f"-{row:014d}-{part}" for row in range(_ENDS_KEPT)]


_ENDS = [row_ends(part) for part in range(3)]


def position_ends(first: int, rows: int, part: int = 0) -> list[str]:
    """The ends of the positions of `rows` rows from number `first` on."""
    # Nearly every event has few rows: their texts are made once for all tables.
    if first + rows <= _ENDS_KEPT:
        return _ENDS[part][first : first + rows]
    return [f"-{row:014d}-{part}" for row in range(first, first + rows)]


class MakeRecords(Protocol):
    """Turns some rows of one event into records."""

    def __call__(
        self,
        rows: Sequence[Any],
        source: Struct,
        prefix: str,
        first: int = 0,
        first_position: int = 0,
        blocks: Iterator[Struct] | None = None,
    ) -> list[Record]:
        """The records.

        Args:
            rows: the rows, or for updates pairs of a row before and after.
            source: their source block, as it is for row 0 of the event.
            prefix: what their positions begin with.
            first: the number of the first row in its event, for `source.row` where there is that.
            first_position: the number of the first row in the positions.
            blocks: their transaction blocks, or None without transaction metadata.
        """


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """What is the same for the records of all tables.

    Attributes:
        headers: those of every record.
        source: the schema of the source block. Where it has a field `row`, that is the row's number in its event, but
            for rows that a snapshot found.
        envelope: makes the schema of an event's value.
        tombstones: whether a delete is followed by a record without value.
        skip_unchanged: whether an update that changes nothing makes no record.
        schema_name: what makes a schema's name from its raw name.
        sources: source texts of functions that were written, by all that they hang on besides these options.
    """

    headers: tuple[Header, ...]
    source: Schema
    envelope: MakeEnvelope = envelope_schema
    tombstones: bool = True
    skip_unchanged: bool = False
    schema_name: Callable[[str], str] = str
    sources: dict[tuple[Any, ...], str] = field(default_factory=dict, compare=False, repr=False)


class TableEvents:
    """Makes records of one version of a table.

    Args:
        topic: where they go.
        fields: the columns that events show, by their field's name, in the order of a row's values.
        key: the fields that make up the key, in order; none for a table without a key.
        options: what is the same for all tables.
        schemas: what the names of schemas begin with; the topic unless given.
        masks: for places in a row what is done to the value there when an event shows it; keys have it as it is.
        key_mark: the name and the value of a field behind the key's columns, the same for all rows of the table.
        comment: what the table's definition says it is for.
        table: what it is called, `database.table`, where the source knows.

    Attributes:
        creates: makes the records of inserted rows.
        reads: makes the records of rows that a snapshot found.
        updates: makes the records of changed rows; a changed key makes a delete and a create.
        deletes: makes the records of deleted rows, with their tombstones.
    """

    def __init__(
        self,
        topic: str,
        fields: dict[str, Schema],
        key: dict[str, Schema],
        options: RecordOptions,
        *,
        schemas: str = "",
        masks: Mapping[int, Callable[[Any], Any]] | None = None,
        key_mark: tuple[str, str] | None = None,
        comment: str | None = None,
        table: str | None = None,
    ) -> None:
        self.topic = topic
        self._options = options
        self._masks = masks or {}
        self._key_mark = key_mark
        name = options.schema_name
        schemas = schemas or topic
        row = struct_schema(name(f"{schemas}.Value"), fields, optional=True)
        self.row_schema = row.replace(stored=Stored(comment=comment, table=table))
        marked = key if key_mark is None else {**key, key_mark[0]: STRING}
        identity = struct_schema(name(f"{schemas}.Key"), marked).replace(stored=Stored(table=table))
        self.key_schema = identity if marked else None
        self.envelope = options.envelope(name(f"{schemas}.Envelope"), self.row_schema, options.source)
        self._key_places = tuple(self.row_schema.index[k] for k in key)
        self._makers = _Makers(self._compile)
        self.creates: MakeRecords = partial(self._made, "c")
        self.reads: MakeRecords = partial(self._made, "r")
        self.updates: MakeRecords = partial(self._made, "u")
        self.deletes: MakeRecords = partial(self._made, "d")

    @classmethod
    def named(
        cls,
        topics: Topics,
        table: Name,
        fields: dict[str, Schema],
        key: dict[str, Schema],
        options: RecordOptions,
        masks: Mapping[int, Callable[[Any], Any]] | None = None,
        comment: str | None = None,
    ) -> Self:
        """Those of a table whose topic, schemas and mark in keys are what `topics` makes of its name."""
        mark, schemas = topics.key_mark(table), topics.schemas(table)
        topic = topics.data(table)
        named = ".".join(table)
        return cls(
            topic, fields, key, options, schemas=schemas, masks=masks, key_mark=mark, comment=comment, table=named
        )

    def truncate(
        self, source: Struct, prefix: str, first_position: int, blocks: Iterator[Struct] | None = None
    ) -> Record:
        """The record of a table that was emptied; the arguments are those of `MakeRecords`."""
        now = time.time_ns()
        block = next(blocks) if blocks is not None else None
        times = {"ts_ms": now // 1_000_000, "ts_us": now // 1000, "ts_ns": now}
        members = {"source": source, "transaction": block, "op": "t", **times}
        value = Struct(self.envelope, tuple(members.get(field.name) for field in self.envelope.fields))
        position = prefix + position_ends(first_position, 1)[0]
        return Record(self.topic, None, value, self._options.headers, position, times["ts_ms"])

    def updates_made(self, changes: Sequence[Change]) -> int:
        """How many events `updates` makes of these changes, tombstones not among them."""
        places = self._key_places
        if self._options.skip_unchanged:
            changes = [change for change in changes if change[0] != change[1]]
        if not places:
            return len(changes)
        moved = sum(any(before[place] != after[place] for place in places) for before, after in changes)
        return len(changes) + moved

    def _made(
        self,
        operation: str,
        rows: Sequence[Any],
        source: Struct,
        prefix: str,
        first: int = 0,
        first_position: int = 0,
        blocks: Iterator[Struct] | None = None,
    ) -> list[Record]:
        now = time.time_ns()
        # Functions for one row build a struct; those for several fill a template that holds what the rows share (source
        # block, times), which serializers write once.
        make = self._makers[blocks is not None, len(rows) == 1 and first == 0][operation]
        ends = position_ends(first_position, len(rows))
        made: list[Record] = make(rows, source, first, ends, prefix, blocks, now // 1_000_000, now // 1000, now)
        return made

    def _compile(self, blocks: bool, alone: bool) -> Functions:
        """The functions for each operation, with this table's constants."""
        scope: dict[str, Any] = {
            "Record": Record,
            "Struct": Struct,
            "Template": Template,
            "TemplateStruct": TemplateStruct,
            "count": count,
            "key_change": key_change,
            "topic": self.topic,
            "headers": self._options.headers,
            "row_schema": self.row_schema,
            "key_schema": self.key_schema,
            "envelope": self.envelope,
            "key_mark": self._key_mark and self._key_mark[1],
            "masks": self._masks,
        }
        # Source text is the same for all tables with keys in the same places; what differs are names in the scope, so a
        # thousand tables share a few pieces of code.
        exec(_code(self._source(blocks=blocks, alone=alone)), scope)  # noqa: S102 - generated from the definition
        return {"c": scope["creates"], "r": scope["reads"], "u": scope["updates"], "d": scope["deletes"]}

    def _source(self, *, blocks: bool, alone: bool) -> str:
        masked = (len(self.row_schema.fields), *self._masks) if self._masks else ()
        shape = blocks, alone, self._key_places, self._key_mark is not None, masked
        text = self._options.sources.get(shape)
        if text is None:
            text = self._options.sources[shape] = self._written(blocks=blocks, alone=alone)
        return text

    def _written(self, *, blocks: bool, alone: bool) -> str:
        writer = _Writer(self._key_places, self.envelope, self._options, blocks=blocks, alone=alone)
        writer.marked, writer.masked = self._key_mark is not None, bool(self._masks)
        functions = (writer.rows("creates", "c"), writer.rows("reads", "r"), writer.deletes(), writer.updates())
        return "\n".join([*self._mask_source(), *(line for lines in functions for line in lines)])

    def _mask_source(self) -> list[str]:
        """A function that masks a row, where there is something to mask."""
        if not self._masks:
            return []
        places = range(len(self.row_schema.fields))
        values = (f"masks[{place}](row[{place}])" if place in self._masks else f"row[{place}]" for place in places)
        return ["def masked(row):", f"    return ({', '.join(values)},)"]


class _Makers(dict[tuple[bool, bool], Functions]):
    """The functions of one table: with transaction blocks or without, for one row or for many; made when needed."""

    def __init__(self, compile_: Callable[[bool, bool], Functions]) -> None:
        super().__init__()
        self._compile = compile_

    def __missing__(self, kind: tuple[bool, bool]) -> Functions:
        made = self[kind] = self._compile(*kind)
        return made


@lru_cache(maxsize=1024)
def _code(source: str) -> CodeType:
    """The code of functions, which tables with keys in the same places share."""
    return compile(source, "<records of a table>", "exec")


_ARGUMENTS = "rows, source, first, ends, prefix, blocks, ms, us, ns"
_EACH = "end, number in zip(rows, ends, count(first))"
_AFTER = ("after",)
_IMAGES = {"d": ("before",), "u": ("before", "after")}
"""Which images of a row the events of an operation hold, where that is not `after` alone."""
_TIMES = {"ts_ms": "ms", "ts_us": "us", "ts_ns": "ns"}


class _Writer:
    """Writes the source text of a table's functions.

    Args:
        key_places: where the key's columns stand in a row.
        envelope: the schema of an event's value.
        options: what is the same for all tables.
        blocks: whether events have a transaction block.
        alone: whether the functions are for one row, the event's first: a template would cost more than it saves.

    Attributes:
        marked: whether keys end with the table's mark.
        masked: whether rows are masked where events show them.
    """

    marked = False
    masked = False

    def __init__(
        self, key_places: Sequence[int], envelope: Schema, options: RecordOptions, *, blocks: bool, alone: bool
    ) -> None:
        self._key_places = key_places
        self._envelope = envelope
        self._options = options
        self._blocks = blocks
        self._alone = alone
        self._numbered = "row" in options.source.index

    def rows(self, name: str, operation: str) -> Iterator[str]:
        """A record a row, with the row in `after`."""
        yield f"def {name}({_ARGUMENTS}):"
        yield f"    of_{operation} = {self._template(operation)}"
        yield f"    return [{self._record(operation, self._key('row'), ('row',))} for row, {_EACH}]"

    def deletes(self) -> Iterator[str]:
        """A delete a row, and its tombstone."""
        yield f"def deletes({_ARGUMENTS}):"
        yield f"    of_d = {self._template('d')}"
        if not self._options.tombstones:
            yield f"    return [{self._record('d', self._key('row'), ('row',))} for row, {_EACH}]"
            return
        yield "    made = []"
        yield f"    for row, {_EACH}:"
        yield f"        key = {self._key('row')}"
        yield f"        made.append({self._record('d', 'key', ('row',))})"
        # The last digit of a position tells a row's records apart: delete 0, tombstone 1, create 2.
        yield "        made.append(Record(topic, key, None, headers, prefix + end[:-1] + '1', ms))"
        yield "    return made"

    def updates(self) -> Iterator[str]:
        """An update a change; where the key differs, a delete, its tombstone and a create."""
        yield f"def updates({_ARGUMENTS}):"
        yield f"    of_u = {self._template('u')}"
        yield "    made = []"
        yield f"    for (before, after), {_EACH}:"
        if self._options.skip_unchanged:
            yield "        if before == after: continue"
        if self._key_places:
            yield f"        if {self._values('before')} != {self._values('after')}:"
            yield from (f"            {line}" for line in self._key_change())
            yield "            continue"
        yield f"        made.append({self._record('u', self._key('after'), ('before', 'after'))})"
        yield "    return made"

    def _key_change(self) -> Iterator[str]:
        yield f"keys = {self._key('before')}, {self._key('after')}"
        yield f"of_d, of_c = {self._template('d')}, {self._template('c')}"
        yield f"values = {self._value('d', ('before',))}, {self._value('c', ('after',))}"
        yield "at = prefix + end[:-1]"
        places, tombstones = "(at + '0', at + '1', at + '2')", self._options.tombstones
        yield f"made += key_change(topic, keys, values, headers, {places}, ms, tombstones={tombstones})"

    def _template(self, operation: str) -> str:
        """What the envelopes of one operation share: all but rows, row number (0 in snapshots), transaction block."""
        if self._alone:
            return "None"
        at = self._envelope.index
        holes = [f"({at[image]},)" for image in _IMAGES.get(operation, _AFTER)]
        if self._numbers(operation):
            holes.append(f"({at['source']}, {self._options.source.index['row']})")
        if self._blocks:
            holes.append(f"({at['transaction']},)")
        return f"Template(envelope, {self._members(operation, {})}, ({', '.join(holes)},))"

    def _numbers(self, operation: str) -> bool:
        """Whether the source blocks of one event differ, in the row's number."""
        return self._numbered and operation != "r"

    def _members(self, operation: str, given: Mapping[str, str]) -> str:
        """The tuple of an envelope's values, in its schema's order; what is not given and differs is None."""
        known = {"source": "source", "op": repr(operation), **_TIMES, **given}
        return f"({', '.join(known.get(field.name, 'None') for field in self._envelope.fields)})"

    def _record(self, operation: str, key: str, rows: tuple[str, ...]) -> str:
        return f"Record(topic, {key}, {self._value(operation, rows)}, headers, prefix + end, ms)"

    def _value(self, operation: str, rows: tuple[str, ...]) -> str:
        return self._plain(operation, rows) if self._alone else self._filled(operation, rows)

    def _filled(self, operation: str, rows: tuple[str, ...]) -> str:
        fills = [self._row(row) for row in rows]
        if self._numbers(operation):
            fills.append("number")
        if self._blocks:
            fills.append("next(blocks)")
        return f"TemplateStruct(of_{operation}, ({', '.join(fills)},))"

    def _plain(self, operation: str, rows: tuple[str, ...]) -> str:
        images = _IMAGES.get(operation, _AFTER)
        given = {image: self._row(row) for image, row in zip(images, rows, strict=True)}
        if self._blocks:
            given["transaction"] = "next(blocks)"
        return f"Struct(envelope, {self._members(operation, given)})"

    def _row(self, row: str) -> str:
        return f"Struct(row_schema, {f'masked({row})' if self.masked else row})"

    def _key(self, row: str) -> str:
        return f"Struct(key_schema, {self._values(row)})" if self._key_places or self.marked else "None"

    def _values(self, row: str) -> str:
        values = [f"{row}[{place}]" for place in self._key_places]
        return f"({', '.join([*values, 'key_mark'] if self.marked else values)},)"
