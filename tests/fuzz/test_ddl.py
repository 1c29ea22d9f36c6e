"""Any text that stands in the log instead of a statement is read, or refused with a DdlError, in little time."""

from __future__ import annotations

from random import Random

import pytest

from cdckit_mysql.ddl import DdlError, DdlReader, DdlSession, Flavor, SqlMode, first_word, is_schema_change
from cdckit_mysql.table import Tables
from fuzz.ddl_mutations import corpus, mutated
from fuzz.guard import limited

READERS = (DdlReader(Flavor.MYSQL, version=90704), DdlReader(Flavor.MARIADB, version=101119))
MODES = (SqlMode.NONE, SqlMode.NONE, SqlMode.ANSI_QUOTES, SqlMode.NO_BACKSLASH_ESCAPES, SqlMode.ORACLE)

KEPT = [
    "CREATE TABLE t (a INT CHARACTER)",
    "CREATE TABLE t (a INT CHAR NOT NULL)",
    "ALTER TABLE t MODIFY a INT CHARACTER, ADD b INT",
    f"CREATE TABLE t (a INT DEFAULT {'- ' * 50_000}1)",
    f"CREATE TABLE t (a INT DEFAULT {'(' * 50_000}1{')' * 50_000})",
    "CREATE TABLE t (a INT) -- x\n--\nWITH SYSTEM VERSIONING",
]
"""Statements that once hung the reader or made it fail."""


def read(reader: DdlReader, tables: Tables, statement: str, mode: SqlMode = SqlMode.NONE) -> None:
    data = statement.encode("utf-8", "surrogatepass")
    with limited(statement, DdlError):
        is_schema_change(data)
        first_word(data)
        reader.apply(tables, "ddl1", statement, DdlSession(sql_mode=mode))


@pytest.mark.parametrize("statement", KEPT, ids=lambda statement: statement[:40])
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.flavor)
def test_what_was_found_stays_mended(reader: DdlReader, statement: str) -> None:
    read(reader, Tables(), statement)


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.flavor)
def test_mutated_statements(reader: DdlReader, cases: range) -> None:
    wanted, done, seed = len(cases), 0, cases.start
    files = corpus()
    while done < wanted:
        random = Random(seed)
        tables = Tables()
        for statement in files[seed % len(files)]:
            read(reader, tables, mutated(statement, random), random.choice(MODES))
            read(reader, tables, statement)
            done += 1
        seed += 1
