"""Tables that are made have the comments of their source's, and say which one that is."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from delta_sink.commented import HARD, LONGEST, at_source, in_lake, kept, properties, sql
from delta_sink.shop import Shop
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import SQLServer

TABLES = f"""
CREATE TABLE t (id INT PRIMARY KEY COMMENT {sql(HARD)}, v INT COMMENT '', w VARCHAR(9) COMMENT {sql(LONGEST)}, x INT)
    COMMENT {sql(HARD)};
CREATE TABLE plain (id INT PRIMARY KEY, v INT COMMENT '') COMMENT '';
CREATE TABLE raw (id INT PRIMARY KEY COMMENT {sql(HARD)}, v VARCHAR(9) COMMENT 'bytes')
    CHARSET=binary COMMENT 'Käse 🧀';
CREATE TABLE waits (id INT PRIMARY KEY COMMENT 'its first row comes later') COMMENT 'no rows';
INSERT INTO t VALUES (1, 1, 'a', 1); INSERT INTO plain VALUES (1, 1); INSERT INTO raw VALUES (1, x'00ff');
"""
LATER = f"""
INSERT INTO waits VALUES (1);
SET NAMES binary; CREATE TABLE sent (id INT PRIMARY KEY COMMENT 'Käse') CHARSET=binary COMMENT 'Käse';
SET NAMES latin1; CREATE TABLE latin (id INT PRIMARY KEY COMMENT 'Käse') COMMENT 'Käse'; SET NAMES utf8mb4;
INSERT INTO sent VALUES (1); INSERT INTO latin VALUES (1);
CREATE TABLE made (id INT PRIMARY KEY COMMENT 'gone soon', v INT COMMENT {sql(HARD)}) COMMENT 'made while it runs';
ALTER TABLE made MODIFY id INT COMMENT {sql(LONGEST)}; CREATE TABLE latest LIKE made;
CREATE TABLE before_rows (id INT PRIMARY KEY COMMENT 'a') COMMENT 'b'; INSERT INTO made VALUES (1, 1);
ALTER TABLE t ADD COLUMN n INT COMMENT {sql(HARD)}, MODIFY x INT COMMENT 'it has one now', COMMENT 'another';
INSERT INTO t VALUES (2, 2, 'b', 2, 2);
"""
LATEST = """
INSERT INTO latest VALUES (1, 1); ALTER TABLE before_rows COMMENT 'c', MODIFY id BIGINT COMMENT '';
INSERT INTO before_rows VALUES (1);
"""


@pytest.fixture(params=["delta", "iceberg"])
def shop(request: pytest.FixtureRequest, db_server: SQLServer, unique_name: str, tmp_path: Path) -> Iterator[Shop]:
    """A database without tables on each server, for each format, dropped after the test."""
    shop = Shop(db_server, unique_name, tmp_path, format=request.param)
    shop.make()
    yield shop
    db_server.execute(f"DROP DATABASE {unique_name}")


def assert_told(shop: Shop, *tables: str) -> None:
    for table in tables:
        found = {name: kept(text) for name, text in in_lake(shop, table).items()}
        assert found == at_source(shop, table), table


@pytest.mark.one_server
def test_whenever_tables_are_made(shop: Shop) -> None:
    """With a snapshot, while the pipeline runs, and with the first row that comes to a later start."""
    shop.run(TABLES)
    shop.deliver()
    assert in_lake(shop, "t") == {"": kept(HARD), "id": kept(HARD), "w": kept(LONGEST)}
    assert in_lake(shop, "plain") == {}
    assert_told(shop, "t", "raw")
    shop.run(LATER)
    shop.deliver()
    before = {"id": kept(HARD), "w": kept(LONGEST)}
    assert in_lake(shop, "t") == {**before, "": "another", "x": "it has one now", "n": HARD}
    assert in_lake(shop, "made") == {"": "made while it runs", "id": LONGEST, "v": HARD}
    assert_told(shop, "t", "waits", "made", "sent", "latin")
    shop.run(LATEST)
    shop.deliver()
    assert_told(shop, "latest", "before_rows")


@pytest.fixture
def of_mysql(
    request: pytest.FixtureRequest, mysql_server: MySQLServer, unique_name: str, tmp_path: Path
) -> Iterator[Shop]:
    """A database on MySQL, dropped after the test."""
    shop = Shop(mysql_server, unique_name, tmp_path)
    shop.make()
    yield shop
    mysql_server.execute(f"DROP DATABASE {unique_name}")


@pytest.mark.parametrize(("format", "mode"), [("delta", "changelog"), ("iceberg", "history")])
def test_in_other_modes(of_mysql: Shop, format: str, mode: str) -> None:
    log = replace(of_mysql, mode=mode, format=format)
    log.run(TABLES)
    log.deliver()
    log.run(LATER)
    log.deliver()
    assert_told(log, "t", "plain", "waits", "made")
    told = properties(log, "made")
    assert (told["cdckit.pipeline"], told["cdckit.source"]) == (log.name, f"{log.name}.made")


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_tables_that_are_made_anew(of_mysql: Shop, format: str) -> None:
    """Since the source's was made anew, and since the table could not follow and is read again."""
    shop = replace(of_mysql, format=format)
    shop.run("CREATE TABLE t (id INT PRIMARY KEY COMMENT 'a', v INT COMMENT 'b', w INT COMMENT 'c') COMMENT 'one'")
    shop.run("INSERT INTO t VALUES (1, 1, 1)")
    shop.deliver()
    shop.run("DROP TABLE t; CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9) COMMENT 'words', x INT COMMENT 'new')")
    shop.run("INSERT INTO t VALUES (1, 'a', 1)")
    shop.deliver()
    assert in_lake(shop, "t") == {"v": "words", "x": "new"} == at_source(shop, "t")
    shop.run("ALTER TABLE t MODIFY x VARCHAR(9) COMMENT 'words, too', COMMENT 'two'")
    assert shop.pipeline().run("--once").code == 4
    again = [sys.executable, "-m", "cdckit", "resnapshot", str(shop.pipeline().written()), "--table", f"{shop.name}.t"]
    subprocess.run(again, check=True, capture_output=True)
    shop.deliver()
    assert in_lake(shop, "t") == {"": "two", "v": "words", "x": "words, too"} == at_source(shop, "t")
    shop.assert_equal(["t"])


