"""What the ledger takes of events: the same sums, however events are grouped and whoever writes their rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cdckit import logical
from cdckit.api.batch import Batch
from cdckit.api.record import Header, Record
from cdckit.api.schema import FLOAT64, INT32, INT64, STRING, struct_schema
from cdckit.api.state_store import Json
from cdckit.api.struct import Struct, TemplateStruct
from cdckit.connector.table_events import RecordOptions, TableEvents
from cdckit.engine.ledger.kept import Head, Place, read_head
from cdckit.engine.ledger.layouts import message_layouts
from cdckit.engine.ledger.ledger import Ledger, form_of
from cdckit.engine.ledger.record_rows import RecordLedger
from cdckit.engine.ledger.row_form import digest
from cdckit.engine.ledger.steps import Known, RowsRead
from cdckit.engine.ledger.sums import Sums
from cdckit.engine.ledger.task_rows import TaskRows
from cdckit.engine.ledger.window import FILE, KeyedRows
from cdckit.engine.serializers.json import JsonSerializer
from cdckit.engine.serializers.json_config import JsonConfig
from cdckit.engine.state.ledger_file import HEAD, LedgerFiles, forget
from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit.errors import StateError

FIELDS = {
    "id": INT32,
    "name": STRING.as_optional(),
    "ratio": FLOAT64.as_optional(),
    "at": logical.ZONED_TIMESTAMP.as_optional(),
    "more": logical.JSON.as_optional(),
}
SOURCE = struct_schema("s.Source", {"db": STRING, "table": STRING, "pos": INT64, "row": INT32})
EVENTS = TableEvents("p.d.t", FIELDS, {"id": INT32}, RecordOptions((Header("connector", "test"),), SOURCE))
TIMES = (None, "2024-01-02T01:02:03Z", "2024-01-02T01:02:03.5Z", "2024-01-02T01:02:03.500Z")
Grouped = Callable[[Sequence[Record]], list[Record]]


class State:
    """What is kept, in memory."""

    def __init__(self) -> None:
        self.values: dict[str, Json] = {}

    def get(self, key: str) -> Json:
        return self.values.get(key)

    def put(self, key: str, value: Json) -> None:
        self.values[key] = value


def row(number: int, name: str = "x") -> tuple[Any, ...]:
    return number, f"{name} {number}", number / 3, TIMES[number % 4], '{"b": 1, "a": 2}' if number % 3 else None


def events(kind: str, rows: Sequence[Any], position: int) -> list[Record]:
    source = Struct(SOURCE, ("d", "t", position, 0))
    return list(getattr(EVENTS, kind)(rows, source, f"{position:04d}"))


def history() -> list[Record]:
    """Of 300 rows of which 100 are changed and 50 go, by events of many rows and of one."""
    return [
        *events("creates", [row(number) for number in range(299)], 1),
        *events("creates", [row(299)], 2),
        *events("updates", [(row(number), row(number, "changed")) for number in range(100)], 3),
        *events("deletes", [row(number) for number in range(250, 299)], 4),
        *events("deletes", [row(299)], 5),
    ]


def together(records: Sequence[Record]) -> list[Record]:
    return list(records)


def alone(records: Sequence[Record]) -> list[Record]:
    """Without templates, as transforms leave events behind that they change."""
    return [
        one.replace(value=Struct(one.value.schema, one.value.values)) if type(one.value) is TemplateStruct else one
        for one in records
    ]


def left() -> Sums:
    """The sums of the rows that are there in the end, row by row."""
    rows = [row(number, "changed") for number in range(100)] + [row(number) for number in range(100, 250)]
    sums, form = Sums(), form_of(EVENTS.row_schema)
    sums.add([digest(form.text(dict(zip(FIELDS, one, strict=True)))) for one in rows])
    return sums


def record_ledger(folder: Path) -> RecordLedger:
    return RecordLedger(State(), None, {}, lambda _: None, message_layouts(), KeyedRows(folder), None)


@pytest.mark.parametrize("grouped", [together, alone])
def test_records_come_to_the_sums_of_the_rows_that_are_left(tmp_path: Path, grouped: Grouped) -> None:
    ledger = record_ledger(tmp_path)
    for number, part in enumerate((history()[:200], history()[200:])):
        ledger.take_records(grouped(part))
        ledger.took(Batch(part, {"n": number}))
    ledger.saving({"n": 1})
    [table] = ledger._tables.values()
    assert (table.void, table.sums, table.sums.rows) == ("", left(), 250)
    head = read_head(ledger._state)
    assert head is not None
    assert head.places[0].reached == {"": history()[-1].position}


@pytest.mark.parametrize("grouped", [together, alone])
def test_what_tasks_tell_comes_to_the_same(grouped: Grouped) -> None:
    by_sums, by_keys = TaskRows(message_layouts()), TaskRows(message_layouts())
    by_keys.begin(Known(True, {}, frozenset()))
    for rows in (by_sums, by_keys):
        rows.take_records(grouped(history()))
    [told] = [step for step in by_sums.steps() if isinstance(step, RowsRead)]
    assert told.sums == left()
    [told] = [step for step in by_keys.steps() if isinstance(step, RowsRead)]
    sums = Sums()
    sums.add([found for found in dict(told.by_keys()).values() if found is not None])
    assert sums == left()


@pytest.mark.parametrize("grouped", [together, alone])
@pytest.mark.parametrize("most", [1, 7, 1000])
def test_messages_come_to_the_same(grouped: Grouped, most: int) -> None:
    serializer = JsonSerializer(JsonConfig.load({"schemas.enable": False}, "serializer")[0])
    noted = serializer.noting_rows(lambda schema: form_of(schema).of_text, digest)
    ledger, records = Ledger(noted, State(), None, {}), grouped(history())
    for at in range(0, len(records), most):
        ledger.take(serializer.serialize(records[at : at + most]))
        ledger.took(Batch([], {"n": at}))
    ledger.saving({"n": len(records)})
    [table] = ledger._tables.values()
    assert (table.void, table.sums) == ("", left())


@pytest.mark.parametrize("last", ["", "0001-00000000000000-0"])
def test_the_newest_position_is_the_place_whatever_comes_last(last: str) -> None:
    serializer = JsonSerializer(JsonConfig.load({"schemas.enable": False}, "serializer")[0])
    noted = serializer.noting_rows(lambda schema: form_of(schema).of_text, digest)
    ledger, beat = Ledger(noted, State(), None, {}), struct_schema("s.Heartbeat", {"ts_ms": INT64})
    ledger.take(serializer.serialize([*history(), Record("beat", None, Struct(beat, (1,)), position=last)]))
    assert ledger._reached == {"": history()[-1].position}


def test_a_change_that_does_not_tell_its_row_spoils_the_sums(tmp_path: Path) -> None:
    ledger, [first, second] = record_ledger(tmp_path), events("creates", [row(1), row(2)], 1)
    assert isinstance(second.value, TemplateStruct)
    lacking = TemplateStruct(second.value.template, (None, *second.value.fills[1:]))
    ledger.take_records([first, second.replace(value=lacking)])
    [table] = ledger._tables.values()
    assert table.void == f"the change at position {second.position} does not tell the row after it"


def test_a_later_format_is_refused(tmp_path: Path) -> None:
    state = State()
    Head([Place(1, {"at": 1})], [], whole=True, lists={}).save(state)
    assert read_head(state) == Head([Place(1, {"at": 1})], [], whole=True, lists={})
    state.values[HEAD]["format"] = 2
    with pytest.raises(StateError, match=r"has format 2, this version of cdckit reads format 1: run the version that"):
        read_head(state)
    KeyedRows(tmp_path).begin()
    with closing(sqlite3.connect(tmp_path / FILE)) as file:
        assert file.execute("PRAGMA user_version").fetchone() == (1,)
        file.execute("PRAGMA user_version = 2")
    with pytest.raises(StateError, match=rf"{FILE}: the ledger's rows have format 2"):
        KeyedRows(tmp_path).has("token")


def test_what_is_forgotten_is_gone_whatever_its_format(tmp_path: Path) -> None:
    files = LedgerFiles(tmp_path, None, {HEAD: {"format": 2, "topics": ["p.t"]}, f"{HEAD}/p.t": [1]})
    files.write(1)
    with closing(SqliteStateStore(tmp_path / "state")) as state:
        state.put(HEAD, files.get(HEAD))
        state.put(f"{HEAD}/p.t", files.get(f"{HEAD}/p.t"))
        forget(state, tmp_path)
        assert (state.get(HEAD), state.get(f"{HEAD}/p.t")) == (None, None)
    assert not [*(tmp_path / "ledger").iterdir()]
