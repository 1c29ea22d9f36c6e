"""Mirrors have in every column what the source has: under partial row images, after ADD COLUMN, above 2^63."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.spark import SparkRunner
from cdckit.tables.layout import POSITION
from spark.lake import Rows, at_source
from testkit.running import Pipeline, create_reader, source_of
from testkit.servers.mysql import MySQLServer

pytestmark = [
    pytest.mark.spark, pytest.mark.timeout(900),
    pytest.mark.unequal("what an expression gave older rows of a new column, the log does not tell", tables=["grown"]),
]  # fmt: skip

TABLES = """
create table items (id int primary key, name varchar(40), price decimal(12,3) not null, body blob, n int default 7,
  kind enum('p', 'q') not null);
create table places (a int, b varchar(10), x double, note text, primary key (a, b));
create table numbers (id bigint unsigned primary key, n bigint unsigned, c int default 5);
create table grown (id int primary key, name varchar(10));
create table free (name varchar(10));
insert into items (id, name, price, body, n, kind) values
  (1, 'one', 1, x'01', 1, 'p'), (2, 'two', 2, x'02', 2, 'q'), (3, 'three', 3, null, null, 'q'), (4, 'four', 4, x'04', 4,
  'p'), (5, 'five', 5, x'05', 5, 'q'), (6, 'six', 6, x'06', 6, 'q'), (7, null, 7, x'07', 7, 'p');
insert into places values (1, 'p', 1.5, 'first'), (2, 'p', 2.5, 'second'), (3, 'q', 3.5, null);
insert into numbers values (1, 9223372036854775808, null), (18446744073709551615, 18446744073709551615, 1);
insert into grown values (1, 'one'), (2, 'two'), (3, 'three');
insert into free values ('a'), ('a');
"""
CHANGES = """
set binlog_row_image = minimal;
update items set id = 11 where id = 1;
update items set id = 21 where id = 11;
update items set name = 'uno' where id = 21;
update items set id = 31, n = 8 where id = 21;
update items set id = 99 where id = 2; update items set id = 2 where id = 3; update items set id = 3 where id = 99;
insert into items (id, name, price, kind) values (40, 'forty', 40, 'q');
update items set id = 41 where id = 40;
insert into items (id, price) values (50, 50);
update items set id = id + 1 where id between 5 and 7 order by id desc;
update items set body = x'ff' where id = 6;
delete from items where id = 8;
update items set id = 8 where id = 7;
update items set id = 60 where id = 4; insert into items (id, name, price, kind) values (4, 'new', 4.5, 'p');
update items set id = 61 where id = 4;
set binlog_row_image = noblob;
update places set a = 4 where a = 1;
update places set b = 'z', x = null where a = 4;
update places set a = 1, b = 'p' where a = 2;
set binlog_row_image = full;
update numbers set id = 18446744073709551614, n = 9223372036854775807 where id > 1;
insert into numbers values (2, 0, null), (9223372036854775808, null, 5);
insert into grown values (4, 'four'); insert into free values ('b');
set time_zone = '+02:00';
alter table grown add column n int default 5 first, add column t varchar(20) not null default 'it''s \\\\ here',
  add column d decimal(8,2) not null default 1.5, add column u bigint unsigned default 18446744073709551615,
  add column day date default '2024-02-29', add column at datetime(6) default '2024-02-29 12:34:56.789',
  add column seen timestamp(3) default '2024-03-01 00:00:00.5', add column e enum('x', 'y') not null,
  add column s set('x', 'y') default 'x,y', add column b binary(3) default 'a',
  add column zero int not null, add column nil int default null;
alter table grown alter column n drop default, alter column zero set default 9;
alter table grown add column made timestamp(3) null default current_timestamp(3),
  add column local datetime default current_timestamp;
alter table grown add column unknown int default (id % 3);
insert into grown (id, name, n) values (5, 'five', 50);
update grown set name = 'vier', n = null where id = 4;
alter table free add column n int not null default 1;
delete from free where name = 'b'; delete from free where name = 'a' limit 1; insert into free values ('c', 2);
"""
"""A chain, a swap, an insert with its key change, rows that move on by one, a key that is taken anew and given up; rows
of before and behind each ALTER.
"""
LATER = """
set binlog_row_image = minimal;
update items set id = id + 1000;
update items set id = id - 1000 where id > 1030;
set binlog_row_image = full;
alter table grown add column late varchar(10) default 'late';
update grown set name = 'trois' where id = 3;
update grown set late = null where id = 1;
update free set n = 3 where name = 'a';
"""
"""Key changes of rows that only the table has; a column behind which only some rows come."""
ALL = ("items", "places", "numbers", "grown", "free")


class Told(logging.Handler):
    """What the sink logs."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


