"""The records of one table: schemas made once for a definition, and generated code that turns rows into records."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from cdckit.record import Header, Record
from cdckit.schema import INT64, OPTIONAL_INT64, STRING, Schema, struct_schema
from cdckit.struct import Struct, Template, TemplateStruct
from cdckit_mysql.events.headers import NEW_KEY, OLD_KEY, key_header
from cdckit_mysql.events.transactions import BLOCK

Row = tuple[Any, ...]
Change = tuple[Row, Row]

_ENDS_KEPT = 4096


def row_ends(part: int) -> list[str]:
    """What follows the prefix in the positions of an event's first rows."""
    return [f"-{row:014d}-{part}" for row in range(_ENDS_KEPT)]


_ENDS = [row_ends(part) for part in range(3)]


def position_ends(first: int, rows: int, part: int = 0) -> list[str]:
    """The ends of the positions of `rows` rows from number `first` on."""
    if first + rows <= _ENDS_KEPT:
        return _ENDS[part][first : first + rows]
    return [f"-{row:014d}-{part}" for row in range(first, first + rows)]


@dataclass(slots=True)
class Place:
    """What the rows of one event share.

    Attributes:
        template: their source block.
        prefix: what their positions begin with.
        first: the number of the first row in its event, for `source.row`.
        first_position: the number of the first row in the positions.
        blocks: their transaction blocks, or None without transaction metadata.
    """

    template: Template
    prefix: str
    first: int = 0
    first_position: int = 0
    blocks: Iterator[Struct] | None = None


@dataclass(frozen=True, slots=True)
class EventOptions:
    """What is the same for the records of all tables.

    Attributes:
        headers: those of every record.
        source: the schema of the source block.
        tombstones: whether a delete is followed by a record without value.
        skipped: operations that make no record: of `c`, `u`, `d`, `t`.
        skip_unchanged: whether an update that changes nothing makes no record.
        schema_name: what makes a schema's name from its raw name.
    """

    headers: tuple[Header, ...]
    source: Schema
    tombstones: bool = True
    skipped: frozenset[str] = frozenset()
    skip_unchanged: bool = False
    schema_name: Callable[[str], str] = str


def envelope_schema(name: str, row: Schema, source: Schema) -> Schema:
    """The schema of a change event's value (Debezium 3's order of fields)."""
    members = {
        "before": row,
        "after": row,
        "source": source,
        "transaction": BLOCK,
        "op": STRING,
        "ts_ms": OPTIONAL_INT64,
        "ts_us": OPTIONAL_INT64,
        "ts_ns": OPTIONAL_INT64,
    }
    return struct_schema(name, members, version=2)


