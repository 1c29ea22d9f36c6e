"""The test of a statement's first words."""

from __future__ import annotations

import pytest

from cdckit_mysql.ddl import is_schema_change


@pytest.mark.parametrize(
    "sql",
    [
        b"CREATE TABLE t (a INT)",
        b"alter table t add b int",
        b"  \n\tDROP TABLE t",
        b"RENAME TABLE a TO b",
        b"truncate t",
        b"/* app: x */ CREATE DATABASE d",
        b"-- note\nALTER TABLE t ADD x INT",
        b"# note\nALTER TABLE t ADD x INT",
        b"/*!50001 CREATE TABLE t (a INT) */",
        b"/*M!100000 DROP TABLE t */",
        b"/*!999999 SELECT */ CREATE TABLE t (a INT)",
        b"SET STATEMENT max_statement_time=5 FOR ALTER TABLE t ADD x INT",
        b";CREATE TABLE t (a INT)",
    ],
)
def test_ddl(sql: bytes) -> None:
    assert is_schema_change(sql)


@pytest.mark.parametrize(
    "sql",
    [
        b"BEGIN",
        b"COMMIT",
        b"ROLLBACK",
        b"SAVEPOINT `a`",
        b"XA START X'01',X'',1",
        b"XA COMMIT 'create table'",
        b"INSERT INTO t VALUES ('CREATE TABLE')",
        b"GRANT ALTER ON d.* TO u",
        b"FLUSH TABLES",
        b"DROPPED",
        b"/* CREATE TABLE t (a INT) */ INSERT INTO t VALUES (1)",
        b"",
    ],
)
def test_everything_else(sql: bytes) -> None:
    assert not is_schema_change(sql)
