"""Statements with comments before them: what they are is told in linear time, and by the words behind the comments."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from cdckit_mysql.ddl.statement_text import first_word, skip_prefix
from mysql.capture import changes
from mysql.conftest import NewCapture
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql_family import SQLServer

Sql = Callable[[str], None]

PARTS = [
    b"/* x */\n", b"-- x\n", b"--\n", b"# x\n", b" \t\n", b"(", b";", b"/**/", b"/*!50003 ", b"/*M!100100 ", b"/*! ",
    b"*/", b"/* x */ -- x\n", b"/*!50003 */", b"--\x01\n", b"/*/ */", b"#\n--\n",
]  # fmt: skip
"""What may stand before a statement, over and over."""
BYTES = 200_000
SECONDS = 60
"""The scanner needs well under one for all of the parts; what is not linear needs hours for one of them."""

_SCAN = f"""
from cdckit_mysql.binlog.query import Query
from cdckit_mysql.ddl import is_schema_change
from cdckit_mysql.ddl import DdlReader
from cdckit_mysql.ddl import first_word
for part in {PARTS!r}:
    for end in (b"", b"FLUSH PRIVILEGES", b"/*", b"'", b"-", b"/*!", b"SET STATEMENT a=1 FOR "):
        statement = part * ({BYTES} // len(part)) + end
        first_word(statement), is_schema_change(statement), is_schema_change(end + statement)
"""


@pytest.fixture
def run(db_server: SQLServer, database: str) -> Callable[[str], None]:
    """Runs one statement as it stands, comments included."""

    def execute(statement: str) -> None:
        with db_server.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"USE {database}")
            cursor.execute(statement)
            connection.commit()

    return execute


def test_any_length_of_anything_before_a_statement_is_passed_over() -> None:
    subprocess.run([sys.executable, "-c", _SCAN], check=True, timeout=SECONDS)


@pytest.mark.parametrize("part", PARTS)
def test_every_byte_is_passed_over_once(part: bytes) -> None:
    assert skip_prefix(part * 999 + b"ALTER") == len(part) * 999
    assert first_word(part * 999 + b"alter table") == b"ALTER"


@pytest.mark.parametrize(
    ("statement", "word"),
    [
        (b"--\nCREATE TABLE t (\ncommit INT)", b"CREATE"),
        (b"--x", b""),
        (b"/* not closed ALTER", b""),
        (b"", b""),
        (b"/*!50003 ALTER*/", b"ALTER"),
        (b"# only a comment", b""),
        (b"`ALTER`", b""),
        (b"/*/ ALTER */ DROP", b"DROP"),
    ],
)
def test_the_first_word(statement: bytes, word: bytes) -> None:
    assert first_word(statement) == word


HEADER = "/* x */\n" * 40


@pytest.mark.timeout(120)
def test_comments_before_statements_stop_nothing(
    capture: NewCapture, sql: Sql, run: Callable[[str], None], db_server: SQLServer
) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY, v INT);")
    reading = capture(snapshot_mode="no_data")
    reading.once()
    for statement in ("FLUSH PRIVILEGES", "ANALYZE TABLE t", "GRANT SELECT ON *.* TO dbz", "OPTIMIZE TABLE t"):
        run(HEADER + statement)
    run("-- \n" * 40 + "ALTER TABLE t ADD w INT")
    sql("INSERT INTO t VALUES (1, 2, 3);")
    assert changes(reading.once()) == [("c", "t", None, (1, 2, 3))]


def test_a_comment_that_is_two_dashes_ends_with_its_line(
    capture: NewCapture, sql: Sql, run: Callable[[str], None], db_server: SQLServer
) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY, v INT); CREATE TABLE q (id INT PRIMARY KEY);")
    sql("CREATE TABLE p (id INT PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (100));")
    reading = capture(snapshot_mode="no_data")
    reading.once()
    run("--\nCREATE TABLE c (\ncommit INT PRIMARY KEY)")
    run("--\nALTER TABLE p EXCHANGE PARTITION p0\nWITH TABLE q")
    if isinstance(db_server, MariaDBServer):
        run("--\nCREATE TABLE s (id INT PRIMARY KEY)\nWITH SYSTEM VERSIONING")
        sql("INSERT INTO s VALUES (3);")
    else:
        run("--\nANALYZE TABLE t\nUPDATE HISTOGRAM ON v WITH 4 BUCKETS")
    sql("INSERT INTO c VALUES (1); INSERT INTO p VALUES (2);")
    found = [(table, after[0]) for _, table, _, after in changes(reading.once())]
    assert found[-2:] == [("c", 1), ("p", 2)]
    assert len(found) == 2 + isinstance(db_server, MariaDBServer)