class TableEvents:
    """Makes records of one version of a table.

    Args:
        topic: where they go.
        fields: the columns that events show, by their field's name, in the order of a row's values.
        key: the names of the fields that make up the key, in order; none for a table without a key.
        options: what is the same for all tables.
    """

    def __init__(
        self, topic: str, fields: dict[str, Schema], key: Sequence[str], options: EventOptions
    ) -> None:
        self.topic = topic
        self._options = options
        name = options.schema_name
        self.row_schema = struct_schema(name(f"{topic}.Value"), fields, optional=True)
        self.key_schema = struct_schema(name(f"{topic}.Key"), {k: fields[k] for k in key}) if key else None
        self.envelope = envelope_schema(name(f"{topic}.Envelope"), self.row_schema, options.source)
        self._key_places = tuple(self.row_schema.index[k] for k in key)
        self._plain = self._compile(blocks=False)
        self._with_blocks = self._compile(blocks=True)

    def creates(self, rows: Sequence[Row], place: Place) -> list[Record]:
        """The records of inserted rows."""
        return self._made("c", rows, place)

    def reads(self, rows: Sequence[Row], place: Place) -> list[Record]:
        """The records of rows that a snapshot found."""
        return self._made("r", rows, place)

    def updates(self, changes: Sequence[Change], place: Place) -> list[Record]:
        """The records of changed rows; a changed key makes a delete and a create."""
        return self._made("u", changes, place)

    def deletes(self, rows: Sequence[Row], place: Place) -> list[Record]:
        """The records of deleted rows, with their tombstones."""
        return self._made("d", rows, place)

    def truncate(self, place: Place) -> Record:
        """The record of a table that was emptied."""
        now = time.time_ns()
        block = next(place.blocks) if place.blocks is not None else None
        source = TemplateStruct(place.template, 0)
        values = (None, None, source, block, "t", now // 1_000_000, now // 1000, now)
        position = place.prefix + position_ends(place.first_position, 1)[0]
        value = Struct(self.envelope, values)
        return Record(self.topic, None, value, self._options.headers, position, now // 1_000_000)

    def _made(self, operation: str, rows: Sequence[Any], place: Place) -> list[Record]:
        now = time.time_ns()
        make = (self._plain if place.blocks is None else self._with_blocks)[operation]
        ends = position_ends(place.first_position, len(rows))
        made: list[Record] = make(
            rows, place.template, place.first, ends, place.prefix, place.blocks, now // 1_000_000, now // 1000, now
        )
        return made

    def _compile(self, *, blocks: bool) -> dict[str, Callable[..., list[Record]]]:
        """The functions for each operation, with this table's constants and key inlined."""
        scope = {
            "Record": Record,
            "Struct": Struct,
            "TemplateStruct": TemplateStruct,
            "count": count,
            "key_header": key_header,
            "topic": self.topic,
            "headers": self._options.headers,
            "row_schema": self.row_schema,
            "key_schema": self.key_schema,
            "envelope": self.envelope,
            "NEW_KEY": NEW_KEY,
            "OLD_KEY": OLD_KEY,
        }
        exec(self._source("next(blocks)" if blocks else "None"), scope)  # noqa: S102 - generated from the definition
        return {"c": scope["creates"], "r": scope["reads"], "u": scope["updates"], "d": scope["deletes"]}

    def _source(self, block: str) -> str:
        skipped, tombstones = self._options.skipped, self._options.tombstones
        writer = _Writer(self._key_places, block)
        return "\n".join(
            (
                writer.rows("creates", "c"),
                writer.rows("reads", "r"),
                writer.deletes(tombstones=tombstones),
                writer.updates(skipped, tombstones=tombstones, skip_unchanged=self._options.skip_unchanged),
            )
        )


_ARGUMENTS = "rows, template, first, ends, prefix, blocks, ms, us, ns"
_EACH = "zip(rows, ends, count(first))"


class _Writer:
    """Writes the source text of a table's functions."""

    def __init__(self, key_places: Sequence[int], block: str) -> None:
        self._key_places = key_places
        self._block = block

    def rows(self, name: str, operation: str) -> str:
        """A record a row, with the row in `after`."""
        record = self._record(operation, "None", "row", "prefix + end", self._key("row"))
        return f"def {name}({_ARGUMENTS}):\n    return [{record} for row, end, number in {_EACH}]"

    def deletes(self, *, tombstones: bool) -> str:
        """A delete a row, and its tombstone."""
        if not tombstones:
            record = self._record("d", "row", "None", "prefix + end", self._key("row"))
            return f"def deletes({_ARGUMENTS}):\n    return [{record} for row, end, number in {_EACH}]"
        return "\n".join(
            (
                f"def deletes({_ARGUMENTS}):",
                "    made = []",
                f"    for row, end, number in {_EACH}:",
                f"        key = {self._key('row')}",
                f"        made.append({self._record('d', 'row', 'None', 'prefix + end', 'key')})",
                "        made.append(Record(topic, key, None, headers, prefix + end[:-1] + '1', ms))",
                "    return made",
            )
        )

    def updates(self, skipped: frozenset[str], *, tombstones: bool, skip_unchanged: bool) -> str:
        """An update a change; where the key differs, a delete, its tombstone and a create."""
        lines = [
            f"def updates({_ARGUMENTS}):",
            "    made = []",
            f"    for (before, after), end, number in {_EACH}:",
        ]
        if skip_unchanged:
            lines += ["        if before == after: continue"]
        if self._key_places:
            same = f"{self._key_values('before')} == {self._key_values('after')}"
            lines += [f"        if not ({same}):"]
            lines += [f"            {line}" for line in self._key_change(skipped, tombstones=tombstones)]
            lines += ["            continue"]
        if "u" not in skipped:
            record = self._record("u", "before", "after", "prefix + end", self._key("after"))
            lines += [f"        made.append({record})"]
        return "\n".join([*lines, "    return made"])

    def _key_change(self, skipped: frozenset[str], *, tombstones: bool) -> Iterator[str]:
        yield f"old_key, new_key = {self._key('before')}, {self._key('after')}"
        yield "front = prefix + end[:-1]"
        if "d" not in skipped:
            yield "told = (key_header(NEW_KEY, new_key), *headers)"
            yield f"made.append({self._record('d', 'before', 'None', 'prefix + end', 'old_key', 'told')})"
            if tombstones:
                yield "made.append(Record(topic, old_key, None, told, front + '1', ms))"
        if "c" not in skipped:
            yield "told = (key_header(OLD_KEY, old_key), *headers)"
            created = self._record("c", "None", "after", "front + '2'", "new_key", "told")
            yield f"made.append({created})"

    def _record(  # noqa: PLR0913 - the parts of a record
        self, operation: str, before: str, after: str, position: str, key: str, headers: str = "headers"
    ) -> str:
        old = "None" if before == "None" else f"Struct(row_schema, {before})"
        new = "None" if after == "None" else f"Struct(row_schema, {after})"
        source = "TemplateStruct(template, number)"
        values = f"({old}, {new}, {source}, {self._block}, {operation!r}, ms, us, ns)"
        return f"Record(topic, {key}, Struct(envelope, {values}), {headers}, {position}, ms)"

    def _key(self, row: str) -> str:
        return f"Struct(key_schema, {self._key_values(row)})" if self._key_places else "None"

    def _key_values(self, row: str) -> str:
        return f"({', '.join(f'{row}[{place}]' for place in self._key_places)},)"
