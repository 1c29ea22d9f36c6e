"""Where a table's rows arrive behind the transforms, and which of their fields tell of the row.

Transforms are no mystery that has to be understood: they are given example records of the table, one for each kind of
change, and once more with other times and places. What comes out differently with the same row tells of the event.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cdckit.api.marks import TableExample
from cdckit.api.record import Record
from cdckit.api.struct import Struct
from cdckit.connector.envelope import is_envelope
from cdckit.engine.chain import TransformChain
from cdckit.errors import TransformError
from cdckit.logical import JSON, ZONED_TIME, ZONED_TIMESTAMP

_LATER = 86_400_000
"""What times of example events differ by, in their own unit."""
_PLAIN_TYPES = frozenset({"int8", "int16", "int32", "int64", "string"})
_OF_JSON = (JSON.name,)
_OF_TIMES = (ZONED_TIMESTAMP.name, ZONED_TIME.name)
_NUMBERS = ("pos", "row", "server_id", "thread", "ord", "txnNumber", "wallTime")
_TEXTS = ("file", "gtid", "query", "sequence", "lsid")
"""What of the source block tells of the event besides times, as MySQL's and MongoDB's have it."""
_KINDS = {"r": "reads", "c": "creates", "u": "updates", "d": "deletes"}


@dataclass(frozen=True, slots=True)
class Route:
    """What becomes of one table's rows.

    Attributes:
        table: `database.table`.
        topic: where they arrive; "" where that cannot be told.
        columns: the fields of a row that are compared; None: all.
        key: the fields of the key.
        documents: the fields that hold JSON as text.
        times: the fields that hold times as text.
        floats: the fields that hold numbers of four bytes.
        plain_key: whether the key is as the source has it, of numbers and texts.
        left_out: fields that tell of the event, and are not.
        undecidable: why the table cannot be compared; None: it can.
    """

    table: str
    topic: str
    columns: frozenset[str] | None = None
    key: tuple[str, ...] = ()
    documents: frozenset[str] = frozenset()
    times: frozenset[str] = frozenset()
    floats: frozenset[str] = frozenset()
    plain_key: bool = False
    left_out: tuple[str, ...] = ()
    undecidable: str | None = None


def route_of(example: TableExample, chain: TransformChain) -> Route:
    """What the chain makes of a table's records."""
    try:
        made = {op: _made(example.records[0], op, chain) for op in _KINDS}
        later = _made(example.records[0], "u", chain, later=_LATER)
    except TransformError as error:
        return Route(example.table, "", undecidable=f"a transform fails on its records: {error}")
    topic = next((records[0].topic for records in made.values() if records), "")
    why = _undecidable(example, made, later)
    if why is not None:
        return Route(example.table, topic, undecidable=why)
    rows = [_row(records[0]) for records in (made["r"], made["c"], made["u"], later)]
    names = None if rows[0] is None else frozenset(rows[0])
    told = [row for row in rows if row is not None]
    of_events = sorted(name for name in names or () if any(row.get(name) != told[0].get(name) for row in told))
    columns = None if names is None else names - set(of_events)
    key = made["c"][0].key
    fields = tuple(field.name for field in key.schema.fields) if isinstance(key, Struct) else ()
    documents, times = (frozenset(_named(made["c"][0], names)) for names in (_OF_JSON, _OF_TIMES))
    floats = frozenset(_floats(made["c"][0]))
    plain = _plain(key) == _plain(example.records[0].key) and _is_plain(key)
    return Route(example.table, topic, columns, fields, documents, times, floats, plain, tuple(of_events))


