"""Definitions read from a running server."""

from __future__ import annotations

import pytest
from pymysql.cursors import DictCursor
from pymysql.err import OperationalError

from cdckit_mysql.ddl import DdlReader, Flavor, create_statement, load_charsets, load_each, load_table, load_tables
from cdckit_mysql.table import Database, TableId
from mysql.ddl.following import Follower
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import SQLServer

_VARIABLES = "SELECT @@sql_mode, @@sql_quote_show_create"


def flavor_of(server: SQLServer) -> Flavor:
    return Flavor.MARIADB if isinstance(server, MariaDBServer) else Flavor.MYSQL


def test_only_wanted_tables_are_loaded(db_server: SQLServer, database: str) -> None:
    for name in ("a", "b", "c"):
        db_server.execute(f"CREATE TABLE {database}.{name} (id INT PRIMARY KEY)")
    db_server.execute(f"CREATE VIEW {database}.v AS SELECT id FROM {database}.a")
    with db_server.connect() as connection:
        tables = load_tables(connection, lambda base, name: base == database and name in "acv", flavor_of(db_server))
    assert sorted(table.name for table in tables) == ["a", "c"]
    assert next(found for found in tables.databases if found.name == database).charset == "utf8mb4"
    assert not {"mysql", "sys", "information_schema"} & {found.name for found in tables.databases}


def test_several_tables_are_loaded_as_each_alone(db_server: SQLServer, database: str) -> None:
    for name in ("a", "b"):
        db_server.execute(f"CREATE TABLE {database}.{name} (`id of {name}` INT PRIMARY KEY, t VARCHAR(5))")
    names = [TableId(database, name) for name in ("b", "gone", "a")]
    with db_server.connect() as connection:
        reader = DdlReader(flavor_of(db_server), charsets=load_charsets(connection))
        alone = {name: load_table(connection, name, reader) for name in names}
        assert load_each(connection, names, reader) == alone
    assert [None if table is None else table.key_columns for table in alone.values()] == [
        ("id of b",),
        None,
        ("id of a",),
    ]


def test_tables_of_one_shape_are_read_once(db_server: SQLServer, database: str) -> None:
    """They differ by their names, and by how far their numbers have come; what else differs is seen."""
    columns = "id INT AUTO_INCREMENT PRIMARY KEY, t VARCHAR(5) COMMENT 'AUTO_INCREMENT=7', KEY k (t)"
    names = ("a", "b", "with `quotes`", "commented", "CREATE TABLE `a` (")
    for number, name in enumerate(names):
        quoted = f"{database}.`{name.replace('`', '``')}`"
        comment = " COMMENT 'AUTO_INCREMENT=8'" if name == "commented" else ""
        db_server.execute(f"CREATE TABLE {quoted} ({columns}) AUTO_INCREMENT={number + 1}{comment}")
    created: dict[TableId, str] = {}
    with db_server.connect() as connection:
        tables = load_tables(connection, lambda base, _: base == database, flavor_of(db_server), created)
        reader = DdlReader(flavor_of(db_server), charsets=load_charsets(connection))
        alone = {name: load_table(connection, TableId(database, name), reader) for name in names}
        told = {name: create_statement(connection, TableId(database, name)) for name in names}
    assert {table.name: table for table in tables} == alone
    assert {table.name: created[table.id] for table in tables} == told
    assert [name for name in names if tables[database, name].columns is tables[database, "a"].columns] == [
        "a",
        "b",
        "with `quotes`",
        "CREATE TABLE `a` (",
    ]
    assert tables[database, "commented"].comment == "AUTO_INCREMENT=8"


def test_the_session_is_left_as_it_was(db_server: SQLServer, database: str) -> None:
    db_server.execute(f'CREATE TABLE {database}.t (`a "quoted" one` INT COMMENT "x")')
    with db_server.connect(cursorclass=DictCursor) as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES', sql_quote_show_create = 0")
        cursor.execute(_VARIABLES)
        before = cursor.fetchone()
        tables = load_tables(connection, lambda base, _: base == database, flavor_of(db_server))
        cursor.execute(_VARIABLES)
        assert cursor.fetchone() == before
        cursor.execute("SELECT 'text' AS t")
        assert cursor.fetchone() == {"t": "text"}
    assert tables[database, "t"].columns[0].name == 'a "quoted" one'


