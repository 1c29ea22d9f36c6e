"""The records of a table as the kit makes them, for any source whose log tells of rows."""

from __future__ import annotations

from itertools import repeat
from typing import Any

import pytest

from cdckit import INT64, OPTIONAL_STRING, STRING, Header, Record, Schema, Struct, plain, struct_schema
from cdckit.connector.envelope import NEW_KEY, OLD_KEY, TRANSACTION_BLOCK
from cdckit.connector.table_events import RecordOptions, TableEvents

PLAIN = struct_schema("toy.Source", {"log": STRING})
NUMBERED = struct_schema("toy.Source", {"log": STRING, "row": INT64})
FIELDS = {"id": INT64, "name": OPTIONAL_STRING}
HEADERS = (Header("by", "toy"),)


def events(source: Schema = PLAIN, **more: Any) -> TableEvents:
    key = more.pop("key", {"id": INT64})
    marks = {name: more.pop(name) for name in ("masks", "key_mark") if name in more}
    return TableEvents("t", FIELDS, key, RecordOptions(HEADERS, source, **more), **marks)


def block(source: Schema = PLAIN) -> Struct:
    return Struct(source, ("a", 0)[: len(source.fields)])


def told(record: Record) -> tuple[Any, ...]:
    """Key, what the value says but for times, and position."""
    value = record.value and plain(record.value)
    shown = value and {name: value[name] for name in ("op", "before", "after", "source")}
    return record.key and plain(record.key), shown, record.position


def change(op: str, before: Any, after: Any, source: Any = None) -> dict[str, Any]:
    return {"op": op, "before": before, "after": after, "source": source or {"log": "a"}}


A, B = {"id": 1, "name": "a"}, {"id": 1, "name": "b"}


@pytest.mark.parametrize(("kind", "op"), [("creates", "c"), ("reads", "r")])
@pytest.mark.parametrize("rows", [1, 3])
def test_rows_that_came_or_were_found(kind: str, op: str, rows: int) -> None:
    made = getattr(events(), kind)([(n, "a") for n in range(rows)], block(), "p", 0, 7)
    assert [told(record) for record in made] == [
        ({"id": n}, change(op, None, {"id": n, "name": "a"}), f"p-{n + 7:014d}-0") for n in range(rows)
    ]
    assert {(record.topic, record.headers) for record in made} == {("t", HEADERS)}


@pytest.mark.parametrize("rows", [1, 3])
def test_the_number_of_a_row_is_told_where_the_source_block_has_it(rows: int) -> None:
    made = events(NUMBERED).creates([(n, "a") for n in range(rows)], block(NUMBERED), "p", 5 * (rows - 1))
    assert [plain(record.value)["source"]["row"] for record in made] == [5 * (rows - 1) + n for n in range(rows)]
    found = events(NUMBERED).reads([(n, "a") for n in range(rows)], block(NUMBERED), "p", 5)
    assert [plain(record.value)["source"]["row"] for record in found] == [0] * rows


@pytest.mark.parametrize("rows", [1, 2])
def test_an_update_and_a_delete_with_its_tombstone(rows: int) -> None:
    made = events().updates([((1, "a"), (1, "b"))] * rows, block(), "p")
    assert [told(record) for record in made] == [({"id": 1}, change("u", A, B), f"p-{n:014d}-0") for n in range(rows)]
    gone = events().deletes([(1, "a")] * rows, block(), "p")
    assert [told(record) for record in gone] == [
        record
        for n in range(rows)
        for record in (({"id": 1}, change("d", A, None), f"p-{n:014d}-0"), ({"id": 1}, None, f"p-{n:014d}-1"))
    ]
    assert [told(record)[1] for record in events(tombstones=False).deletes([(1, "a")], block(), "p")] == [
        change("d", A, None)
    ]


@pytest.mark.parametrize("rows", [1, 2])
def test_a_changed_key_makes_a_delete_a_tombstone_and_a_create_that_name_each_other(rows: int) -> None:
    made = events().updates([((1, "a"), (2, "a"))] * rows, block(), "p")
    gone, tombstone, come = made[:3]
    assert len(made) == 3 * rows
    after = {"id": 2, "name": "a"}
    assert told(gone) == ({"id": 1}, change("d", A, None), f"p-{0:014d}-0")
    assert told(tombstone) == ({"id": 1}, None, f"p-{0:014d}-1")
    assert told(come) == ({"id": 2}, change("c", None, after), f"p-{0:014d}-2")
    assert [(header.key, plain(header.value)) for header in (gone.headers[0], tombstone.headers[0])] == [
        (NEW_KEY, {"id": 2})
    ] * 2
    assert (come.headers[0].key, plain(come.headers[0].value)) == (OLD_KEY, {"id": 1})
    assert all(record.headers[1:] == HEADERS for record in made)


def test_positions_sort_as_the_rows_came() -> None:
    made = [*events().updates([((n, "a"), (n + 1, "a")) for n in range(5000)], block(), "p")]
    positions = [record.position for record in made]
    assert positions == sorted(positions)
    assert len(set(positions)) == 15000


def test_an_update_that_changes_nothing_is_left_out_where_that_is_asked_for() -> None:
    rows = [((1, "a"), (1, "a")), ((1, "a"), (1, "b"))]
    assert [told(record)[1] for record in events(skip_unchanged=True).updates(rows, block(), "p")] == [
        change("u", A, B)
    ]
    assert len(events().updates(rows, block(), "p")) == 2


def test_a_table_without_a_key_a_key_with_a_mark_and_masked_values() -> None:
    keyless = events(key={}).updates([((1, "a"), (2, "a"))], block(), "p")
    assert [told(record)[:2] for record in keyless] == [(None, change("u", A, {"id": 2, "name": "a"}))]
    marked = events(key_mark=("table", "x"), masks={1: lambda _: "*"}).creates([(1, "a")], block(), "p")
    assert [told(record)[:2] for record in marked] == [
        ({"id": 1, "table": "x"}, change("c", None, {"id": 1, "name": "*"}))
    ]


@pytest.mark.parametrize("rows", [1, 2])
def test_the_transaction_block_of_each_row(rows: int) -> None:
    blocks = (Struct(TRANSACTION_BLOCK, ("x", n, n)) for n in range(rows))
    made = events().creates([(1, "a")] * rows, block(), "p", blocks=blocks)
    assert [plain(record.value)["transaction"]["total_order"] for record in made] == list(range(rows))


def test_a_table_that_was_emptied() -> None:
    record = events().truncate(block(), "p", 3, repeat(Struct(TRANSACTION_BLOCK, ("x", 1, 1))))
    assert told(record) == (None, change("t", None, None), f"p-{3:014d}-0")
    assert plain(record.value)["transaction"]["id"] == "x"