class Mirrored:
    """A database mirrored step by step: of each table what the source and the mirror had then."""

    def __init__(self, session: SparkSession, server: MySQLServer, name: str, folder: Path) -> None:
        self.session, self.server, self.name, self.folder = session, server, name, folder
        self.steps: list[dict[str, tuple[Rows, Rows]]] = []
        self.told = Told()

    def step(self, script: str) -> None:
        self.server.run_sql(script, database=self.name)
        source = source_of(self.server, self.name)
        pipeline = Pipeline(self.folder, source, {"type": "spark", "mode": "mirror", "path": str(self.folder / "lake")})
        SparkRunner(load_pipeline(pipeline.written(), runner="spark")).run(once=True)
        self.steps.append({table: self._rows(table) for table in ALL})

    def _rows(self, table: str) -> tuple[Rows, Rows]:
        """Columns in the source's order; the mirror has added ones at its end."""
        names = [str(row[0]) for row in self.server.execute(f"show columns from {self.name}.{table}")]
        frame = self.session.read.format("delta").load(str(self.folder / "lake" / f"p.{self.name}.{table}"))
        assert set(frame.columns) == {*names, POSITION}
        found = sorted((tuple(row) for row in frame.select(names).collect()), key=repr)
        return at_source(self.server, f"{self.name}.{table}"), found


@pytest.fixture(scope="module")
def steps(
    session: SparkSession, mysql_server: MySQLServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mirrored]:
    name = "t_equal_columns"
    mysql_server.run_sql(f"create database {name}")
    create_reader(mysql_server)
    found = Mirrored(session, mysql_server, name, tmp_path_factory.mktemp("equal"))
    log = logging.getLogger("cdckit.tables")
    level = log.level
    log.addHandler(found.told)
    log.setLevel(logging.INFO)
    try:
        for script in (TABLES, CHANGES, LATER):
            found.step(script)
        yield found
    finally:
        log.removeHandler(found.told)
        log.setLevel(level)
        mysql_server.run_sql(f"drop database {name}")


@pytest.mark.parametrize("table", [pytest.param("items", marks=pytest.mark.nightly), "places"])
def test_key_changes_under_partial_images_keep_the_other_columns(steps: Mirrored, table: str) -> None:
    for step in steps.steps:
        expected, found = step[table]
        assert found == expected


def test_unsigned_numbers_are_decimals_in_the_events_default_mode(steps: Mirrored) -> None:
    for step in steps.steps:
        expected, found = step["numbers"]
        assert found == expected
    frame = steps.session.read.format("delta").load(str(steps.folder / "lake" / f"p.{steps.name}.numbers"))
    assert dict(frame.dtypes) == {
        "id": "decimal(20,0)", "n": "decimal(20,0)", "c": "int", POSITION: "string",
    }  # fmt: skip


def test_an_explicit_null_stays_null_where_the_column_has_a_default(steps: Mirrored) -> None:
    _, found = steps.steps[1]["numbers"]
    assert (Decimal(1), Decimal(2**63), None) in found
    assert (Decimal(2), Decimal(0), None) in found


def test_older_rows_have_what_the_source_gave_them_with_an_added_column(steps: Mirrored) -> None:
    """In the table and in the batch; as the default was when the column came, whatever it became since."""
    places = [row[0] for row in steps.server.execute(f"show columns from {steps.name}.grown")]
    at, unknown = places.index("id"), places.index("unknown")
    for step, untold in zip(steps.steps[1:], ({1, 2, 3}, {2}), strict=True):
        expected, found = step["grown"]
        told = [tuple(None if place == unknown and row[at] in untold else value for place, value in enumerate(row))
                for row in expected]  # fmt: skip
        assert found == sorted(told, key=repr)
    for step in steps.steps:
        expected, found = step["free"]
        assert found == expected
    said = "\n".join(steps.told.lines)
    assert "column 'n' was added with '5': its older rows have that" in said
    assert "column 'unknown' was added with values that the source's log does not tell" in said
