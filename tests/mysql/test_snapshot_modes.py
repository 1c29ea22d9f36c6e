"""The snapshot modes: which of them read what, when, and what they refuse."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from cdckit.api.hookspecs import hookimpl
from cdckit.api.plugins import plugin_manager
from cdckit.api.snapshotting import SnapshotLock, SnapshotMode, SnapshotQuery
from cdckit.api.source import SourceContext
from cdckit.errors import SourceError, StateError
from cdckit_mysql.schema_history.history import HISTORY
from mysql.capture import Capture, changes
from mysql.conftest import NewCapture
from testkit.servers.mysql_family import SQLServer

pytestmark = pytest.mark.one_server

Sql = Callable[[str], None]

BASED = "snapshot.mode.configuration.based."


def _fill(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20)); INSERT INTO t VALUES (1, 'a'), (2, 'b');")


def _short(reading: Capture) -> list[tuple[Any, ...]]:
    return [(change[0], *(change[3] or change[2])) for change in changes(reading.once()) if change[0] != "tombstone"]


def _lose_history(reading: Capture) -> None:
    reading.state.replace_history(HISTORY, [])


# -- recovery


@pytest.mark.parametrize("mode", ["recovery", "schema_only_recovery"])
def test_recovery_makes_a_lost_history_anew_and_goes_on(capture: NewCapture, sql: Sql, mode: str) -> None:
    _fill(sql)
    first = capture()
    first.once()
    sql("UPDATE t SET v = 'c' WHERE id = 1;")
    _lose_history(first)
    with pytest.raises(StateError, match="history"):
        capture().once()
    assert _short(capture(snapshot_mode=mode)) == [("u", 1, "c")]
    sql("ALTER TABLE t ADD n INT DEFAULT 7; INSERT INTO t VALUES (3, 'd', 8);")
    assert _short(capture()) == [("c", 3, "d", 8)]


def test_recovery_forgets_what_the_history_held_before(capture: NewCapture, sql: Sql) -> None:
    _fill(sql)
    capture().once()
    for number in range(5):
        sql(f"ALTER TABLE t ADD c{number} INT;")
    first = capture()
    first.once()
    before = len(list(first.state.read_history(HISTORY)))
    second = capture(snapshot_mode="recovery")
    second.once()
    assert len(list(second.state.read_history(HISTORY))) < before


@pytest.mark.parametrize(
    "statement",
    ["ALTER TABLE t ADD n INT", "CREATE TABLE later (id INT)", "DROP TABLE t", "RENAME TABLE t TO u"],
)
def test_recovery_is_refused_where_a_definition_has_changed_since(
    capture: NewCapture, sql: Sql, statement: str
) -> None:
    _fill(sql)
    first = capture()
    first.once()
    sql(f"INSERT INTO t VALUES (9, 'x'); {statement};")
    _lose_history(first)
    with pytest.raises(SourceError, match="definitions have changed since") as caught:
        capture(snapshot_mode="recovery").once()
    assert statement.split(maxsplit=1)[0] in str(caught.value)


def test_recovery_without_an_offset_is_refused(capture: NewCapture, sql: Sql) -> None:
    _fill(sql)
    with pytest.raises(SourceError, match="start with another mode"):
        capture(snapshot_mode="recovery").once()


def test_recovery_makes_it_anew_once_a_run(capture: NewCapture, sql: Sql) -> None:
    """Whoever goes on in the same run has the definitions of the log since."""
    _fill(sql)
    capture().once()
    reading = capture(snapshot_mode="recovery")
    reading.source.open(SourceContext("p", reading.state, starts=False))
    sql("ALTER TABLE t ADD n INT DEFAULT 7; INSERT INTO t VALUES (3, 'd', 8);")
    assert _short(reading) == [("c", 3, "d", 8)]


# -- always


def test_always_takes_one_snapshot_a_run(capture: NewCapture, sql: Sql) -> None:
    """However often a runner makes a source in it."""
    _fill(sql)
    assert _short(capture(snapshot_mode="always")) == [("r", 1, "a"), ("r", 2, "b")]
    sql("INSERT INTO t VALUES (3, 'c');")
    reading = capture(snapshot_mode="always")
    reading.source.open(SourceContext("p", reading.state, starts=False))
    assert _short(reading) == [("c", 3, "c")]


# -- configuration_based


def test_configuration_based_reads_rows_at_every_start(capture: NewCapture, sql: Sql) -> None:
    _fill(sql)
    options = {"snapshot_mode": "configuration_based", f"{BASED}snapshot.data": True, f"{BASED}start.stream": True}
    assert _short(capture(**options)) == [("r", 1, "a"), ("r", 2, "b")]
    sql("INSERT INTO t VALUES (3, 'c');")
    assert _short(capture(**options)) == [("r", 1, "a"), ("r", 2, "b"), ("r", 3, "c")]


def test_configuration_based_may_read_definitions_alone(capture: NewCapture, sql: Sql) -> None:
    _fill(sql)
    options = {"snapshot_mode": "configuration_based", f"{BASED}snapshot.schema": True}
    assert _short(capture(**options)) == []
    sql("INSERT INTO t VALUES (3, 'c');")
    assert _short(capture(**options)) == []
    assert _short(capture(**options, **{f"{BASED}start.stream": True})) == [("c", 3, "c")]


def test_configuration_based_reads_the_log_from_its_begin_where_it_takes_nothing(
    capture: NewCapture, sql: Sql, db_server: SQLServer
) -> None:
    db_server.execute("RESET BINARY LOGS AND GTIDS" if "mysql" in type(db_server).__name__.lower() else "RESET MASTER")
    _fill(sql)
    options = {"snapshot_mode": "configuration_based", f"{BASED}start.stream": True}
    assert _short(capture(**options)) == [("c", 1, "a"), ("c", 2, "b")]


def test_configuration_based_may_make_a_lost_history_anew(capture: NewCapture, sql: Sql) -> None:
    _fill(sql)
    first = capture()
    first.once()
    sql("DELETE FROM t WHERE id = 1;")
    _lose_history(first)
    options = {"snapshot_mode": "configuration_based", f"{BASED}start.stream": True}
    with pytest.raises(StateError, match="history"):
        capture(**options).once()
    assert _short(capture(**options, **{f"{BASED}snapshot.on.schema.error": True})) == [("d", 1, "a")]


@pytest.mark.parametrize("wanted", [False, True])
def test_configuration_based_may_take_a_snapshot_where_the_log_is_gone(
    capture: NewCapture, sql: Sql, wanted: bool
) -> None:
    _fill(sql)
    first = capture()
    first.once()
    lost = {**first.offset(), "file": "binlog.000000"}
    lost.pop("gtids", None)
    first.keep(lost)
    options = {
        "snapshot_mode": "configuration_based",
        f"{BASED}start.stream": True,
        f"{BASED}snapshot.on.data.error": wanted,
    }
    if wanted:
        assert _short(capture(**options)) == []
        sql("INSERT INTO t VALUES (3, 'c');")
        assert _short(capture(**options)) == [("c", 3, "c")]
    else:
        with pytest.raises(SourceError, match=r"binlog\.000000"):
            capture(**options).once()


# -- custom


class _Evening(SnapshotMode):
    """Rows at every start, the log never."""

    streams = False

    def takes_data(self, *, offset_exists: bool, in_progress: bool) -> bool:
        return True

    def takes_schema(self, *, offset_exists: bool, in_progress: bool) -> bool:
        return True


class _NamedLock(SnapshotLock):
    """Takes a lock that the writers of some tables have agreed on, and notes which tables."""

    def __init__(self) -> None:
        self.locked: list[str] = []

    def statements(self, tables: Sequence[str]) -> Sequence[str]:
        self.locked += tables
        return ["SELECT GET_LOCK('evening', 1)"]


class _Newest(SnapshotQuery):
    """The one row with the highest id of tables called `t`."""

    def select(self, table: str, columns: Sequence[str]) -> str | None:
        return f"SELECT * FROM {table} ORDER BY id DESC LIMIT 1" if table.endswith(".t") and "v" in columns else None


class _Plugin:
    """Knows the name `evening` for all three."""

    def __init__(self) -> None:
        self.lock = _NamedLock()

    @hookimpl
    def cdckit_snapshot_mode(self, name: str) -> SnapshotMode | None:
        return _Evening() if name == "evening" else None

    @hookimpl
    def cdckit_snapshot_lock(self, name: str) -> SnapshotLock | None:
        return self.lock if name == "evening" else None

    @hookimpl
    def cdckit_snapshot_query(self, name: str) -> SnapshotQuery | None:
        return _Newest() if name == "evening" else None


@pytest.fixture
def plugin() -> Iterator[_Plugin]:
    made = _Plugin()
    plugin_manager().register(made)
    yield made
    plugin_manager().unregister(made)


def test_a_plugin_decides_when_a_snapshot_is_taken(capture: NewCapture, sql: Sql, plugin: _Plugin) -> None:
    _fill(sql)
    options = {"snapshot_mode": "custom", "snapshot_mode_custom_name": "evening"}
    for _ in range(2):
        assert _short(capture(**options)) == [("r", 1, "a"), ("r", 2, "b")]
    assert plugin.lock.locked == []


def test_a_plugin_decides_what_is_locked(capture: NewCapture, sql: Sql, plugin: _Plugin, database: str) -> None:
    _fill(sql)
    options = {"snapshot_locking_mode": "custom", "snapshot_locking_mode_custom_name": "evening"}
    assert _short(capture(**options)) == [("r", 1, "a"), ("r", 2, "b")]
    assert plugin.lock.locked == [f"`{database}`.`t`"]
    sql("INSERT INTO t VALUES (3, 'c');")


def test_a_plugin_decides_which_rows_are_read(
    capture: NewCapture, sql: Sql, plugin: _Plugin, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    _fill(sql)
    sql("CREATE TABLE other (id INT PRIMARY KEY); INSERT INTO other VALUES (5), (6);")
    options = {"snapshot_query_mode": "custom", "snapshot_query_mode_custom_name": "evening"}
    assert _short(capture(**options)) == [("r", 5), ("r", 6), ("r", 2, "b")]
