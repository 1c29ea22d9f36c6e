"""Tables of a database in Delta tables without Spark: equal to the source, whatever happens to rows and definitions."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from cdckit.tables.shapes import FACT_COLUMNS
from cdckit_delta.reading import current_rows
from delta_sink.shop import Shop

TABLES = """
CREATE TABLE a (id INT PRIMARY KEY, v VARCHAR(20), price DECIMAL(10,2), at DATETIME(6), big BIGINT UNSIGNED, f FLOAT,
                bits BIT(9), kind ENUM('x','y'), doc JSON, data VARBINARY(20), ts TIMESTAMP(3) NULL, d DATE);
CREATE TABLE pairs (a INT, b VARCHAR(10), v INT, PRIMARY KEY (a, b));
CREATE TABLE free (v INT, w VARCHAR(10));
INSERT INTO a VALUES (1, 'one', 1.50, '2024-01-02 03:04:05.678901', 18446744073709551615, 1.5, b'101', 'x', '{"a": 1}',
                      x'00ff', '2024-01-02 03:04:05.678', '2024-02-29'),
                     (3, 'three', -0.01, '1000-01-01', 7, -2, b'0', 'y', '[]', '', NULL, '9999-12-31');
INSERT INTO a (id) VALUES (2);
INSERT INTO pairs VALUES (1, 'a', 1), (1, 'b', 2), (2, 'a', 3);
INSERT INTO free VALUES (1, 'x'), (1, 'x'), (2, 'y'), (NULL, NULL);
"""
ROWS = """
UPDATE a SET v = 'changed', price = price + 1; DELETE FROM a WHERE id = 2; INSERT INTO a (id, v) VALUES (4, 'four');
UPDATE a SET id = 40 WHERE id = 4; INSERT INTO a (id, v) VALUES (4, 'again'); DELETE FROM a WHERE id = 4;
UPDATE pairs SET b = 'c' WHERE a = 1 AND b = 'a'; UPDATE pairs SET v = v * 2; DELETE FROM pairs WHERE a = 2;
DELETE FROM free WHERE v = 1 LIMIT 1; INSERT INTO free VALUES (3, 'z'); UPDATE free SET w = 'q' WHERE v IS NULL;
"""
DEFINITIONS = """
ALTER TABLE a ADD COLUMN city VARCHAR(20) DEFAULT 'Rome'; UPDATE a SET city = 'Oslo' WHERE id = 1;
ALTER TABLE a RENAME COLUMN v TO word; UPDATE a SET word = 'renamed' WHERE id = 3;
ALTER TABLE a DROP COLUMN price; UPDATE a SET f = 3;
ALTER TABLE a MODIFY id BIGINT; INSERT INTO a (id, word) VALUES (5000000000, 'wide');
TRUNCATE TABLE pairs; INSERT INTO pairs VALUES (9, 'z', 9);
CREATE TABLE later (id INT PRIMARY KEY, v INT); INSERT INTO later VALUES (1, 1);
"""


def test_a_mirror_equals_its_source(shop: Shop) -> None:
    shop.run(TABLES)
    shop.deliver()
    shop.assert_equal(["a", "pairs", "free"])
    shop.run(ROWS)
    shop.deliver()
    shop.assert_equal(["a", "pairs", "free"])
    shop.run(DEFINITIONS)
    shop.deliver()
    shop.assert_equal(["a", "pairs", "free", "later"])
    columns = pa.schema(DeltaTable(shop.table("a")).schema())
    assert [columns.field(name).type for name in ("id", "big", "at", "ts")] == [
        pa.int64(),
        pa.decimal128(20, 0),
        pa.timestamp("us"),
        pa.timestamp("us", tz="UTC"),
    ]


def test_changes_of_one_run_are_followed_together(shop: Shop) -> None:
    shop.run(TABLES)
    shop.deliver()
    shop.run(ROWS + DEFINITIONS + "DROP TABLE free; CREATE TABLE free (id INT PRIMARY KEY, q INT)")
    shop.run("INSERT INTO free VALUES (1, 2)")
    shop.deliver()
    shop.assert_equal(["a", "pairs", "free", "later"])


def test_images_that_lack_columns_keep_what_the_table_has(shop: Shop) -> None:
    shop.run("CREATE TABLE t (id INT PRIMARY KEY, v INT, w TEXT); INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b')")
    shop.deliver()
    shop.run(
        "SET binlog_row_image = minimal; UPDATE t SET v = 10 WHERE id = 1; UPDATE t SET w = 'c' WHERE id = 1;"
        "UPDATE t SET id = 20, v = 5 WHERE id = 2; UPDATE t SET id = 2 WHERE id = 1; UPDATE t SET id = 1 WHERE id = 20"
    )
    shop.deliver()
    shop.assert_equal(["t"])


def test_images_that_lack_columns_whose_names_have_commas(shop: Shop) -> None:
    """`v,w` is neither `v` nor `w`, nor both."""
    shop.run("CREATE TABLE t (id INT PRIMARY KEY, v INT, w INT, `v,w` INT, `v%2Cw` INT)")
    shop.run("INSERT INTO t VALUES (1, 1, 1, 1, 1), (2, 2, 2, 2, 2), (3, 3, 3, 3, 3)")
    shop.deliver()
    shop.run(
        "SET binlog_row_image = minimal; UPDATE t SET `v,w` = 5 WHERE id = 1; UPDATE t SET v = 5, w = 5 WHERE id = 2;"
        "UPDATE t SET id = 30, `v,w` = 5 WHERE id = 3"
    )
    shop.deliver()
    rows = current_rows(str(shop.table("t"))).select(["id", "v", "w", "v,w", "v%2Cw"]).to_pylist()
    assert sorted(tuple(row.values()) for row in rows) == [(1, 1, 1, 5, 1), (2, 5, 5, 2, 2), (30, 3, 3, 5, 3)]


def test_a_changelog_has_each_change_once(shop: Shop) -> None:
    log = replace(shop, mode="changelog")
    rows = logged(log, lambda: DeltaTable(log.table("a")).to_pyarrow_table().to_pylist())
    assert {name for name, _ in FACT_COLUMNS} <= rows[0].keys()


def logged(log: Shop, found: Callable[[], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The rows of a changelog that has come to each change once.

    Args:
        log: the database and its tables.
        found: reads the rows of `a`.
    """
    log.run(TABLES)
    log.deliver()
    log.run(ROWS + "TRUNCATE pairs; INSERT INTO pairs VALUES (5, 'e', 5)")
    log.deliver()
    log.assert_equal(["a", "pairs"])
    log.run(
        "ALTER TABLE a ADD COLUMN city VARCHAR(20), RENAME COLUMN v TO word; INSERT INTO a (id, city) VALUES (7, 'x')"
    )
    log.deliver()
    rows = found()
    assert [row["city"] for row in rows if row["id"] == 7] == ["x"]
    assert {row["__op"] for row in rows} == {"r", "c", "u", "d"}
    assert len({row["__position"] for row in rows}) == len(rows)
    return rows


