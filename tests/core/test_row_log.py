"""Sources whose log gives rows behind a number: their options, their connection, the order in which keys are read."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import product
from pathlib import Path

import pytest

from cdckit import OPTIONAL_STRING, ConfigError, RetriableSourceError, SourceContext, Struct, struct_schema
from cdckit.connector.incremental import (
    IncrementalSnapshot,
    IncrementalState,
    KeyOrder,
    Watermarks,
    for_placeholders,
)
from cdckit.connector.notifications import Notifications
from cdckit.connector.offset import NumberedOffset
from cdckit.connector.row_log import Change, Database, RowLogOptions, RowLogSource, Table, parts
from cdckit.connector.row_log.chunks import TableChunks
from cdckit.connector.signals import Signal
from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit.testing.notices import RecordedNotices


class Options(RowLogOptions):
    """Those of a source that adds none."""

    connector = "toy"


def options(**given: object) -> Options:
    named = {name.replace("_", "."): value for name, value in given.items()}
    return Options.load({"topic.prefix": "t", **named}, "source")[0]


@pytest.mark.parametrize(
    "given",
    [
        {"provide_transaction_metadata": True},
        {"snapshot_max_threads": 2},
        {"snapshot_delay_ms": 1},
        {"streaming_delay_ms": 1},
    ],
)
def test_what_the_kit_has_for_others_is_refused_by_name(given: dict[str, object]) -> None:
    [name] = given
    with pytest.raises(ConfigError, match=rf"{name.replace('_', '[.]')}: .+; remove it"):
        options(**given)
    assert options(**{name: Options.model_fields[name].default})


def test_the_log_tells_of_captured_tables_and_of_that_of_signals() -> None:
    config = options(table_include_list=r"d\.a,d\.s", signal_data_collection="d.s")
    assert [name for name in ("d.a", "d.b", "d.s") if config.captures(name)] == ["d.a"]
    assert [name for name in ("d.a", "d.b", "d.s") if config.follows(name)] == ["d.a", "d.s"]


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_chunks_in_the_order_of_a_key_have_each_row_once(size: int) -> None:
    keys = list(product((1, 2, 3), ("x", "y"), (0.5, 1.5)))
    order = KeyOrder(["a", "b", "c"], nullable=False)
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE TABLE t (a, b, c)")
        db.executemany("INSERT INTO t VALUES (?, ?, ?)", reversed(keys))
        [last] = db.execute(f"SELECT a, b, c FROM t ORDER BY {order.descending} LIMIT 1").fetchall()
        found: list[tuple[object, ...]] = []
        while not found or found[-1] != last:
            after = found[-1] if found else None
            where = order.between(None if after is None else "???", "???")
            statement = f"SELECT a, b, c FROM t WHERE {where} ORDER BY {order.columns} LIMIT {size}"
            found += db.execute(statement, for_placeholders(after, last)).fetchall()
    assert found == keys


def test_rows_without_a_part_of_their_key_come_with_the_first() -> None:
    order = KeyOrder(["a", "b"], nullable=True)
    assert order.between(None, "12") == "((a < 1 OR (a = 1 AND b <= 2)) OR a IS NULL OR b IS NULL)"
    assert order.between("00", "12") == "(a > 0 OR (a = 0 AND b > 0)) AND (a < 1 OR (a = 1 AND b <= 2))"


class File(Database):
    """An SQLite file without a log."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.connections = 0

    def connect(self) -> sqlite3.Connection:
        self.connections += 1
        return sqlite3.connect(self.path, isolation_level=None, timeout=0)

    @contextmanager
    def errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise RetriableSourceError(str(error)) from error

    def tables(self) -> Mapping[str, Table]:
        return {}

    def log_bounds(self) -> tuple[int, int]:
        return 0, 0

    def changes(self, after: int, last: int, tables: Mapping[str, Table], most: int) -> Sequence[Change]:
        return []


@pytest.fixture
def file(tmp_path: Path) -> Iterator[File]:
    made = File(tmp_path / "d")
    made.write('CREATE TABLE "a ""b""" (c)')
    made.write("INSERT INTO \"a \"\"b\"\"\" VALUES ('x'), ('y'), ('z')")
    yield made
    made.close()


ROWS = Table("main", 'a "b"', {"c": OPTIONAL_STRING}, ())


