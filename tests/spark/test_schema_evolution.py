"""Tables of a lake follow the definitions of a live server; what stops them, a command resolves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cdckit.cli.main import call
from cdckit.connector.resnapshot import KEPT_AS
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.spark import SparkRunner
from cdckit.engine.state.runner_handover import open_state
from cdckit.errors import SinkError
from cdckit_spark.shared_target import SharedTarget
from cdckit_spark.targets import DeltaTarget
from testkit.running import Pipeline, create_reader, source_of
from testkit.servers.mysql import MySQLServer
from testkit.states import kept_in, state_in

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

TABLES = """
CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20), gone INT) COMMENT 'before';
INSERT INTO t VALUES (1, 1, 'one', 1), (2, 2, 'two', 2);
CREATE TABLE parts (id INT PRIMARY KEY) PARTITION BY RANGE (id)
    (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN MAXVALUE);
INSERT INTO parts VALUES (1), (20); CREATE TABLE taken (id INT PRIMARY KEY); INSERT INTO taken VALUES (1);
"""
CHANGES = """
INSERT INTO t VALUES (3, 3, 'three', 3); ALTER TABLE t RENAME COLUMN a TO amount, DROP COLUMN gone;
UPDATE t SET amount = 30 WHERE id = 3; ALTER TABLE t RENAME COLUMN amount TO b, RENAME COLUMN b TO amount;
INSERT INTO t VALUES (4, 4, 'four');
ALTER TABLE t MODIFY b BIGINT COMMENT 'how much', ADD COLUMN c INT DEFAULT 7, COMMENT 'after';
UPDATE t SET b = 1 << 40 WHERE id = 1; DELETE FROM t WHERE id = 2; ALTER TABLE t DROP COLUMN c, ADD COLUMN c VARCHAR(9);
INSERT INTO t VALUES (5, 5, 'five', 'c'); ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (b);
UPDATE t SET id = 50 WHERE b = 5; UPDATE t SET b = 6 WHERE b = 4; DELETE FROM t WHERE b = 30;
"""
REFUSED = """
ALTER TABLE t MODIFY a VARCHAR(20); INSERT INTO t VALUES (3, 'three', 'c', 3);
ALTER TABLE parts TRUNCATE PARTITION p0; RENAME TABLE taken TO was_taken, parts TO taken, was_taken TO parts;
INSERT INTO taken VALUES (2); INSERT INTO parts VALUES (30);
"""


class Shop:
    """A database, and the tables of a lake that follow it."""

    def __init__(self, session: SparkSession, server: MySQLServer, database: str, folder: Path) -> None:
        self.session, self.server, self.database, self.folder = session, server, database, folder
        self.lake = folder / "lake"

    def pipeline(self, mode: str = "mirror", **options: str) -> Pipeline:
        sink = {"type": "spark", "mode": mode, "path": str(self.lake), **options}
        return Pipeline(self.folder, source_of(self.server, self.database), sink)

    def run(self, pipeline: Pipeline) -> None:
        SparkRunner(load_pipeline(pipeline.written(), runner="spark")).run(once=True)

    def sql(self, text: str) -> None:
        self.server.run_sql(text, database=self.database)

    def path(self, table: str = "t") -> str:
        return str(self.lake / f"p.{self.database}.{table}")

    def mirrored(self, table: str = "t") -> Counter[frozenset[tuple[str, Any]]]:
        frame = self.session.read.format("delta").load(self.path(table)).drop("__position")
        return Counter(frozenset(row.asDict().items()) for row in frame.collect())

    def comments(self) -> tuple[str, str]:
        """What the table `t` says of itself, and of its column `b`."""
        place = f"delta.`{self.path()}`"
        [(described,)] = self.session.sql(f"DESCRIBE DETAIL {place}").select("description").collect()
        [(comment,)] = self.session.sql(f"DESCRIBE {place}").where("col_name = 'b'").select("comment").collect()
        return described, comment

    def at_source(self, table: str = "t") -> Counter[frozenset[tuple[str, Any]]]:
        columns = [name for (name, *_) in self.server.execute(f"SHOW COLUMNS FROM {self.database}.{table}")]
        rows = self.server.execute(f"SELECT * FROM {self.database}.{table}")
        return Counter(frozenset(zip(columns, row, strict=True)) for row in rows)


@pytest.fixture
def shop(session: SparkSession, mysql_server: MySQLServer, unique_name: str, tmp_path: Path) -> Iterator[Shop]:
    """A database with tables, dropped after the test."""
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}")
    mysql_server.run_sql(TABLES, database=unique_name)
    create_reader(mysql_server)
    yield Shop(session, mysql_server, unique_name, tmp_path)
    mysql_server.run_sql(f"DROP DATABASE {unique_name}")


STEPS = ["rename_column", "drop_column", "widen", "add_columns", "fill", "note"]
"""Of an alteration, and behind it what is written and noted."""


@pytest.mark.nightly
@pytest.mark.parametrize("batches", ["one", "many"])
def test_a_mirror_follows(shop: Shop, batches: str) -> None:
    """Rows of before and behind each change, in one batch or in one after the other."""
    pipeline = shop.pipeline()
    shop.run(pipeline)
    for part in CHANGES.replace("ALTER", "\0ALTER").split("\0") if batches == "many" else [CHANGES]:
        shop.sql(part)
        if batches == "many":
            shop.run(pipeline)
            assert shop.mirrored() == shop.at_source()
    shop.run(pipeline)
    assert shop.mirrored() == shop.at_source()
    assert shop.comments() == ("after", "how much")


@pytest.mark.nightly
def test_a_mirror_follows_wherever_it_is_killed(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before and behind each step of an alteration, and behind what is written; each start repeats the batch."""
    pipeline = shop.pipeline()
    shop.run(pipeline)
    shop.sql(CHANGES)
    killed = 0
    for name in STEPS:
        for behind in (False, True):
            with monkeypatch.context() as patched:
                patched.setattr(SharedTarget, name, _dying(getattr(SharedTarget, name), behind=behind))
                try:
                    shop.run(pipeline)
                except SinkError as error:
                    assert "it died" in str(error)
                    killed += 1
    shop.run(pipeline)
    assert shop.mirrored() == shop.at_source()
    assert shop.comments() == ("after", "how much")
    assert killed >= 4


