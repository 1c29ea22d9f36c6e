"""A changelog is kept without pyarrow, NumPy and pandas, each of which takes more memory than all the rest."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

from delta_sink.shop import Shop

HEAVY = ("pyarrow", "numpy", "pandas")
RUNS = f"""
import sys
from cdckit.cli.main import call
code = call(sys.argv[1:])
print([name for name in {HEAVY} if name in sys.modules])
sys.exit(code)
"""
TABLES = """
CREATE TABLE a (id INT PRIMARY KEY, v VARCHAR(20), price DECIMAL(10,2), at DATETIME(6), big BIGINT UNSIGNED, f FLOAT,
                bits BIT(9), kind ENUM('x','y'), doc JSON, data VARBINARY(20), ts TIMESTAMP(3) NULL, d DATE,
                place POINT, large DECIMAL(65,30), y YEAR, t TIME(3)) COMMENT 'of all kinds';
CREATE TABLE free (v INT, w VARCHAR(10));
INSERT INTO a VALUES (1, 'one', 1.50, '2024-01-02 03:04:05.678901', 18446744073709551615, 1.5, b'101', 'x', '{"a": 1}',
                      x'00ff', '2024-01-02 03:04:05.678', '2024-02-29', POINT(1, 2), -0.5, 2024, '-12:00:00.5'),
                     (3, 'three', -0.01, '1000-01-01', 7, -2, b'0', 'y', '[]', '', NULL, '9999-12-31', NULL,
                      1, 1999, NULL);
INSERT INTO a (id) VALUES (2);
INSERT INTO free VALUES (1, 'x'), (1, 'x'), (NULL, NULL);
CREATE TABLE many (id INT PRIMARY KEY, w VARCHAR(300));
INSERT INTO many WITH RECURSIVE a AS (SELECT 0 i UNION ALL SELECT i + 1 FROM a WHERE i < 199)
    SELECT x.i * 200 + y.i, REPEAT('w', 300) FROM a x CROSS JOIN a y;
"""
"""`many` takes more than a sink holds in memory."""
CHANGES = """
UPDATE a SET v = 'changed', price = price + 1, place = POINT(3, 4); DELETE FROM a WHERE id = 2;
INSERT INTO a (id, v) VALUES (4, 'four'); UPDATE a SET id = 40 WHERE id = 4; DELETE FROM free WHERE v = 1 LIMIT 1;
UPDATE many SET w = 'v' WHERE id < 5000;
"""
DEFINITIONS = """
ALTER TABLE a ADD COLUMN city VARCHAR(20) DEFAULT 'Rome' COMMENT 'where',
                ADD COLUMN since DATETIME NOT NULL DEFAULT '2024-01-01';
UPDATE a SET city = 'Oslo'; TRUNCATE TABLE free; INSERT INTO free VALUES (9, 'z');
CREATE TABLE later (id INT PRIMARY KEY, v INT COMMENT 'a number'); INSERT INTO later VALUES (1, 1);
"""


def deliver(shop: Shop) -> str:
    """Runs up to the log's end in a process that has imported nothing before; what of `HEAVY` it has imported."""
    pipeline = shop.pipeline({"partition.by": "kind"})
    words = ["run", str(pipeline.written()), "--once"]
    command = [sys.executable, "-c", RUNS, *words]
    done = subprocess.run(command, check=False, cwd=shop.folder, env=os.environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def test_a_changelog_needs_neither_pyarrow_nor_numpy(shop: Shop) -> None:
    logged = replace(shop, mode="changelog")
    logged.run(TABLES)
    assert deliver(logged) == "[]", "the snapshot"
    logged.assert_equal(["a", "many"])
    logged.run(CHANGES)
    assert deliver(logged) == "[]", "changes"
    logged.assert_equal(["a", "many"])
    logged.run(DEFINITIONS)
    assert deliver(logged) == "[]", "definitions"
    logged.assert_equal(["a", "later", "many"])