def test_names_that_need_column_mapping(shop: Shop) -> None:
    """Rows are written and changed; a change of the columns is refused by name, since delta-rs would not do it."""
    shop.run(
        "CREATE TABLE t (id INT PRIMARY KEY, `a b` INT, `c;d` TEXT); INSERT INTO t VALUES (1, 1, 'x'), (2, 2, 'y')"
    )
    shop.deliver()
    shop.run("UPDATE t SET `a b` = 5 WHERE id = 1; DELETE FROM t WHERE id = 2; INSERT INTO t VALUES (3, 3, 'z')")
    shop.deliver()
    assert DeltaTable(shop.table("t")).metadata().configuration["delta.columnMapping.mode"] == "name"
    shop.run("ALTER TABLE t ADD COLUMN e INT")
    ended = shop.pipeline().run("--once")
    assert ended.code == 4
    assert "delta.columnMapping.mode" in ended.errors and "sink.type: spark" in ended.errors


def test_tables_are_read_again(shop: Shop) -> None:
    """Rows that somebody has removed come back, in the one commit that replaces all of them."""
    shop.run("CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
    shop.deliver()
    DeltaTable(shop.table("t")).delete("id = 2")
    before = DeltaTable(shop.table("t")).version()
    shop.run("UPDATE t SET v = 30 WHERE id = 3")
    _ask_for(shop, "t")
    shop.deliver()
    shop.assert_equal(["t"])
    numbers = range(before + 1, DeltaTable(shop.table("t")).version() + 1)
    assert 0 not in [DeltaTable(shop.table("t"), version=n).to_pyarrow_table().num_rows for n in numbers]


def test_changes_are_kept_that_wait_while_a_table_is_read_again(shop: Shop) -> None:
    """Two runs stop at changes that cannot be followed, while the rows that are read again are still to come."""
    shop.run("CREATE TABLE a (id INT PRIMARY KEY, v INT); CREATE TABLE b LIKE a; CREATE TABLE c LIKE a")
    shop.run("INSERT INTO a VALUES (1, 1), (2, 2); INSERT INTO c VALUES (1, 1)")
    shop.deliver()
    shop.run("RENAME TABLE a TO aside, b TO a, aside TO b; UPDATE b SET v = 3; UPDATE c SET v = 2")
    gathered = shop.pipeline({"commit.interval.ms": 60_000})
    codes = []
    for table in ("c", "a", "b"):
        _ask_for(shop, table)
        codes.append(gathered.run("--once").code)
        if codes[-1] == 0:
            shop.assert_equal(["a", "b", "c"])
    assert codes == [4, 4, 0]


def _ask_for(shop: Shop, table: str) -> None:
    """Has a table read again by the next run."""
    command = [sys.executable, "-m", "cdckit", "resnapshot", str(shop.pipeline().written())]
    subprocess.run([*command, "--table", f"{shop.name}.{table}"], check=True, capture_output=True)


def test_a_table_that_is_gone_before_it_is_read_again(shop: Shop) -> None:
    """It took another one's rows, which stops the pipeline, and was renamed before anybody came to look."""
    shop.run(
        "CREATE TABLE a (id INT PRIMARY KEY, v INT); INSERT INTO a VALUES (1, 1), (2, 2); "
        "CREATE TABLE b (id INT PRIMARY KEY, w INT); INSERT INTO b VALUES (3, 3);"
    )
    shop.deliver()
    shop.run("RENAME TABLE a TO aside, b TO a, aside TO b; UPDATE b SET v = 10 WHERE id = 1; UPDATE a SET w = 30")
    stopped = shop.pipeline().run("--once")
    shop.run("RENAME TABLE a TO d, b TO c; INSERT INTO c VALUES (4, 4); DELETE FROM d")
    asked = []
    while stopped.code == 4:
        table = re.findall(r"`cdc resnapshot FILE --table \S+\.(\w+)` reads it anew", stopped.stderr)[-1]
        assert table not in asked
        asked.append(table)
        _ask_for(shop, table)
        stopped = shop.pipeline().run("--once")
    assert stopped.code == 0, stopped.stderr
    assert {"a", "b"} & set(asked)
    shop.assert_equal(["c", "d"])
    assert not any(DeltaTable(shop.table(name)).to_pyarrow_table().num_rows for name in ("a", "b"))
