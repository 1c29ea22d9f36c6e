"""What is asked of tables with every version of a source's rows, whatever their format."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from cdckit.engine.runners.runner import Runner
from cdckit.errors import SinkError
from cdckit.tables.lake.target import Ending, LakeTarget, Merge
from cdckit.tables.layout import END, FROM, OP, POSITION, TO
from cdckit.tables.target import BatchId
from delta_sink.shop import Shop
from histories.lakes import Versions
from histories.rows import Row, Types, at_source, columns_of, difference, in_form, keys_of

TABLES = """
CREATE TABLE t (id INT PRIMARY KEY, v INT, w VARCHAR(20), f DOUBLE);
CREATE TABLE pairs (a INT, b VARCHAR(10), v INT, PRIMARY KEY (a, b));
CREATE TABLE free (v INT, w VARCHAR(10));
CREATE TABLE ticks (n INT PRIMARY KEY);
INSERT INTO t VALUES (1, 1, 'one', 0.5), (2, NULL, NULL, NULL);
INSERT INTO pairs VALUES (1, 'a', 1), (1, 'b', 2);
INSERT INTO free VALUES (1, 'x'), (1, 'x'), (NULL, NULL);
"""
WATCHED = ("t", "pairs", "free")
_TICK = "SELECT SLEEP(0.005); INSERT INTO ticks VALUES ({}); SELECT SLEEP(0.005);"


def versions_of(shop: Shop) -> Versions:
    """What reads the tables."""
    lake = shop.lake
    assert isinstance(lake, Versions)
    return lake


@dataclass
class Past:
    """A source whose rows are noted behind each transaction, with a row that tells the time of the note.

    Attributes:
        shop: the database and its tables.
        chance: chooses what happens.
        rows: by the number of the note, of each table the rows.
        number: of notes.
    """

    shop: Shop
    chance: Random
    rows: dict[int, dict[str, Counter[Row]]] = field(default_factory=dict)
    number: int = 0

    def go_on(self, transactions: int) -> None:
        """Has some transactions happen."""
        for _ in range(transactions):
            statements = "".join(self._statement() for _ in range(self.chance.randint(1, 5)))
            emptied = self.chance.random() < 0.1
            self.shop.run(f"BEGIN; {statements} COMMIT;" if not emptied else f"TRUNCATE {self.chance.choice(WATCHED)};")
            self.note()

    def note(self) -> None:
        """Notes the rows."""
        self.number += 1
        types = columns_of(self.shop.server, self.shop.name)
        self.shop.run(_TICK.format(self.number))
        self.rows[self.number] = {
            name: at_source(self.shop.server, self.shop.name, name, types[name]) for name in WATCHED
        }

    def _statement(self) -> str:
        number, key, other = (self.chance.randint(1, 6) for _ in range(3))
        return self.chance.choice(
            (
                f"INSERT IGNORE INTO t VALUES ({key}, {number}, 'new {number}', {number} / 4);",
                f"UPDATE t SET v = {number}, f = -v WHERE id = {key};",
                f"UPDATE t SET w = CONCAT(w, '{number}') WHERE id > {key};",
                f"UPDATE IGNORE t SET id = {other} WHERE id = {key};",  # another key
                f"DELETE FROM t WHERE id = {key};",
                f"REPLACE INTO pairs VALUES ({key}, 'a', {number});",
                f"UPDATE IGNORE pairs SET a = {other}, b = 'b' WHERE a = {key};",
                f"DELETE FROM pairs WHERE a = {key};",
                f"INSERT INTO free VALUES ({key}, 'x'), ({key}, 'x');",
                f"UPDATE free SET w = 'y{number}' WHERE v = {key} LIMIT 1;",
                f"DELETE FROM free WHERE v = {key} LIMIT 1;",
            )
        )

    def assert_held(self) -> None:
        """At each note, by its position and by its time, the versions that were valid are the rows of then."""
        lake, types = versions_of(self.shop), columns_of(self.shop.server, self.shop.name)
        ticks = {row["n"]: row for row in lake.found("ticks")}
        for number, expected in self.rows.items():
            tick = ticks[number]
            at_place = lake.rows_at(types, tick["__position"])
            for name in WATCHED:
                what = difference(types[name], expected[name], at_place[name])
                assert not what, f"behind transaction {number}, {name}: {what}"
            for name in WATCHED:
                assert not (what := self._at_time(types[name], name, tick["__valid_from"], expected[name])), what

    def _at_time(self, types: Types, name: str, moment: Any, expected: Counter[Row]) -> str:
        valid = [
            row
            for row in versions_of(self.shop).found(name)
            if row["__valid_from"] <= moment and (row["__valid_to"] is None or row["__valid_to"] > moment)
        ]
        found = difference(types, expected, in_form(types, valid))
        return found and f"{name} at {moment}: {found}"


def assert_whole(shop: Shop) -> None:
    """No version is there twice, and those of a key follow each other."""
    keys = keys_of(shop.server, shop.name)
    for table in columns_of(shop.server, shop.name):
        rows = sorted(versions_of(shop).found(table), key=lambda row: str(row["__position"]))
        assert len({row["__position"] for row in rows}) == len(rows), table
        for row in rows:
            assert (row["__valid_to"] is None) == (row["__end_position"] is None), (table, row)
            assert row["__valid_to"] is None or row["__valid_from"] <= row["__valid_to"], (table, row)
        by_key: dict[Any, list[Mapping[str, Any]]] = {}
        for row in rows if table in keys else ():
            by_key.setdefault(tuple(row[name] for name in keys[table]), []).append(row)
        for versions in by_key.values():
            for one, other in pairwise(versions):
                assert one["__end_position"] is not None and one["__end_position"] <= other["__position"], table


def past_is_kept(shop: Shop, seed: int) -> None:
    """Random changes in three runs."""
    shop.run(TABLES)
    past = Past(shop, Random(seed))
    past.go_on(2)
    deliver(shop)
    past.rows.clear()  # of before the snapshot nothing is known
    for _ in range(2):
        past.go_on(15)
        deliver(shop)
    assert not shop.unequal()
    past.assert_held()
    assert_whole(shop)


def deliver(shop: Shop) -> None:
    """Runs up to the log's end, in this process."""
    pipeline = load_pipeline(shop.pipeline().written())
    runner: Runner = DirectRunner(pipeline)
    if pipeline.runner == "spark":
        from cdckit.engine.runners.spark import SparkRunner

        runner = SparkRunner(pipeline)
    runner.run(once=True)


