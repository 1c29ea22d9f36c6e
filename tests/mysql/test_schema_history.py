"""The schema history: folded as it grows, whatever happens to the process."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cdckit.api.struct import Struct
from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit.errors import DecodeError, StateError
from cdckit_mysql.ddl import DdlReader, Flavor
from cdckit_mysql.offsets import LogOffset, LogPosition
from cdckit_mysql.schema_history import history as history_module
from cdckit_mysql.schema_history.history import HISTORY, SchemaHistory
from cdckit_mysql.table import Column, Table, Tables
from mysql.capture import changes
from mysql.conftest import NewCapture

GROWING = """
import sys
from pathlib import Path
from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit_mysql.schema_history import history as module
from cdckit_mysql.ddl import DdlReader, Flavor
from cdckit_mysql.offsets import LogPosition

module.FOLDED_AT = 5
history, reader = module.SchemaHistory(SqliteStateStore(Path(sys.argv[1]))), DdlReader(Flavor.MYSQL)
tables = history.tables_at(LogPosition(0, "b.1", 10**9))
pos = 100 + len(tables["d", "t"].columns)
while True:
    pos += 1
    changed = reader.apply(tables, "d", f"ALTER TABLE t ADD c{pos} INT")
    history.changed(LogPosition(0, "b.1", pos), changed, tables)
    print("grown", flush=True)
    history.fold(LogPosition(0, "b.1", pos - 3))
"""


def _start(folder: Path) -> None:
    state = SqliteStateStore(folder)
    tables = Tables()
    tables.put(Table("d", "t", (Column("a", "INT", 1),)))
    SchemaHistory(state).start(LogPosition(0, "b.1", 101), tables)
    state.close()


def _columns(history: SchemaHistory, pos: int) -> int:
    return len(history.tables_at(LogPosition(0, "b.1", pos))["d", "t"].columns)


def test_what_lies_before_a_saved_position_is_folded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_module, "FOLDED_AT", 20)
    _start(tmp_path)
    state = SqliteStateStore(tmp_path)
    history, reader = SchemaHistory(state), DdlReader(Flavor.MYSQL)
    tables = history.tables_at(LogPosition(0, "b.1", 101))
    sizes = []
    for pos in range(102, 302):
        history.changed(LogPosition(0, "b.1", pos), reader.apply(tables, "d", f"ALTER TABLE t ADD c{pos} INT"), tables)
        history.fold(LogPosition(0, "b.1", pos - 10))
        sizes.append(len(list(state.read_history(HISTORY))))
    assert max(sizes) < 40
    assert [_columns(history, pos) for pos in (291, 295, 301, 999)] == [191, 195, 201, 201]
    with pytest.raises(StateError, match="knows no definitions"):
        history.tables_at(LogPosition(0, "b.1", 200))


def test_a_process_that_is_killed_while_it_folds_loses_nothing(tmp_path: Path, nightly: bool) -> None:
    _start(tmp_path)
    chance = random.Random(9)
    reached = 1
    for _ in range(40 if nightly else 4):
        with subprocess.Popen([sys.executable, "-c", GROWING, str(tmp_path)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"grown\n"
            time.sleep(chance.uniform(0.05, 0.3))
            process.kill()
        state = SqliteStateStore(tmp_path)
        history = SchemaHistory(state)
        found = _columns(history, 10**9)
        assert found > reached
        assert [_columns(history, 100 + found - back) for back in (0, 1, 2)] == [found, found - 1, found - 2]
        assert len(list(state.read_history(HISTORY))) < 20
        state.close()
        reached = found


def test_a_pipeline_goes_on_with_a_folded_history(
    capture: NewCapture, sql: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_module, "FOLDED_AT", 10)
    sql("CREATE TABLE t (id INT PRIMARY KEY);")
    capture().once()
    sql("".join(f"ALTER TABLE t ADD c{n} INT; ALTER TABLE t DROP c{n};" for n in range(10)))
    reading = capture()
    reading.once()
    reading.source.committed(reading.offset())
    kept = [entry for _, entry in reading.state.read_history(HISTORY)]
    assert not any("ddl" in entry for entry in kept)
    sql("ALTER TABLE t ADD v INT; INSERT INTO t VALUES (1, 2);")
    assert changes(capture().once()) == [("c", "t", None, (1, 2))]


def test_a_statement_that_cannot_be_read_stops_the_pipeline_unless_it_is_to_be_passed_over(
    capture: NewCapture, sql: Callable[[str], None], database: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A table that a query makes has its columns in no log whose session logs statements."""
    sql("CREATE TABLE t (id INT PRIMARY KEY);")
    options = {"table_include_list": f"{database}.t", "include_schema_changes": True}
    capture(**options).once()
    sql("SET SESSION binlog_format = 'STATEMENT'; CREATE TABLE q SELECT 1 AS a;")
    sql("ALTER TABLE t ADD v INT; INSERT INTO t VALUES (1, 2);")
    with pytest.raises(DecodeError, match=r"columns come from a query.*skip\.unparseable\.ddl=true"):
        capture(**options).once()
    told, change = capture(schema_history_internal_skip_unparseable_ddl=True, **options).once()
    assert told.value["ddl"] == "ALTER TABLE t ADD v INT"  # type: ignore[index,call-overload]
    assert changes([change]) == [("c", "t", None, (1, 2))]
    assert "passed over" in caplog.text


@pytest.mark.parametrize(
    ("option", "kept"),
    [
        ("schema_history_internal_store_only_captured_tables_ddl", {"t"}),
        ("schema_history_internal_store_only_captured_databases_ddl", {"t", "u"}),
    ],
)
def test_the_history_and_the_topic_hold_what_is_asked_for(
    capture: NewCapture, sql: Callable[[str], None], database: str, option: str, kept: set[str]
) -> None:
    other = f"{database}_b"
    sql(f"CREATE DATABASE {other}; CREATE TABLE t (id INT); CREATE TABLE u (id INT); CREATE TABLE {other}.x (id INT);")
    options = {option: True, "table_include_list": f"{database}.t", "include_schema_changes": True}
    records = capture(**options).once()
    sql(f"ALTER TABLE t ADD v INT; ALTER TABLE u ADD v INT; ALTER TABLE {other}.x ADD v INT; DROP DATABASE {other};")
    reading = capture(**options)
    records += reading.once()
    told = [record.value["source"].to_dict() for record in records if isinstance(record.value, Struct)]
    assert {source["table"] for source in told if source["table"]} == kept
    assert {source["db"] for source in told} == {"", database}
    tables = SchemaHistory(reading.state).tables_at(LogOffset.from_json(reading.offset()).position)
    assert {table.name for table in tables} == kept


def test_ranges_of_the_log_hold_a_table_that_is_captured_later(
    capture: NewCapture, sql: Callable[[str], None], database: str
) -> None:
    """Its definition, which was not followed, is the server's."""
    sql("CREATE TABLE t (id INT PRIMARY KEY); CREATE TABLE later (id INT PRIMARY KEY, v INT);")
    only = {"schema_history_internal_store_only_captured_tables_ddl": True}
    capture(table_include_list=f"{database}.t", **only).parallel(1)
    sql("INSERT INTO later VALUES (1, 2);")
    [records] = capture(table_include_list=rf"{database}\.(t|later)", **only).parallel(1)
    assert changes(records) == [("c", "later", None, (1, 2))]