def test_a_connection_that_is_lost_is_told_as_such(db_server: SQLServer, database: str) -> None:
    """And not as one that was closed, which the settings of its session cannot be given back to."""
    db_server.execute(f"CREATE TABLE {database}.t (id INT)")

    def lost(base: str, _: str) -> bool:
        if base == database:
            db_server.execute(f"KILL {number}")
        return base == database

    connection = db_server.connect()
    with connection.cursor() as cursor:
        cursor.execute("SELECT CONNECTION_ID()")
        [(number,)] = cursor.fetchall()
    with pytest.raises(OperationalError, match=r"Lost connection|gone away"):
        load_tables(connection, lost, flavor_of(db_server))
    assert not connection.open


def test_a_hidden_key_is_seen(mysql_server: MySQLServer, unique_name: str) -> None:
    """The rows of the log have the key that MySQL makes, even where a session hides it."""
    with mysql_server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {unique_name}")
        cursor.execute("SET sql_generate_invisible_primary_key = ON")
        cursor.execute("SET show_gipk_in_create_table_and_information_schema = OFF")
        cursor.execute(f"CREATE TABLE {unique_name}.t (v INT)")
        tables = load_tables(connection, lambda base, _: base == unique_name, Flavor.MYSQL)
        cursor.execute(f"DROP DATABASE {unique_name}")
    assert tables[unique_name, "t"].key_columns == ("my_row_id",)


def test_bytes_that_are_no_text(db_server: SQLServer, database: str) -> None:
    db_server.execute(f"CREATE TABLE {database}.t (a VARBINARY(5) DEFAULT x'00FF80', b VARBINARY(5) DEFAULT 'é')")
    with db_server.connect() as connection:
        tables = load_tables(connection, lambda base, _: base == database, flavor_of(db_server))
    assert [column.default for column in tables[database, "t"].columns] == ["\x00\xff\x80", "\xc3\xa9"]


def test_sequences_are_told_apart(mariadb_server: MariaDBServer, unique_name: str) -> None:
    mariadb_server.run_sql(
        f"CREATE DATABASE {unique_name}; USE {unique_name}; CREATE SEQUENCE s; "
        "CREATE TABLE v (i INT) WITH SYSTEM VERSIONING"
    )
    with mariadb_server.connect() as connection:
        tables = load_tables(connection, lambda base, _: base == unique_name, Flavor.MARIADB)
    mariadb_server.execute(f"DROP DATABASE {unique_name}")
    assert tables[unique_name, "s"].sequence
    assert tables[unique_name, "v"].system_versioned


def test_charsets_are_the_servers(db_server: SQLServer) -> None:
    with db_server.connect() as connection:
        charsets = load_charsets(connection)
    assert charsets.charset("utf8") == "utf8mb3"
    assert charsets.collations[45].name == "utf8mb4_general_ci"
    assert charsets.known["sjis"].max_bytes == 2


def test_case_of_names(unique_name: str) -> None:
    """A server that stores names in lower case, and statements that do not care."""
    with MariaDBServer().start(lower_case_table_names=1) as server, Follower(server.connect) as follower:
        for statement in (
            "CREATE TABLE Orders (Id INT PRIMARY KEY)",
            "ALTER TABLE DDL1.ORDERS ADD Total INT",
            "RENAME TABLE orders TO DDL2.Archive",
            "CREATE TABLE Copy LIKE ddl2.ARCHIVE",
            "CREATE DATABASE IF NOT EXISTS Ddl2",
            "ALTER TABLE COPY RENAME TO Other, DROP total",
        ):
            follower.run(statement)
            assert follower.differences() == []
        assert follower.tables.database("DDL2") == Database("ddl2", "utf8mb4", "utf8mb4_general_ci")
        assert sorted(table.name for table in follower.tables) == ["archive", "other"]


@pytest.mark.nightly
def test_thousands_of_tables(db_server: SQLServer, database: str) -> None:
    statement = "id INT PRIMARY KEY, a VARCHAR(50), b DECIMAL(10,2), c DATETIME(6), d ENUM('x','y') DEFAULT 'x'"
    with db_server.connect() as connection, connection.cursor() as cursor:
        for number in range(3000):
            cursor.execute(f"CREATE TABLE {database}.t{number} ({statement})")
        tables = load_tables(connection, lambda base, _: base == database, flavor_of(db_server))
    assert len(tables) == 3000
