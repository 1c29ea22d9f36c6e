"""Mirrors of a live server's tables: after whatever happened there, they are equal to them."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.spark import SparkRunner
from spark.lake import at_source, mirrored
from testkit.running import Pipeline, create_reader, source_of
from testkit.servers.mysql_family import SQLServer

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1200)]

TABLES = """
create table items (id int primary key, name varchar(40), price decimal(12,3), bought datetime(6), body blob, n int);
create table places (a int, b varchar(10), x double not null, day date not null, primary key (a, b));
create table notes (word varchar(10), n bigint unsigned);
"""
ALTERED = """
truncate table notes;
truncate table places;
alter table items add column extra varchar(20);
update items set extra = 'new' where id < 20;
"""
MINIMAL = """
set binlog_row_image = minimal;
update items set n = -7, extra = null where id < 40;
update places set day = '2000-01-01' where a < 4;
delete from places where a = 1;
update items set name = 'minimal' where id between 5 and 15;
"""
NAMES = ("items", "places", "notes")


class Workload:
    """Random changes of all three tables, the same for the same seed."""

    def __init__(self, server: SQLServer, database: str, seed: int) -> None:
        self.random = random.Random(seed)
        self.cursor = server.connect(database=database).cursor()

    def run(self, statements: int) -> None:
        for _ in range(statements):
            table = self.random.choice(("items", "items", "places", "notes"))
            getattr(self, table)()

    def items(self) -> None:
        key = self.random.randrange(60)
        value = self.random.choice(("'a'", "'ünï'", "null", "repeat('x', 40)"))
        price = self.random.choice(("null", "-1.5", "123456789.125", "0"))
        self._execute(
            self.random.choice((
                f"replace into items (id, name, price, bought, body, n) values ({key}, {value}, {price}, "
                f"'2024-02-29 23:59:59.123456', x'00ff{key:02x}', {key})",
                f"update items set price = {price} where id = {key}",
                f"update items set name = {value}, n = null where id = {key}",
                f"update items set id = id + 100 where id = {key} and not exists (select 1 from "
                f"(select id from items) other where other.id = {key} + 100)",
                f"delete from items where id in ({key}, {key} + 100)",
            ))
        )  # fmt: skip

    def places(self) -> None:
        a, b = self.random.randrange(5), self.random.choice("pqr")
        self._execute(
            self.random.choice((
                f"insert into places values ({a}, '{b}', {self.random.random()}, '1999-12-31') "
                "on duplicate key update x = x + 1",
                f"update places set day = date_add(day, interval 1 day) where a = {a}",
                f"delete from places where b = '{b}' and a < {a}",
            ))
        )  # fmt: skip

    def notes(self) -> None:
        word, number = self.random.choice("uvw"), self.random.choice((0, 1, 2**64 - 1))
        self._execute(
            self.random.choice((
                f"insert into notes values ('{word}', {number}), ('{word}', {number})",
                f"update notes set n = {number} where word = '{word}' limit 2",
                f"delete from notes where word = '{word}' limit 3",
            ))
        )  # fmt: skip

    def _execute(self, statement: str) -> None:
        self.cursor.execute(statement)


@pytest.mark.nightly
@pytest.mark.parametrize("db_server", ["mysql", "mariadb"], indirect=True)
def test_mirrors_equal_the_source(
    session: SparkSession, db_server: SQLServer, database: str, tmp_path: Path, nightly: bool
) -> None:
    seed = int(os.environ.get("CDCKIT_SEED") or random.SystemRandom().getrandbits(32))
    print(f"CDCKIT_SEED={seed}")
    db_server.run_sql(f"USE {database}; {TABLES}")
    create_reader(db_server)
    workload = Workload(db_server, database, seed)
    turns = [("", 150), *([("", 300), (ALTERED, 100)] if nightly else [(ALTERED, 300)]), (MINIMAL, 50)]
    for script, statements in turns:
        db_server.run_sql(f"USE {database}; {script}")
        workload.run(statements)
        _run(db_server, database, tmp_path)
        for name in NAMES:
            expected = at_source(db_server, f"{database}.{name}")
            topic = f"{database}.{database}.{name}"
            began = (tmp_path / "lake" / topic).exists()
            assert (mirrored(session, tmp_path / "lake", topic) if began else []) == expected


def _run(server: SQLServer, database: str, folder: Path) -> None:
    source = source_of(
        server, database, topic_prefix=database, bigint_unsigned_handling_mode="precise", skipped_operations="none"
    )
    pipeline = Pipeline(folder, source, {"type": "spark", "mode": "mirror", "path": str(folder / "lake")})
    SparkRunner(load_pipeline(pipeline.written(), runner="spark")).run(once=True)