def test_transforms(of_mysql: Shop) -> None:
    """Of tables that share one, the first one's count; columns have their comments under whatever name."""
    shop = of_mysql
    shop.run(
        "CREATE TABLE s_1 (id INT PRIMARY KEY COMMENT 'of one', v INT) COMMENT 'first'; INSERT INTO s_1 VALUES (1, 1)"
    )
    shop.run("CREATE TABLE s_2 (id INT PRIMARY KEY COMMENT 'of two', v INT COMMENT 'two says') COMMENT 'second'")
    shop.run(
        "INSERT INTO s_2 VALUES (1, 1); CREATE TABLE t (id INT PRIMARY KEY, v INT COMMENT 'how much') COMMENT 'flat'"
    )
    shop.run("INSERT INTO t VALUES (1, 1)")
    router = {"type": "ByLogicalTableRouter", "topic.regex": r"(.*)\.s_\d", "topic.replacement": "$1.s"}
    flat: list[dict[str, Any]] = [
        {"type": "ExtractNewRecordState", "delete.tombstone.handling.mode": "rewrite", "predicate": "t"},
        {"type": "ReplaceField$Value", "renames": "v:amount", "predicate": "t"},
    ]
    predicates = {"t": {"type": "TopicNameMatches", "pattern": r".*\.t"}}
    made = shop.pipeline()
    others = {**made.others, "transforms": [router, *flat], "predicates": predicates}
    ended = replace(made, others=others).run("--once")
    assert ended.code == 0, ended.stderr
    assert in_lake(shop, "s") == {"": "first", "id": "of one", "v": "two says"}
    assert in_lake(shop, "t") == {"": "flat", "amount": "how much"}
