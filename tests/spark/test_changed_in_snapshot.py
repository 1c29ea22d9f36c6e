"""Definitions that change while the snapshot's batch is not finished: in the end the mirrors equal the source."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from cdckit.cli.main import call
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.spark import SparkRunner
from cdckit.errors import SinkError
from cdckit_spark.sink import LakeSink
from spark.lake import at_source, mirrored
from testkit.running import Pipeline, create_reader, source_of
from testkit.servers.mysql import MySQLServer

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

TABLES = """
CREATE TABLE a (id INT PRIMARY KEY, v VARCHAR(20)); INSERT INTO a VALUES (1, 'a'), (2, 'b'), (3, 'c');
CREATE TABLE b (id INT PRIMARY KEY, v VARCHAR(20)); INSERT INTO b VALUES (1, 'a'), (2, 'b');
CREATE TABLE c (id INT PRIMARY KEY, v VARCHAR(20)); INSERT INTO c VALUES (1, 'a');
"""
RENAMED = """
UPDATE c SET v = 'old' WHERE id = 1; INSERT INTO c VALUES (2, 'x');
ALTER TABLE c RENAME COLUMN v TO w;
INSERT INTO c VALUES (3, 'y');
"""
CHANGES = {
    "renamed column": (RENAMED, "c has lost v"),
    "dropped column": ("ALTER TABLE c ADD COLUMN w INT DEFAULT 3, DROP COLUMN v; UPDATE c SET w = 4;", "c has lost v"),
    "other type": ("ALTER TABLE c MODIFY v INT; ", "c has another type for v"),
    "added column": ("ALTER TABLE c ADD COLUMN w INT; UPDATE c SET w = 4;", ""),
    "dropped table": ("INSERT INTO c VALUES (2, 'x'); DROP TABLE c;", "c is gone"),
    "renamed table": ("RENAME TABLE c TO d; INSERT INTO d VALUES (2, 'x');", "d is new"),
}


class Shop:
    """A database and the mirrors of its tables."""

    def __init__(self, server: MySQLServer, database: str, folder: Path, session: SparkSession) -> None:
        self.server = server
        self.database = database
        self.lake = folder / "lake"
        self._session = session
        self._folder = folder

    def sql(self, script: str) -> None:
        self.server.run_sql(f"USE {self.database}; {script}")

    def pipeline(self, options: Mapping[str, str] | None = None) -> Pipeline:
        source = {**source_of(self.server, self.database), **(options or {})}
        return Pipeline(self._folder, source, {"type": "spark", "mode": "mirror", "path": str(self.lake)})

    def runner(self, options: Mapping[str, str] | None = None) -> SparkRunner:
        return SparkRunner(load_pipeline(self.pipeline(options).written(), runner="spark"))

    def written_whole(self, table: str) -> int:
        """How often a mirror was written from nothing."""
        place = f"delta.`{self.lake}/p.{self.database}.{table}`"
        return [row.operation for row in self._session.sql(f"DESCRIBE HISTORY {place}").collect()].count("WRITE")

    def assert_equal(self) -> None:
        for (table,) in self.server.execute(f"SHOW TABLES FROM {self.database}"):
            name = f"{self.database}.{table}"
            assert mirrored(self._session, self.lake, f"p.{name}") == at_source(self.server, name), table


@pytest.fixture
def shop(mysql_server: MySQLServer, unique_name: str, tmp_path: Path, session: SparkSession) -> Shop:
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}; USE {unique_name}; {TABLES}")
    create_reader(mysql_server)
    return Shop(mysql_server, unique_name, tmp_path, session)


@pytest.mark.parametrize(
    "kind",
    [kind if kind == "renamed column" else pytest.param(kind, marks=pytest.mark.nightly) for kind in CHANGES],
)
def test_a_restart_goes_on(shop: Shop, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    change, told = CHANGES[kind]
    if kind == "other type":
        shop.sql("UPDATE c SET v = '17'")
    shop.lake.write_text("in the way")
    with pytest.raises(SinkError):
        shop.runner().run(once=True)
    shop.lake.unlink()
    shop.sql(change)
    shop.runner().run(once=True)
    shop.assert_equal()
    assert told in caplog.text


def test_the_other_tables_are_not_read_again(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table changes of which a part is in its mirror, and one that is to come."""
    shop.sql(
        "CREATE TABLE d (id INT PRIMARY KEY, v VARCHAR(20)); INSERT INTO d VALUES (1, 'a');"
        "INSERT INTO c VALUES (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e'), (6, 'f')"
    )
    written, write = [], LakeSink.write

    def dies_in_c(sink: LakeSink, packets: DataFrame, batch: int) -> int:
        if (shop.lake / f"p.{shop.database}.c").exists():
            raise SinkError("it died")
        written.append(batch)
        return write(sink, packets, batch)

    one_by_one = {"snapshot.batch.rows": "1"}
    monkeypatch.setattr(LakeSink, "write", dies_in_c)
    with pytest.raises(SinkError, match="it died"):
        shop.runner(one_by_one).run(once=True)
    monkeypatch.undo()
    assert len(written) > 2
    shop.sql(
        "UPDATE c SET v = 'x'; ALTER TABLE c RENAME COLUMN v TO w; DELETE FROM c WHERE id = 1; UPDATE a SET v = 'y';"
        "ALTER TABLE d MODIFY v VARCHAR(20) NOT NULL; INSERT INTO d VALUES (2, 'b')"
    )
    shop.runner(one_by_one).run(once=True)
    shop.assert_equal()
    assert shop.written_whole("a") == shop.written_whole("b") == 1


@pytest.mark.parametrize(
    "kind",
    ["renamed column", *(pytest.param(kind, marks=pytest.mark.nightly) for kind in ("dropped table", "other type"))],
)
def test_a_table_that_is_read_again_changes_before_it_is_read(
    shop: Shop, kind: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows come at a new point, and no other table is read for that."""
    change, told = CHANGES[kind]
    if kind == "other type":
        shop.sql("UPDATE c SET v = '17'")
    shop.runner().run(once=True)
    assert call(["resnapshot", str(shop.pipeline().written()), "--table", f"{shop.database}.c"]) == 0

    def dies(*arguments: Any, **named: Any) -> None:
        raise SinkError("it died")

    monkeypatch.setattr(LakeSink, "write", dies)
    with pytest.raises(SinkError, match="it died"):
        shop.runner().run(once=True)
    monkeypatch.undo()
    shop.sql(change)
    shop.runner().run(once=True)
    shop.assert_equal()
    assert told in capfd.readouterr().err
    assert shop.written_whole("a") == 1, "by the first snapshot"


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["renamed column", "dropped table"])
def test_a_change_between_planning_and_reading(shop: Shop, kind: str) -> None:
    slow = {
        "snapshot.select.statement.overrides": f"{shop.database}.a,{shop.database}.b",
        **{f"snapshot.select.statement.overrides.{shop.database}.{table}": f"SELECT * FROM {shop.database}.{table} "
           "WHERE SLEEP(1) = 0" for table in "ab"},
    }  # fmt: skip
    reading = threading.Thread(target=lambda: shop.runner(slow).run(once=True))
    reading.start()
    try:
        deadline = time.monotonic() + 120
        while not _sleeps(shop.server):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        shop.sql(CHANGES[kind][0])
    finally:
        reading.join(240)
    shop.assert_equal()


def _sleeps(server: MySQLServer) -> bool:
    found = server.execute(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'User sleep' AND INFO LIKE '%%SLEEP%%'"
    )
    return bool(found[0][0] > 1)
