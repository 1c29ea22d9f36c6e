"""What the reader makes of single statements: changes, spellings, unknown tables, faults."""

from __future__ import annotations

import pytest

from cdckit.errors import DecodeError
from cdckit_mysql.ddl import ChangeKind, DdlError, DdlReader, DdlSession, Flavor, SchemaChange, SqlMode
from cdckit_mysql.table import Column, Database, Table, TableId, Tables

MYSQL = DdlReader(Flavor.MYSQL, version=90704)
MARIADB = DdlReader(Flavor.MARIADB, version=101119)


def apply(sql: str, *before: str, reader: DdlReader = MYSQL, tables: Tables | None = None) -> list[SchemaChange]:
    """Return what the last statement changes."""
    tables = Tables() if tables is None else tables
    for statement in before:
        reader.apply(tables, "d", statement)
    return reader.apply(tables, "d", sql)


def column(definition: str, reader: DdlReader = MYSQL, session: DdlSession | None = None) -> Column:
    """Return the one column of a table."""
    [change] = reader.apply(Tables(), "d", f"CREATE TABLE t (c {definition})", session)
    assert change.table is not None
    return change.table.columns[0]


@pytest.mark.parametrize(
    ("written", "type_name", "length", "spelled"),
    [
        ("INTEGER UNSIGNED", "INT UNSIGNED", None, "INTEGER UNSIGNED"),
        ("int(8) zerofill", "INT UNSIGNED ZEROFILL", 8, "INT UNSIGNED ZEROFILL"),
        ("INT SIGNED", "INT", None, "INT SIGNED"),
        ("INT SIGNED UNSIGNED", "INT UNSIGNED", None, "INT UNSIGNED"),
        ("BOOL", "TINYINT", 1, "BOOL"),
        ("BOOLEAN", "TINYINT", 1, "BOOLEAN"),
        ("SERIAL", "BIGINT UNSIGNED", None, "BIGINT UNSIGNED"),
        ("DOUBLE PRECISION", "DOUBLE", None, "DOUBLE PRECISION"),
        ("FLOAT(53)", "DOUBLE", None, "FLOAT"),
        ("DEC", "DECIMAL", 10, "DEC"),
        ("NATIONAL VARCHAR(7)", "VARCHAR", 7, "NATIONAL VARCHAR"),
        ("LONG", "MEDIUMTEXT", None, "LONG"),
        ("CHARACTER VARYING(9)", "VARCHAR", 9, "CHARACTER VARYING"),
        ("BIT", "BIT", 1, "BIT"),
        ("TIMESTAMP(3) NULL", "TIMESTAMP", 3, "TIMESTAMP"),
        ("ENUM('a','b')", "ENUM", 1, "ENUM"),
        ("SET('a','b')", "SET", 3, "SET"),
        ("geomcollection", "GEOMETRYCOLLECTION", None, "GEOMCOLLECTION"),
        ("VECTOR", "VECTOR", 2048, "VECTOR"),
    ],
)
def test_types_have_the_servers_name_and_the_statements(
    written: str, type_name: str, length: int | None, spelled: str
) -> None:
    found = column(written)
    assert (found.type_name, found.length, found.type_expression) == (type_name, length, spelled)


def test_json_is_text_on_mariadb() -> None:
    found = column("JSON", MARIADB)
    assert (found.type_name, found.collation, found.type_expression) == ("LONGTEXT", "utf8mb4_bin", "JSON")
    assert column("JSON").type_name == "JSON"


@pytest.mark.parametrize(
    ("written", "default", "is_expression"),
    [
        ("INT DEFAULT 5", "5", False),
        ("BOOL DEFAULT TRUE", "1", False),
        ("BIT(8) DEFAULT b'101'", "101", False),
        ("DECIMAL(9,4) DEFAULT 12.3400", "12.3400", False),
        ("VARCHAR(9) DEFAULT 'it''s'", "it's", False),
        ("VARBINARY(9) DEFAULT x'00FF'", "\x00\xff", False),
        ("VARBINARY(9) DEFAULT 'é'", "\xc3\xa9", False),
        ("VARBINARY(9) DEFAULT '\udcff'", "\xff", False),
        ("VARCHAR(9) CHARACTER SET latin1 DEFAULT x'E9'", "é", False),
        ("VARCHAR(9) DEFAULT _latin1 x'E9'", "é", False),
        ("DATETIME(3) DEFAULT NOW(3)", "CURRENT_TIMESTAMP(3)", True),
        ("VARCHAR(36) DEFAULT (uuid())", "(uuid())", True),
        ("INT DEFAULT NULL", None, False),
    ],
)
def test_defaults(written: str, default: str | None, is_expression: bool) -> None:
    found = column(written)
    assert (found.has_default, found.default, found.default_is_expression) == (True, default, is_expression)