def _dying(step: Any, *, behind: bool) -> Any:
    def dies(self: DeltaTarget, *arguments: Any) -> None:
        if behind:
            step(self, *arguments)
        raise SinkError("it died")

    return dies


def test_what_a_mirror_cannot_follow_is_read_again(shop: Shop) -> None:
    """By the command that each error names; the batch that stopped the pipeline comes first, and is passed over."""
    pipeline = shop.pipeline()
    shop.run(pipeline)
    shop.sql(REFUSED)
    names: set[str] = set()
    for _ in ("t", "parts", "taken"):
        with pytest.raises(SinkError, match=r"`cdc resnapshot FILE --table \S+` reads") as refused:
            shop.run(pipeline)
        names.add(name := str(refused.value).partition("--table ")[2].partition("`")[0])
        assert call(["resnapshot", str(pipeline.written()), "--table", name]) == 0
    asked = kept_in(pipeline.state, KEPT_AS)
    shop.run(pipeline)
    state = open_state(state_in(pipeline.state))
    state.put(KEPT_AS, asked)  # as where the rows of later batches come before it is forgotten
    state.close()
    assert names == {f"{shop.database}.{table}" for table in ("t", "parts", "taken")}
    shop.sql("INSERT INTO t VALUES (9, 'nine', 'x', 9)")
    shop.run(pipeline)
    for table in ("t", "parts", "taken"):
        assert shop.mirrored(table) == shop.at_source(table)


def test_a_table_that_is_made_anew_with_other_columns(shop: Shop) -> None:
    """Also where rows of the old one, and changes of the new one, are in the same batch."""
    pipeline = shop.pipeline()
    shop.run(pipeline)
    shop.sql(
        "INSERT INTO t VALUES (3, 3, 'x', 3); ALTER TABLE t ADD COLUMN more INT; DROP TABLE t;"
        "CREATE TABLE t (k VARCHAR(10) PRIMARY KEY, `a b` DATETIME); INSERT INTO t VALUES ('x', '2024-01-02');"
        "ALTER TABLE t ADD COLUMN n INT DEFAULT 5; INSERT INTO t VALUES ('y', NULL, 6);"
    )
    shop.run(pipeline)
    assert shop.mirrored() == shop.at_source()
    shop.sql("UPDATE t SET n = 7 WHERE k = 'x'")
    shop.run(pipeline)
    assert shop.mirrored() == shop.at_source()


def test_a_changelog_keeps_older_values_beside(shop: Shop) -> None:
    pipeline = shop.pipeline("changelog")
    shop.run(pipeline)
    shop.sql(
        "ALTER TABLE t RENAME COLUMN b TO word, DROP COLUMN gone; INSERT INTO t VALUES (3, 3, 'three');"
        "ALTER TABLE t MODIFY a VARCHAR(20); INSERT INTO t VALUES (4, 'IV', 'four');"
    )
    command = rf"`cdc schema accept FILE --table {shop.database}\.t` has the table follow"
    with pytest.raises(SinkError, match=command):
        shop.run(pipeline)
    assert call(["schema", "accept", str(pipeline.written()), "--table", f"{shop.database}.t"]) == 0
    shop.run(pipeline)
    frame = shop.session.read.format("delta").load(shop.path()).select("id", "a__1", "a", "word", "gone")
    assert sorted(tuple(row) for row in frame.collect()) == [
        (1, 1, None, "one", 1), (2, 2, None, "two", 2), (3, 3, None, "three", None), (4, None, "IV", "four", None),
    ]  # fmt: skip


def test_a_pipeline_that_asks_first(shop: Shop) -> None:
    pipeline = shop.pipeline(**{"schema.evolution": "exception", "schema.evolution.exclude": "comment"})
    shop.run(pipeline)
    shop.sql("ALTER TABLE t COMMENT 'nobody minds'; INSERT INTO t VALUES (3, 3, 'x', 3)")
    shop.run(pipeline)
    shop.sql("TRUNCATE TABLE t; INSERT INTO t VALUES (4, 4, 'x', 4)")
    for _ in range(2):
        with pytest.raises(SinkError, match=rf"was truncated.*`cdc schema accept FILE --table {shop.database}\.t`"):
            shop.run(pipeline)
    assert call(["schema", "accept", str(pipeline.written()), "--table", f"{shop.database}.t"]) == 0
    shop.run(pipeline)
    assert shop.mirrored() == shop.at_source()
    shop.sql("TRUNCATE TABLE t")
    with pytest.raises(SinkError, match="was truncated"):
        shop.run(pipeline)
