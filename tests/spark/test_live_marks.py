"""Mirrors of a live server whose tables are emptied, dropped, made anew, renamed and read anew as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cdckit.cli.main import call
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.spark import SparkRunner
from cdckit.errors import SinkError
from spark.lake import at_source, mirrored
from testkit.running import Pipeline, create_reader, source_of
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import SQLServer

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

TABLES = """
create table twice (id int primary key, n int);
create table remade (id int primary key, n int);
create table gone (id int primary key);
create table shard_1 (id int primary key, n int);
create table shard_2 like shard_1;
create table rebuilt (id int primary key, n int);
create table keyless (n int);
create table emptied (id int primary key);
insert into twice values (1, 1);
insert into remade values (1, 1), (2, 2);
insert into gone values (1);
insert into shard_1 values (1, 1), (2, 2);
insert into shard_2 values (1, -1);
insert into rebuilt values (1, 1), (2, 2);
insert into keyless values (1), (1);
insert into emptied values (1), (2);
"""
WHOLE_TABLES = """
insert into twice values (2, 2);
truncate table twice;
insert into twice values (3, 3);
truncate twice;
insert into twice values (4, 4);
drop table remade;
create table remade (id int primary key, n int);
insert into remade values (2, -2);
drop table gone;
truncate shard_1;
insert into shard_1 values (2, 20), (3, 30);
update shard_2 set n = -2;
create table _rebuilt_gho like rebuilt;
insert into _rebuilt_gho select * from rebuilt;
rename table rebuilt to _rebuilt_del, _rebuilt_gho to rebuilt;
insert into rebuilt values (3, 3);
truncate keyless;
insert into keyless values (2), (2);
"""
SHARDS = {"type": "ByLogicalTableRouter", "topic.regex": r"(.*)\.shard_\d", "topic.replacement": "$1.shards"}


class Mirrors:
    """The mirrors of one database."""

    def __init__(self, session: SparkSession, server: SQLServer, database: str, folder: Path) -> None:
        self.server = server
        self.database = database
        self._session = session
        self._folder = folder
        server.execute(f"create database {database}")
        create_reader(server)

    def execute(self, script: str) -> None:
        self.server.run_sql(f"use {self.database}; {script}")

    def run(self, state: str = "state", **options: Any) -> None:
        listed = rf"{self.database}\.[a-z].*"
        source = source_of(self.server, self.database, topic_prefix=self.database, table_include_list=listed, **options)
        sink = {"type": "spark", "mode": "mirror", "path": str(self._folder / "lake")}
        others = {"transforms": [SHARDS], "state": str(self._folder / state)}
        pipeline = Pipeline(self._folder, source, sink, others)
        SparkRunner(load_pipeline(pipeline.written(), runner="spark")).run(once=True)

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        return mirrored(self._session, self._folder / "lake", f"{self.database}.{self.database}.{table}")

    def at_source(self, table: str) -> list[tuple[Any, ...]]:
        return at_source(self.server, f"{self.database}.{table}")


@pytest.fixture(scope="module")
def followed(
    session: SparkSession, mysql_server: MySQLServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mirrors]:
    """Mirrors that have followed what happened to whole tables; `skipped.operations` is what it is by default."""
    mirrors = Mirrors(session, mysql_server, "whole_tables", tmp_path_factory.mktemp("mirrors"))
    mirrors.execute(TABLES)
    mirrors.run()
    mirrors.execute(WHOLE_TABLES)
    mirrors.run()
    yield mirrors
    mysql_server.execute("drop database whole_tables")


@pytest.mark.parametrize("table", ["twice", "keyless"])
def test_truncates_are_followed_though_events_leave_them_out(followed: Mirrors, table: str) -> None:
    assert followed.rows(table) == followed.at_source(table)


def test_a_table_that_is_dropped_and_made_again_has_the_new_rows_alone(followed: Mirrors) -> None:
    assert followed.rows("remade") == followed.at_source("remade") == [(2, -2)]


def test_a_table_that_is_dropped_has_no_rows(followed: Mirrors) -> None:
    assert followed.rows("gone") == []


def test_a_truncate_of_one_shard_leaves_the_others(followed: Mirrors) -> None:
    expected = [
        (*row, f"whole_tables.whole_tables.shard_{shard}")
        for shard in (1, 2)
        for row in followed.at_source(f"shard_{shard}")
    ]
    assert sorted(followed.rows("shards")) == sorted(expected)


def test_a_copy_that_an_online_change_puts_in_a_tables_place_has_its_rows(followed: Mirrors) -> None:
    assert followed.rows("rebuilt") == followed.at_source("rebuilt")


def test_a_new_snapshot_empties_a_table_that_is_empty(followed: Mirrors) -> None:
    """And leaves no row that was deleted meanwhile, neither in a table of its own nor in a shard."""
    followed.execute("delete from emptied; delete from twice; insert into twice values (9, 9); delete from shard_2;")
    followed.run("another state")
    for table in ("emptied", "twice", "remade", "keyless"):
        assert followed.rows(table) == followed.at_source(table)
    assert [row[:2] for row in followed.rows("shards")] == followed.at_source("shard_1")


def test_a_table_that_is_made_anew_within_a_batch_that_comes_again_keeps_its_rows(
    session: SparkSession, mysql_server: MySQLServer, unique_name: str, tmp_path: Path
) -> None:
    """Another table stops the pipeline behind it. What was told before it was made anew emptied it the second time.

    Spark writes a table that had a name with a space.
    """
    mirrors = Mirrors(session, mysql_server, unique_name, tmp_path)
    parted = "partition by range (id) (partition p0 values less than (10))"
    mirrors.execute(f"create table parts (id int primary key) {parted}; create table swapped (id int primary key)")
    mirrors.execute("create table t (id int primary key, n int unsigned, `w w` text); insert into t values (1, 1, 'a')")
    mirrors.execute("insert into parts values (1); insert into swapped values (2)")
    mirrors.run()
    mirrors.execute("truncate t; alter table parts exchange partition p0 with table swapped")
    mirrors.execute("alter table t add column c int first; insert into t values (0, 2, 2, 'b'); drop table t")
    mirrors.execute("create table t (id int primary key, n tinyint unsigned, d text)")
    mirrors.execute("insert into t values (3, 3, 'c'), (4, null, null)")
    for _ in range(2):
        with pytest.raises(SinkError) as stopped:
            mirrors.run()
        [table] = re.findall(r"`cdc resnapshot FILE --table (\S+?)`", str(stopped.value))
        assert call(["resnapshot", str(tmp_path / "pipeline.json"), "--table", table]) == 0
    mirrors.run()
    assert [row[0] for row in mirrors.rows("t")] == [3, 4]
    mysql_server.execute(f"drop database {unique_name}")


UNTOLD = [
    "alter table parts exchange partition p0 with table swapped",
    "rename table parts to spare, swapped to parts, spare to swapped",
    "alter table parts drop partition p0",
]


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param(UNTOLD[0], id="exchange", marks=pytest.mark.nightly),
        pytest.param(UNTOLD[1], id="swap"),
        pytest.param(UNTOLD[2], id="partition", marks=pytest.mark.nightly),
    ],
)
def test_what_the_log_does_not_tell_stops_with_the_table_and_the_remedy(
    session: SparkSession, mysql_server: MySQLServer, unique_name: str, tmp_path: Path, statement: str
) -> None:
    mirrors = Mirrors(session, mysql_server, unique_name, tmp_path)
    mirrors.execute(
        "create table parts (id int primary key) partition by range (id) "
        "(partition p0 values less than (10), partition p1 values less than maxvalue); "
        "create table swapped (id int primary key); insert into parts values (1), (11); insert into swapped values (2);"
    )
    mirrors.run()
    if "rename" in statement:
        mirrors.execute("alter table parts remove partitioning;")
    mirrors.execute(f"{statement};")
    with pytest.raises(SinkError, match=rf"cdc resnapshot FILE --table {unique_name}\.(parts|swapped)"):
        mirrors.run()
    mysql_server.execute(f"drop database {unique_name}")


def test_a_snapshot_that_a_purge_has_made_necessary_leaves_no_deleted_rows(
    session: SparkSession, tmp_path: Path
) -> None:
    with MySQLServer() as server:
        mirrors = Mirrors(session, server, "d", tmp_path)
        mirrors.execute(
            "create table t (id int primary key); create table cleared (id int primary key); "
            "insert into t values (1), (2), (3); insert into cleared values (1);"
        )
        mirrors.run(snapshot_mode="when_needed")
        mirrors.execute("delete from t where id = 2; insert into t values (4); delete from cleared; flush logs;")
        server.purge_logs()
        mirrors.run(snapshot_mode="when_needed")
        assert mirrors.rows("t") == mirrors.at_source("t")
        assert mirrors.rows("cleared") == []