def test_a_nullable_column_has_a_default_until_it_is_dropped() -> None:
    assert column("INT").has_default
    assert not column("INT NOT NULL").has_default
    [change] = apply("ALTER TABLE t ALTER c DROP DEFAULT", "CREATE TABLE t (c INT)")
    assert change.table is not None
    assert not change.table.columns[0].has_default


def test_drop_of_several_tables_gives_each_its_own_statement() -> None:
    changes = apply("DROP TABLE IF EXISTS a, `e`.`b``c` CASCADE", "CREATE TABLE a (x INT)")
    assert [(change.kind, change.database, change.before, change.after, change.ddl) for change in changes] == [
        (ChangeKind.DROP, "d", ("d", "a"), None, "DROP TABLE IF EXISTS `d`.`a` CASCADE"),
        (ChangeKind.DROP, "e", ("e", "b`c"), None, "DROP TABLE IF EXISTS `e`.`b``c` CASCADE"),
    ]
    assert changes[0].previous is not None
    assert changes[1].previous is None


def test_rename_swaps() -> None:
    tables = Tables()
    changes = apply(
        "RENAME TABLE a TO tmp, b TO a, tmp TO b",
        "CREATE TABLE a (x INT)",
        "CREATE TABLE b (y INT)",
        tables=tables,
    )
    assert [change.ddl for change in changes] == [
        "RENAME TABLE a TO tmp",
        "RENAME TABLE b TO a",
        "RENAME TABLE tmp TO b",
    ]
    assert [change.kind for change in changes] == [ChangeKind.RENAME] * 3
    assert [tables["d", name].columns[0].name for name in ("a", "b")] == ["y", "x"]
    assert ("d", "tmp") not in tables


def test_alter_may_rename_and_change_at_once() -> None:
    tables = Tables()
    [change] = apply("ALTER TABLE t ADD y INT, RENAME e.u", "CREATE TABLE t (x INT)", tables=tables)
    assert (change.kind, change.before, change.after) == (ChangeKind.ALTER, ("d", "t"), ("e", "u"))
    assert change.table == tables["e", "u"]
    assert ("d", "t") not in tables


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("ALTER TABLE x ADD c INT", ChangeKind.ALTER),
        ("RENAME TABLE x TO y", ChangeKind.RENAME),
        ("CREATE INDEX i ON x (c)", ChangeKind.INDEX),
        ("DROP INDEX i ON x", ChangeKind.INDEX),
        ("TRUNCATE x", ChangeKind.TRUNCATE),
        ("CREATE TABLE x LIKE y", ChangeKind.CREATE),
    ],
)
def test_a_table_that_was_not_loaded_stays_unknown(sql: str, kind: ChangeKind) -> None:
    tables = Tables()
    [change] = apply(sql, tables=tables)
    assert (change.kind, change.table, len(tables)) == (kind, None, 0)


def test_an_unknown_table_takes_a_known_name() -> None:
    tables = Tables()
    [change] = apply("RENAME TABLE unknown TO t", "CREATE TABLE t (x INT)", tables=tables)
    assert (change.after, change.table) == (("d", "t"), None)
    assert ("d", "t") not in tables


def test_create_if_not_exists_changes_nothing() -> None:
    [change] = apply("CREATE TABLE IF NOT EXISTS t (y INT)", "CREATE TABLE t (x INT)")
    assert change.previous == change.table
    assert change.before == change.after == TableId("d", "t")


def test_truncate_keeps_the_definition() -> None:
    [change] = apply("TRUNCATE TABLE t", "CREATE TABLE t (x INT)")
    assert (change.kind, change.before, change.after) == (ChangeKind.TRUNCATE, ("d", "t"), ("d", "t"))
    assert change.table is not None


def test_databases_and_views_are_told() -> None:
    tables = Tables()
    script = {
        "CREATE DATABASE e CHARACTER SET latin1": (ChangeKind.CREATE_DATABASE, "e", None),
        "CREATE TABLE e.t (x INT)": (ChangeKind.CREATE, "e", ("e", "t")),
        "CREATE OR REPLACE VIEW e.v AS SELECT 1": (ChangeKind.VIEW, "e", ("e", "v")),
        "ALTER DATABASE e CHARACTER SET utf8mb4": (ChangeKind.ALTER_DATABASE, "e", None),
        "DROP DATABASE e": (ChangeKind.DROP_DATABASE, "e", None),
    }
    for sql, expected in script.items():
        [change] = apply(sql, tables=tables)
        assert (change.kind, change.database, change.after) == expected
    assert len(tables) == 0


