"""Offsets in Debezium's form, positions that sort, and the history that belongs to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit.errors import StateError
from cdckit_mysql.ddl import DdlReader, Flavor
from cdckit_mysql.offsets import LogOffset, LogPosition, ToldPart, record_position
from cdckit_mysql.schema_history.history import SchemaHistory
from cdckit_mysql.streaming.progress import LogProgress
from cdckit_mysql.table import Column, Table, Tables


def test_an_offset_says_what_debeziums_says() -> None:
    offset = LogOffset(
        file="binlog.000003", pos=157, gtids="u:1-5", event=3, row=2, server_id=223344, ts_sec=1700000000,
        transaction_id="u:6", counts={"d.t": 4},
    )  # fmt: skip
    assert offset.to_json() == {
        "ts_sec": 1700000000,
        "file": "binlog.000003",
        "pos": 157,
        "gtids": "u:1-5",
        "row": 2,
        "server_id": 223344,
        "event": 3,
        "transaction_id": "u:6",
        "transaction_data_collection_order_d.t": 4,
    }
    assert LogOffset.from_json(offset.to_json()) == offset


@pytest.mark.parametrize(
    ("members", "due"),
    [
        ({"file": "b.1", "pos": 4}, False),
        ({}, True),
        ({"file": "b.1", "pos": 4, "snapshot": True}, True),
        ({"file": "b.1", "pos": 4, "snapshot": "INITIAL"}, True),
        ({"file": "b.1", "pos": 4, "snapshot": "INITIAL", "snapshot_completed": "true"}, False),
    ],
)
def test_debeziums_offsets_tell_whether_a_snapshot_is_due(members: dict[str, object], due: bool) -> None:
    assert LogOffset.from_json(members).snapshot_due is due


def test_an_offset_that_is_none_is_refused() -> None:
    with pytest.raises(StateError, match="not one of a MySQL source"):
        LogOffset.from_json({"file": "b.1", "pos": "far"})


def test_positions_sort_in_commit_order() -> None:
    places = [(0, "b.000009", 500), (0, "b.000010", 4), (0, "b.999999", 1), (0, "b.1000000", 1), (1, "x.000001", 4)]
    texts = [
        record_position(LogPosition(*place).prefix, row, part)
        for place in places
        for row in (0, 1, 12)
        for part in (0, 1)
    ]
    assert texts == sorted(texts)
    assert len({len(text) for text in texts}) == 1


def _table(name: str, *columns: str) -> Table:
    return Table("d", name, tuple(Column(each, "INT", place) for place, each in enumerate(columns, 1)))


def test_definitions_are_those_in_force_at_a_position(tmp_path: Path) -> None:
    state = SqliteStateStore(tmp_path)
    history = SchemaHistory(state)
    tables = Tables()
    tables.put(_table("t", "a"))
    tables.put(_table("u", "x"))
    history.start(LogPosition(0, "b.1", 100), tables)
    reader = DdlReader(Flavor.MYSQL)
    statements = ["ALTER TABLE t ADD b INT", "RENAME TABLE t TO v, u TO t", "DROP TABLE v", "CREATE DATABASE e"]
    for number, sql in enumerate(statements, 1):
        changes = reader.apply(tables, "d", sql)
        history.changed(LogPosition(0, "b.1", 100 + number * 10), changes, tables)
    state.close()

    history = SchemaHistory(SqliteStateStore(tmp_path))

    def known(pos: int) -> dict[str, list[str]]:
        found = history.tables_at(LogPosition(0, "b.1", pos))
        return {table.name: [column.name for column in table.columns] for table in found}

    assert known(100) == {"t": ["a"], "u": ["x"]}
    assert known(109) == {"t": ["a"], "u": ["x"]}
    assert known(110) == {"t": ["a", "b"], "u": ["x"]}
    assert known(120) == {"v": ["a", "b"], "t": ["x"]}
    assert known(130) == {"t": ["x"]}
    assert history.tables_at(LogPosition(0, "b.2", 4)) == tables
    with pytest.raises(StateError, match="knows no definitions"):
        known(99)


def test_that_an_end_was_told_is_kept_until_it_is_passed() -> None:
    """Nothing may have come of the transaction when reading is interrupted once more."""
    start = LogOffset(file="b.1", pos=100, event=4, end_told=True)
    progress = LogProgress(LogOffset.from_json(start.to_json()), mariadb=False)
    assert progress.offset().end_told
    progress.begin(100)
    assert not progress.end_told
    progress.events_done = 4
    assert progress.end_told
    progress.commit(200)
    assert not progress.offset().end_told


def test_rows_that_were_told_are_counted_at_another_server() -> None:
    """As often as reading is interrupted there; other transactions may come before."""
    told = ToldPart("u:6", {"d.t": 5, "d.u": 1}, {})
    start = LogOffset(file="b.1", pos=100, event=4, server="one", told=told)
    moved = LogOffset.from_json(start.moved_to("two").to_json())
    assert moved.told == ToldPart("u:6", {"d.t": 5, "d.u": 1}, {"d.t": 5, "d.u": 1})
    progress = LogProgress(moved, mariadb=False)
    progress.gtid = "v:1"
    progress.begin(200)
    assert progress.rows_to_skip("d.t", 3) == 0
    progress.commit(300)
    assert progress.offset().told == moved.told
    progress.gtid = "u:6"
    progress.begin(300)
    assert [progress.rows_to_skip(table, 3) for table in ("d.t", "d.u", "d.w")] == [3, 1, 0]
    progress.events_done = 3
    again = LogProgress(LogOffset.from_json(progress.offset().to_json()), mariadb=False)
    again.gtid = "u:6"
    again.begin(300)
    again.events_done = 3
    assert [again.rows_to_skip("d.t", rows) for rows in (1, 3, 3)] == [1, 1, 0]
    again.commit(400)
    assert again.offset().told is None


@pytest.mark.parametrize(
    "part", [{"gtid": "u:6"}, {"gtid": "u:6", "rows": {"d.t": -1}}, {"rows": {}}, "u:6", {"gtid": "u:6", "rows": 3}]
)
def test_damaged_counts_of_rows_are_refused(part: object) -> None:
    with pytest.raises(StateError, match="is not one of a MySQL source"):
        LogOffset.from_json({"file": "b.1", "pos": 4, "cdckit_told": part})


@pytest.mark.parametrize("rows", [{"d.t": 5}, {}])
def test_events_go_on_being_numbered_at_another_server(rows: dict[str, int]) -> None:
    told = ToldPart("u:6", rows, {}) if rows else None
    start = LogOffset(file="b.1", gtids="u:1-5", event=4, transaction_id="u:6", counts={"d.t": 7}, told=told)
    moved = LogOffset.from_json(start.moved_to("two").to_json())
    assert moved.told == ToldPart("u:6", rows, rows, {"d.t": 7})
    assert (moved.transaction_id, moved.counts) == (None, {})


@pytest.mark.parametrize(
    "sql",
    [
        "RENAME TABLE t TO tmp, u TO t, tmp TO u",
        "RENAME TABLE t TO _t_del, unknown TO t",
        "ALTER TABLE unknown RENAME t",
        "DROP TABLE t, u",
    ],
)
def test_what_one_statement_does_to_several_tables_is_kept(sql: str, tmp_path: Path) -> None:
    """A table that is renamed twice is gone from where it was in between; an unknown one covers what it replaces."""
    history = SchemaHistory(SqliteStateStore(tmp_path))
    tables = Tables()
    tables.put(_table("t", "a"))
    tables.put(_table("u", "x"))
    history.start(LogPosition(0, "b.1", 100), tables)
    changes = DdlReader(Flavor.MYSQL).apply(tables, "d", sql)
    history.changed(LogPosition(0, "b.1", 110), changes, tables)
    assert history.tables_at(LogPosition(0, "b.1", 110)) == tables


def test_a_new_snapshot_of_definitions_replaces_those_before(tmp_path: Path) -> None:
    history = SchemaHistory(SqliteStateStore(tmp_path))
    for pos, name in ((100, "old"), (200, "new")):
        tables = Tables(lower_case_table_names=1)
        tables.put(_table(name, "a"))
        history.start(LogPosition(0, "b.1", pos), tables)
    assert [table.name for table in history.tables_at(LogPosition(0, "b.1", 199))] == ["old"]
    found = history.tables_at(LogPosition(0, "b.1", 200))
    assert [table.name for table in found] == ["new"]
    assert found.lower_case_table_names == 1
