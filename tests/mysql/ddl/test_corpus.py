"""A corpus of DDL: after every statement the tracked definitions are what the server's catalogue says.

`corpus/common` is for every server, `corpus/mysql` for MySQL 9, `corpus/mariadb` for MariaDB. Each file starts with two
empty databases, `ddl1` (the default one) and `ddl2`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pymysql
import pytest

from cdckit_mysql.ddl import SchemaChange
from mysql.ddl.following import Follower, statements
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql56 import MySQL56Server
from testkit.servers.mysql_family import SQLServer

CORPUS = Path(__file__).parent / "corpus"
LEAST_STATEMENTS = 400


def files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (CORPUS / folder).glob("*.sql"))


def follow(server: SQLServer, script: Iterable[str], *, refusals: bool = False) -> None:
    """Run statements and compare after each.

    Args:
        server: where.
        script: the statements.
        refusals: go on after a statement that the server refuses, of which nothing is in its log.

    Raises:
        pytest.fail.Exception: tracked definitions and server differ; the message names the statement.
    """
    with Follower(server.connect) as follower:
        for statement in script:
            try:
                follower.run(statement)
            except pymysql.MySQLError as error:
                if not refusals:
                    pytest.fail(f"the server refuses {statement!r}: {error}")
            check(f"after {statement!r}:", follower.differences(), old=refusals)
        check("from the server's own statements:", follower.reload_differences(), old=refusals)
        check("for a snapshot's rows:", follower.snapshot_differences(), old=refusals)


def check(title: str, faults: list[str], *, old: bool) -> None:
    if old:
        faults = [fault for fault in faults if not is_old_default(fault)]
    if faults:
        pytest.fail("\n".join([title, *faults]))


def is_old_default(fault: str) -> bool:
    """Whether a fault is the default that MySQL before 5.7 gives a key column which is not declared NOT NULL."""
    return "default: server '0', tracked None" in fault or "default: server '', tracked None" in fault


@pytest.mark.parametrize("path", files("common", "mysql"), ids=lambda path: path.stem)
def test_mysql(path: Path, mysql_server: MySQLServer) -> None:
    follow(mysql_server, statements(path))


@pytest.mark.parametrize("path", files("common", "mariadb"), ids=lambda path: path.stem)
def test_mariadb(path: Path, mariadb_server: SQLServer) -> None:
    follow(mariadb_server, statements(path))


@pytest.mark.parametrize("path", files("common"), ids=lambda path: path.stem)
def test_mysql56(path: Path, mysql56_server: MySQL56Server) -> None:
    follow(mysql56_server, statements(path), refusals=True)


@pytest.mark.parametrize("server", ["mysql", "mariadb"])
def test_the_corpus_is_large(server: str) -> None:
    assert sum(len(statements(path)) for path in files("common", server)) >= LEAST_STATEMENTS


def test_a_difference_names_the_statement(db_server: SQLServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison can fail: here the reader is made to miss a statement."""
    reads = Follower.run

    def misses_the_second(follower: Follower, statement: str) -> list[SchemaChange]:
        kept = follower.tables.copy()
        changes = reads(follower, statement)
        if "ADD b" in statement:
            follower.tables = kept
        return changes

    monkeypatch.setattr(Follower, "run", misses_the_second)
    with pytest.raises(pytest.fail.Exception, match=r"after 'ALTER TABLE t ADD b INT':\nddl1\.t: columns: server"):
        follow(db_server, ["CREATE TABLE t (a INT)", "ALTER TABLE t ADD b INT"])


@pytest.mark.parametrize(
    ("column", "found"),
    [
        ("a INT NOT NULL", "optional"),
        ("a BIGINT", "type"),
        ("a INT UNSIGNED", "type"),
        ("a INT DEFAULT 5", "default"),
        ("a INT COMMENT 'c'", "comment"),
        ("a INT UNIQUE", "indexes"),
        ("a INT PRIMARY KEY", "primary_key"),
    ],
)
def test_every_aspect_is_compared(column: str, found: str, db_server: SQLServer) -> None:
    """The server has one more property than the tracked definition."""
    with Follower(db_server.connect) as follower:
        follower.run("CREATE TABLE t (a INT)")
        kept = follower.tables.copy()
        follower.run("DROP TABLE t")
        follower.run(f"CREATE TABLE t ({column})")
        follower.tables = kept
        assert any(f": {found}: server" in fault for fault in follower.differences())