def _undecidable(example: TableExample, made: Mapping[str, list[Record]], later: list[Record]) -> str | None:
    if not _has_key(example.records[0]):
        return "it has no key, so that one row cannot be told from another: a primary key, or message.key.columns"
    lost = [_KINDS[op] for op, records in made.items() if not records]
    if lost:
        return f"the transforms leave out records of it ({', '.join(lost)})"
    if any(len(records) > 1 for records in made.values()):
        return "the transforms make several records of one"
    first, *others = [records[0] for records in (*made.values(), later) if records]
    if not later or any(each.topic != first.topic for each in others):
        return "the transforms choose the topic by the event, not by the table"
    if any(_plain(each.key) != _plain(first.key) for each in others):
        return "the transforms make keys of the event, not of the row"
    if first.key is None:
        return "the transforms take its key away"
    return None


def _has_key(record: Record) -> bool:
    """Whether the record's key has anything of its row: by `topic.key.field.regex` it may tell of the table alone."""
    key, row = record.key, _struct(record)
    if not isinstance(key, Struct) or row is None:
        return key is not None
    return any(name in row for name in key.schema.index)


def _made(record: Record, op: str, chain: TransformChain, later: int = 0) -> list[Record]:
    changed = record.replace(value=_event(record.value, op, later), timestamp=(record.timestamp or 0) + later)
    return list(chain.apply([changed]))


def _event(value: Any, op: str, later: int) -> Any:
    """The example's envelope for another kind of change."""
    if not isinstance(value, Struct) or not is_envelope(value.schema):
        return value
    row = value["after"]
    members: dict[str, Any] = {"op": op, **_times(value, later)}
    if "before" in value:
        members["before"] = row if op in "ud" else None
    members["after"] = None if op == "d" else row
    source = value.get("source")
    if isinstance(source, Struct) and later:
        members["source"] = source.replace(**_times(source, later), **_places(source))
    return value.replace(**members)


def _times(struct: Struct, later: int) -> dict[str, Any]:
    return {name: (struct.get(name) or 0) + later for name in ("ts_ms", "ts_us", "ts_ns") if later and name in struct}


def _places(source: Struct) -> dict[str, Any]:
    """Where another event would be from: its place in the log, and whether it is of a snapshot."""
    found: dict[str, Any] = {name: (source.get(name) or 0) + 1 for name in _NUMBERS if name in source}
    found |= {name: f"{source.get(name) or ''}1" for name in _TEXTS if name in source}
    if "snapshot" in source:
        mark = source["snapshot"]
        found["snapshot"] = (not mark) if isinstance(mark, bool) else ("true" if mark in (None, "false") else None)
    return found


def _row(record: Record) -> dict[str, Any] | None:
    """The fields of the row behind the chain; None where it is no struct of them."""
    row = _struct(record)
    return None if row is None else row.to_dict()


def _struct(record: Record) -> Struct | None:
    value = record.value
    if isinstance(value, Struct) and {"after", "source", "op"} <= value.schema.index.keys():
        value = value["after"]
    return value if isinstance(value, Struct) else None


def _named(record: Record, schemas: Collection[str | None]) -> list[str]:
    """The fields of the row whose schemas have one of these names."""
    row = _struct(record)
    return [] if row is None else [field.name for field in row.schema.fields if field.schema.name in schemas]


def _floats(record: Record) -> list[str]:
    """The fields of the row that hold numbers of four bytes."""
    row = _struct(record)
    return [] if row is None else [field.name for field in row.schema.fields if field.schema.type == "float32"]


def _is_plain(key: Any) -> bool:
    return isinstance(key, Struct) and all(
        field.schema.name is None and field.schema.type in _PLAIN_TYPES for field in key.schema.fields
    )


def _plain(key: Any) -> Any:
    return key.to_dict() if isinstance(key, Struct) else key


def shared(routes: Mapping[str, Route]) -> Iterator[tuple[str, list[Route]]]:
    """The topics with the tables whose rows arrive there; a table that arrives nowhere is alone."""
    topics: dict[tuple[str, str], list[Route]] = {}
    for route in routes.values():
        topics.setdefault((route.topic, "" if route.topic else route.table), []).append(route)
    for (topic, _), arriving in topics.items():
        yield topic, arriving