def read_again(shop: Shop, table: str) -> None:
    """Has a table read again, and delivers."""
    ask_for(shop, table)
    deliver(shop)


def ask_for(shop: Shop, table: str) -> None:
    """Has a table read again by the next run."""
    command = [sys.executable, "-m", "cdckit", "resnapshot", str(shop.pipeline().written())]
    subprocess.run([*command, "--table", f"{shop.name}.{table}"], check=True, capture_output=True)


def reading_again_makes_no_versions(shop: Shop) -> None:
    """Only what the log did not tell: rows that were changed, came and went while nothing was logged."""
    shop.run("CREATE TABLE t (id INT PRIMARY KEY, v INT, f FLOAT, w TEXT); CREATE TABLE free (v INT, w TEXT)")
    values = ", ".join(f"({number}, {number % 7}, {number} / 3, REPEAT('x', {number}))" for number in range(1, 301))
    shop.run(f"INSERT INTO t VALUES {values}; INSERT INTO t (id) VALUES (500); INSERT INTO free SELECT v, 'a' FROM t")
    deliver(shop)
    shop.run("UPDATE t SET v = 100 WHERE id = 1; DELETE FROM t WHERE id = 2; ALTER TABLE t ADD COLUMN n INT DEFAULT 5")
    deliver(shop)
    lake = versions_of(shop)
    before, free = _sorted(lake.found("t")), _sorted(lake.found("free"))
    read_again(shop, "t")
    read_again(shop, "free")
    assert (_sorted(lake.found("t")), _sorted(lake.found("free"))) == (before, free)
    shop.run(
        "SET sql_log_bin = 0; UPDATE t SET v = 8 WHERE id = 3; DELETE FROM t WHERE id = 4; "
        "INSERT INTO t (id) VALUES (9000); DELETE FROM free WHERE v IS NULL; INSERT INTO free VALUES (3, 'a')"
    )
    read_again(shop, "t")
    read_again(shop, "free")
    assert not shop.unequal()
    assert_whole(shop)
    found = [row for row in _sorted(lake.found("t")) if row not in before]
    assert [(row["id"], row["v"], row["__end_position"] is None) for row in found] == [
        (3, 3, False),
        (3, 8, True),
        (4, 4, False),
        (9000, None, True),
    ]
    assert len(lake.found("free")) == len(free) + 1


def _sorted(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row.get("id") or 0, str(row["__position"])))


def whole_tables_end(shop: Shop) -> None:
    """Rows end where their table was emptied or went, and are there still; so are columns that are gone."""
    shop.run("CREATE TABLE a (id INT PRIMARY KEY, v INT); CREATE TABLE b LIKE a; INSERT INTO a VALUES (1, 1), (2, 2)")
    shop.run("INSERT INTO b VALUES (1, 1)")
    deliver(shop)
    shop.run("UPDATE a SET v = 3 WHERE id = 1; TRUNCATE a; INSERT INTO a VALUES (1, 9); DROP TABLE b")
    shop.run("CREATE TABLE b (id VARCHAR(5) PRIMARY KEY, w INT); INSERT INTO b VALUES ('x', 4)")
    shop.run("ALTER TABLE a DROP COLUMN v, ADD COLUMN n INT NOT NULL; INSERT INTO a VALUES (5, 6)")
    shop.run("ALTER TABLE a ADD COLUMN v INT DEFAULT 7; UPDATE a SET v = 8 WHERE id = 5")
    deliver(shop)
    assert not shop.unequal()
    assert_whole(shop)
    lake = versions_of(shop)
    assert [(row["id"], row["v__1"], row["n"], row["v"], _valid(row)) for row in _sorted(lake.found("a"))] == [
        (1, 1, 0, 7, False),
        (1, 3, 0, 7, False),
        (1, 9, 0, 7, True),
        (2, 2, 0, 7, False),
        (5, None, 6, 7, False),
        (5, None, 6, 8, True),
    ]
    assert [(row["id"], row["id__1"], row["v"], row["w"], _valid(row)) for row in _sorted(lake.found("b"))] == [
        ("1", 1, 1, None, False),
        ("x", None, None, 4, True),
    ]