def test_a_replaced_database_is_dropped_first() -> None:
    tables = Tables()
    changes = apply(
        "CREATE OR REPLACE DATABASE e",
        "CREATE DATABASE e CHARACTER SET latin1",
        "CREATE TABLE e.t (x INT)",
        reader=MARIADB,
        tables=tables,
    )
    assert [change.kind for change in changes] == [ChangeKind.DROP_DATABASE, ChangeKind.CREATE_DATABASE]
    assert len(tables) == 0
    assert tables.database("e") == Database("e", "utf8mb4", "utf8mb4_general_ci")


def test_sequences_are_known_by_name() -> None:
    tables = Tables()
    [created] = apply("CREATE SEQUENCE s START WITH 5", reader=MARIADB, tables=tables)
    assert (created.kind, tables["d", "s"]) == (ChangeKind.SEQUENCE, Table("d", "s", sequence=True))
    [dropped] = apply("DROP SEQUENCE s", reader=MARIADB, tables=tables)
    assert (dropped.kind, dropped.before) == (ChangeKind.SEQUENCE, ("d", "s"))


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TEMPORARY TABLE t (x INT)",
        "DROP TEMPORARY TABLE IF EXISTS t",
        "CREATE USER u IDENTIFIED BY 'CREATE TABLE t (x INT)'",
        "CREATE DEFINER=`a`@`%` PROCEDURE p() BEGIN CREATE TABLE t (x INT); DROP TABLE t; END",
        "DROP PROCEDURE p",
        "ALTER USER u ACCOUNT LOCK",
        "CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET NEW.x = 1",
        "RENAME USER a TO b",
        "GRANT ALL ON t TO u",
        "BEGIN",
        "",
    ],
)
def test_other_statements_change_nothing(sql: str) -> None:
    tables = Tables()
    assert apply(sql, tables=tables) == []
    assert len(tables) == 0


def test_several_statements_in_one_text() -> None:
    tables = Tables()
    changes = apply("CREATE TABLE a (x INT); ALTER TABLE a ADD y INT;", tables=tables)
    assert [change.ddl for change in changes] == ["CREATE TABLE a (x INT)", "ALTER TABLE a ADD y INT"]
    assert len(tables["d", "a"].columns) == 2


@pytest.mark.parametrize(
    ("sql", "problem", "at"),
    [
        ("ALTER TABLE t ADD c NOTATYPE", "unknown data type", "NOTATYPE"),
        ("ALTER TABLE t DROP COLUMN nothere", "no column 'nothere'", ""),
        ("ALTER TABLE t ADD x INT", "'x' is there already", ""),
        ("ALTER TABLE t ADD y INT AFTER nothere", "no column 'nothere'", ""),
        ("ALTER TABLE t ADD KEY (nothere)", "the column 'nothere'", ""),
        ("ALTER TABLE t FROBNICATE (5) x", "expected a clause", "FROBNICATE"),
        ("CREATE TABLE u (x INT) FROBNICATE 5", "expected a table option", "FROBNICATE"),
        ("CREATE TABLE u (x INT", r"expected \)", ""),
        ("CREATE TABLE u AS SELECT 1", "binlog_format=ROW", "AS SELECT"),
        ("CREATE TABLE u (x INT DEFAULT 'open)", "not closed", "'open)"),
        ("DROP TABLE t; DROP TABLE", "expected a name", ""),
    ],
)
def test_what_cannot_be_read_is_an_error_that_shows_where(sql: str, problem: str, at: str) -> None:
    with pytest.raises(DdlError, match=problem) as caught:
        apply(sql, "CREATE TABLE t (x INT)")
    assert isinstance(caught.value, DecodeError)
    assert caught.value.sql == sql
    assert sql[caught.value.offset :].startswith(at)
    assert "skip.unparseable.ddl" in str(caught.value)


def test_a_long_statement_is_shown_around_the_fault() -> None:
    sql = f"CREATE TABLE t ({', '.join(f'c{number} INT' for number in range(300))}, bad NOTATYPE)"
    with pytest.raises(DdlError) as caught:
        apply(sql)
    assert "bad NOTATYPE" in str(caught.value)
    assert "CREATE TABLE t (c0" in str(caught.value)
    assert len(str(caught.value)) < 700


def test_a_statement_that_fails_leaves_the_definitions_alone() -> None:
    tables = Tables()
    apply("CREATE TABLE t (x INT)", tables=tables)
    before = tables.copy()
    with pytest.raises(DdlError):
        apply("ALTER TABLE t ADD y INT, DROP nothere, RENAME u", tables=tables)
    assert tables == before