@contextmanager
def locked(file: File) -> Iterator[None]:
    with closing(sqlite3.connect(file.path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield


def test_a_connection_that_was_lost_is_made_anew(file: File) -> None:
    with locked(file), pytest.raises(RetriableSourceError, match="locked"):
        file.select(ROWS)
    assert file.select(ROWS, "WHERE c > ?", "x") == [("y",), ("z",)]
    assert file.connections == 2


def test_one_that_is_lost_within_a_transaction_ends_it_with_its_own_error(file: File) -> None:
    with locked(file), pytest.raises(RetriableSourceError, match="locked"), file.consistent():
        file.select(ROWS)
    with file.consistent():
        assert len(file.select(ROWS)) == 3


def test_rows_come_in_portions(file: File) -> None:
    assert list(file.portions(ROWS, 2)) == [[("x",), ("y",)], [("z",)]]


@pytest.mark.parametrize(
    ("key", "nothing", "count"), [(("a", "b"), False, 3), (("b",), False, 3), ((), False, 1), (("a", "b"), True, 1)]
)
def test_parts_of_a_table_have_each_row_once(
    file: File, monkeypatch: pytest.MonkeyPatch, key: tuple[str, ...], nothing: bool, count: int
) -> None:
    monkeypatch.setattr(parts, "_WORTH_DIVIDING", 5)
    file.write("CREATE TABLE pairs (a, b)")
    rows = [(None if nothing else number // 7, str(100 + number)) for number in range(23)]
    for row in reversed(rows):
        file.write("INSERT INTO pairs VALUES (?, ?)", *row)
    table = Table("main", "pairs", dict.fromkeys("ab", OPTIONAL_STRING), key)
    made = parts.divided(file, [table, ROWS], 1)
    assert [(part.table, part.number, part.of) for part in made] == [
        *((table.id, number, count) for number in range(count)),
        (ROWS.id, 0, 1),
    ]
    found = [row for part in made[:-1] for rows in parts.rows_of(file, table, part, 3) for row in rows]
    assert sorted(found, key=str) == sorted(rows, key=str)
    assert sum(part.estimate for part in made) in range(20, 27)


class Marks(Watermarks):
    """Marks that no log shows."""

    opens_at_once = True

    def low(self, window: str) -> None:
        """Nothing is written."""

    def high(self, window: str) -> None:
        """Nothing is written."""


def snapshot(file: File, key: tuple[str, ...], state: IncrementalState) -> IncrementalSnapshot[tuple[object, ...]]:
    config = options(incremental_snapshot_chunk_size=2)
    table = Table("main", "pairs", dict.fromkeys("ab", OPTIONAL_STRING), key)
    notifications = Notifications(config, "t", RecordedNotices())
    return IncrementalSnapshot(TableChunks(config, file, {table.id: table}), Marks(), notifications, state)


def chunk(of: IncrementalSnapshot[tuple[object, ...]]) -> list[tuple[object, ...]]:
    of.advance()
    return of.closed().rows


@pytest.mark.parametrize(
    ("key", "noted", "anew"),
    [
        (("a",), True, False),
        (("a",), False, False),
        (("b",), True, True),
        (("a", "b"), True, True),
        (("a", "b"), False, True),
    ],
)
def test_chunks_begin_anew_where_their_bounds_are_of_another_key(
    file: File, caplog: pytest.LogCaptureFixture, key: tuple[str, ...], noted: bool, anew: bool
) -> None:
    """Older states do not note of which one they are; the number of values tells them, where it differs."""
    caplog.set_level("INFO", "cdckit.snapshot")
    rows = [(number, 9 - number) for number in range(9)]
    file.write("CREATE TABLE pairs (a, b)")
    for row in rows:
        file.write("INSERT INTO pairs VALUES (?, ?)", *row)
    begun = snapshot(file, ("a",), IncrementalState())
    begun.take(Signal("1", "execute-snapshot", {"data-collections": ["main.pairs"]}))
    assert chunk(begun) == rows[:2]
    kept = json.loads(json.dumps(begun.state.to_json()))
    assert (kept["columns"], kept["after"], kept["last"]) == (["a"], [1], [8])
    if not noted:
        del kept["columns"]
    goes_on, found = snapshot(file, key, IncrementalState.from_json(kept)), []
    while goes_on.state.wanted:
        found += chunk(goes_on)
    assert sorted(found) == (rows if anew else rows[2:])
    assert (f"main.pairs has the key {', '.join(key)} now" in caplog.text) == anew
    assert "finished, 9 rows" in caplog.text


class Toy(RowLogSource[Options]):
    """Of a database whose log tells nothing."""

    def _source_block(self, table: Table, snapshot: str, change: Change | None) -> Struct:
        return Struct(struct_schema("toy", {}), ())


def test_readings_that_end_do_not_put_heartbeats_off(file: File, tmp_path: Path) -> None:
    """The source reads anew after each batch, as when its database was away: none lasts as long as the interval."""
    source = Toy(options(heartbeat_interval_ms=1000), file, struct_schema("toy", {}))
    state = SqliteStateStore(tmp_path / "state")
    source.open(SourceContext("test", state, idle_seconds=0.01))
    at, deadline = NumberedOffset().to_json(), time.monotonic() + 30
    while not (records := next(source.read(source.plan(at, None)[0])).records):
        assert time.monotonic() < deadline
    assert [record.topic for record in records] == ["__debezium-heartbeat.t"]
    source.close()
    state.close()