def _valid(row: Mapping[str, Any]) -> bool:
    return row["__end_position"] is None and row["__valid_to"] is None


def values_that_the_log_lacks(shop: Shop) -> None:
    """They are those of the version before, also where the key has changed."""
    shop.run("CREATE TABLE t (id INT PRIMARY KEY, v INT, w TEXT); INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b')")
    deliver(shop)
    shop.run(
        "SET binlog_row_image = minimal; UPDATE t SET v = 10 WHERE id = 1; UPDATE t SET w = 'c' WHERE id = 1;"
        "UPDATE t SET id = 20, v = 5 WHERE id = 2; UPDATE t SET id = 2 WHERE id = 1; UPDATE t SET id = 1 WHERE id = 20"
    )
    deliver(shop)
    assert not shop.unequal()
    assert_whole(shop)
    found = [(row["id"], row["v"], row["w"], _valid(row)) for row in _sorted(versions_of(shop).found("t"))]
    assert found == [
        (1, 1, "a", False),
        (1, 10, "a", False),
        (1, 10, "c", False),
        (1, 5, "b", True),
        (2, 2, "b", False),
        (2, 10, "c", True),
        (20, 5, "b", False),
    ]


def hold_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has rows that are read anew put into files, and looked at in portions."""
    monkeypatch.setattr("cdckit.tables.lake.sink.FULL_BYTES", 1)
    monkeypatch.setattr("cdckit.tables.lake.sink._GATHERED", 20)
    monkeypatch.setattr("cdckit.tables.lake.history.MOST_ROWS", 50)
    monkeypatch.setattr("cdckit.tables.lake.history._MERGED_BYTES", 1)


def versions_end_once(target: LakeTarget) -> None:
    """By the first ending that concerns them, and not before they begin, though clocks were set back."""
    kinds = {"id": "int", POSITION: "string", FROM: "timestamp", TO: "timestamp", END: "string"}
    target.create(kinds, {})
    schema, instant = target.schema(), pa.timestamp("us", tz="UTC")
    begun = pa.array([5, 50, None, 7], pa.int64()).cast(instant)
    ended = pa.array([None, None, None, 9], pa.int64()).cast(instant)
    numbers = pa.array([1, 2, 3, 4], pa.int32())
    rows = [numbers, pa.array(["p1", "p2", "p3", "p4"]), begun, ended, pa.array([None, None, None, "p5"], pa.string())]
    target.append(pa.table(rows, schema=schema), BatchId("p/g", 1))
    none = schema.empty_table().append_column(OP, pa.array([], pa.string()))
    endings = [Ending("p6", 20, (("id", 1),)), Ending("p7", 30)]
    target.merge(Merge(none, (POSITION,), (), (), endings), BatchId("p/g", 2))
    assert target.version_of("p/g") == 2
    found = pa.Table.from_batches(list(target.scan(["id", TO, END]))).sort_by("id")
    assert found.column(TO).cast(pa.int64()).to_pylist() == [20, 50, 30, 9]
    assert found.column(END).to_pylist() == ["p6", "p7", "p7", "p5"]


def tables_that_took_others_rows(shop: Shop) -> None:
    """Each is read again, as the messages say, though its types are others: the log does not tell its rows."""
    shop.run("CREATE TABLE a (id INT PRIMARY KEY, v INT); CREATE TABLE b (id INT PRIMARY KEY, v VARCHAR(9))")
    shop.run("INSERT INTO a VALUES (1, 1), (2, 2); INSERT INTO b VALUES (2, 'x'), (3, 'y')")
    deliver(shop)
    shop.run("RENAME TABLE a TO aside, b TO a, aside TO b; UPDATE a SET v = 'z' WHERE id = 3; UPDATE b SET v = 9")
    asked: list[str] = []
    while len(asked) < 2:
        with pytest.raises(SinkError) as stopped:
            deliver(shop)
        table = re.findall(r"`cdc resnapshot FILE --table \S+\.(\w+)` reads", str(stopped.value))[0]
        asked.append(table)
        ask_for(shop, table)
    deliver(shop)
    assert sorted(asked) == ["a", "b"]
    assert not shop.unequal()
    assert_whole(shop)
    found = [(row["id"], row["v__1"], row["v"], _valid(row)) for row in _sorted(versions_of(shop).found("a"))]
    assert found == [(1, 1, "1", False), (2, 2, "2", False), (2, None, "x", True), (3, None, "z", True)]