@pytest.mark.parametrize("mode", [1, 2])
def test_names_without_regard_to_case(mode: int) -> None:
    tables = Tables(lower_case_table_names=mode)
    changes = apply("ALTER TABLE D.ORDERS ADD y INT, RENAME Archive", "CREATE TABLE Orders (x INT)", tables=tables)
    assert changes[0].after == (("d", "archive") if mode == 1 else ("D", "Archive")) or mode == 2
    assert len(tables["d", "ARCHIVE"].columns) == 2
    assert len(tables) == 1


def test_the_session_decides_on_quotes_escapes_and_reals() -> None:
    mode = SqlMode.ANSI_QUOTES | SqlMode.NO_BACKSLASH_ESCAPES | SqlMode.REAL_AS_FLOAT
    session = DdlSession(sql_mode=mode)
    [change] = MYSQL.apply(Tables(), "d", 'CREATE TABLE "t" ("a" REAL, "b" VARCHAR(9) DEFAULT \'x\\\')', session)
    assert change.table is not None
    assert [(column.name, column.type_name, column.default) for column in change.table.columns] == [
        ("a", "FLOAT", None),
        ("b", "VARCHAR", "x\\"),
    ]


def test_the_session_decides_on_collations() -> None:
    session = DdlSession(collation_server="latin1_german1_ci", default_collations={"utf8mb4": "utf8mb4_general_ci"})
    tables = Tables()
    MYSQL.apply(tables, "", "CREATE DATABASE e", session)
    [change] = MYSQL.apply(tables, "e", "CREATE TABLE t (a TEXT, b TEXT CHARACTER SET utf8mb4)", session)
    assert change.table is not None
    assert [column.collation for column in change.table.columns] == ["latin1_german1_ci", "utf8mb4_general_ci"]


def test_timestamps_without_explicit_defaults() -> None:
    found = column("TIMESTAMP", session=DdlSession(explicit_defaults_for_timestamp=False))
    assert (found.optional, found.default) == (False, "CURRENT_TIMESTAMP")
    assert column("TIMESTAMP").optional


def test_a_system_versioned_table_is_known_as_such() -> None:
    [change] = apply("CREATE TABLE t (x INT) WITH SYSTEM VERSIONING", reader=MARIADB)
    assert change.table is not None
    assert change.table.system_versioned


def test_a_column_that_is_versioned_makes_its_table_so() -> None:
    """One that is not versioned makes none."""
    [change] = apply("CREATE TABLE t (x INT, y INT WITH SYSTEM VERSIONING)", reader=MARIADB)
    assert change.table is not None
    assert change.table.system_versioned
    [change] = apply("CREATE TABLE t (x INT, y INT WITHOUT SYSTEM VERSIONING)", reader=MARIADB)
    assert change.table is not None
    assert not change.table.system_versioned


@pytest.mark.parametrize(
    ("statement", "moves"),
    [
        ("ALTER TABLE t DROP PARTITION p0", False),
        ("ALTER TABLE t TRUNCATE PARTITION c", True),
        ("ALTER TABLE t CONVERT PARTITION p0 TO TABLE u", True),
        ("ALTER TABLE t REMOVE PARTITIONING; ALTER TABLE t DROP PARTITION p0", True),
        ("ALTER TABLE t PARTITION BY HASH (x) PARTITIONS 3; ALTER TABLE t DROP PARTITION p0", True),
        ("ALTER TABLE t PARTITION BY SYSTEM_TIME LIMIT 9; ALTER TABLE t DROP PARTITION p0", False),
    ],
)
def test_partitions_of_old_versions_have_no_rows_that_count(statement: str, moves: bool) -> None:
    """The server drops no partition of the rows of now, but truncates it."""
    partitions = "(PARTITION p0 HISTORY, PARTITION c CURRENT)"
    created = f"CREATE TABLE t (x INT) WITH SYSTEM VERSIONING PARTITION BY SYSTEM_TIME {partitions}"
    *before, last = statement.split("; ")
    assert apply(last, created, *before, reader=MARIADB)[0].moves_rows is moves


def test_version_comments_are_read_as_the_server_does() -> None:
    sql = "CREATE TABLE t (a INT /*!50000 , b INT */ /*!99999 , c INT */ /*M! , d INT */ /*! , e INT */ /* , f INT */)"
    for reader, names in ((MYSQL, "abe"), (MARIADB, "abde")):
        [change] = apply(sql, reader=reader)
        assert change.table is not None
        assert "".join(column.name for column in change.table.columns) == names
