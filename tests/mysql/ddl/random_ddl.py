"""Makes up DDL statements for tables that exist; a server refuses some of them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from cdckit_mysql.table import Table, Tables

TYPES = (
    "INT", "INT UNSIGNED", "TINYINT(1)", "BOOL", "BIGINT ZEROFILL", "INT(7)", "MEDIUMINT", "INT8", "SMALLINT UNSIGNED",
    "DECIMAL", "DECIMAL(9,3)", "NUMERIC(5)", "FLOAT", "FLOAT(30)", "DOUBLE(8,2)", "REAL", "BIT(5)", "YEAR",
    "DATE", "TIME(2)", "DATETIME", "DATETIME(6)", "TIMESTAMP NULL", "TIMESTAMP(3) NULL",
    "CHAR(5)", "CHAR", "VARCHAR(20)", "VARCHAR(9) CHARACTER SET latin1", "VARCHAR(9) COLLATE utf8mb4_bin", "NCHAR(4)",
    "TEXT", "TINYTEXT", "LONGTEXT", "TEXT(300)", "VARCHAR(5) BINARY", "CHAR(3) ASCII",
    "BINARY(4)", "VARBINARY(30)", "BLOB", "BLOB(70000)", "ENUM('a','b','c')", "SET('x','y')", "JSON",
)  # fmt: skip
NAMES = ("a", "b", "c", "d", "E", "F", "select", "with space", "ö")
TABLES = ("t1", "t2", "T3", "ddl2.t4")
CHARSETS = ("latin1", "utf8mb4", "utf8mb3", "cp1251", "utf8mb4 COLLATE utf8mb4_bin", "latin1 COLLATE latin1_german1_ci")
DEFAULTS = (
    "5",
    "'7'",
    "NULL",
    "'a'",
    "'x'",
    "-1.5",
    "'2020-01-02'",
    "CURRENT_TIMESTAMP",
    "TRUE",
    "''",
    "b'11'",
    "x'41'",
)

_SPOILT_BY_CONVERSION = ("MODIFY", "CHANGE")
"""Beside CONVERT TO CHARACTER SET, MySQL gives a TEXT or BLOB that replaces a column the size of the old one."""


class RandomDdl:
    """Random statements, the same for the same seed and the same answers of the server.

    Args:
        seed: of the random numbers.
        tables: the definitions as they are when a statement is made.
    """

    def __init__(self, seed: int, tables: Callable[[], Tables]) -> None:
        self._random = Random(seed)
        self._tables = tables

    def statement(self) -> str:
        """Return the next statement."""
        known = [table for table in self._tables() if table.database in ("ddl1", "ddl2")]
        if len(known) < 2:
            return self._create()
        table = self._random.choice(known)
        kinds: list[tuple[int, Callable[[], str]]] = [
            (40, lambda: self._alter(table)),
            (4, self._create),
            (3, lambda: self._index(table)),
            (2, lambda: f"RENAME TABLE {_name(table)} TO {self._random.choice(TABLES)}"),
            (2, lambda: f"CREATE TABLE {self._random.choice(TABLES)} LIKE {_name(table)}"),
            (1, lambda: f"DROP TABLE {_name(table)}"),
        ]
        return self._random.choices([kind for _, kind in kinds], [weight for weight, _ in kinds])[0]()

    def _create(self) -> str:
        names = self._random.sample(NAMES, self._random.randint(1, 5))
        elements = [f"`{name}` {self._definition()}" for name in names]
        elements += [self._key(names) for _ in range(self._random.randint(0, 2))]
        charset = self._random.choice(("", f" CHARACTER SET {self._random.choice(CHARSETS)}"))
        return f"CREATE TABLE {self._random.choice(TABLES)} ({', '.join(elements)}){charset}"

    def _definition(self) -> str:
        parts = [self._random.choice(TYPES)]
        if self._random.random() < 0.3:
            parts.append(self._random.choice(("NOT NULL", "NULL")))
        if self._random.random() < 0.3:
            parts.append(f"DEFAULT {self._random.choice(DEFAULTS)}")
        if self._random.random() < 0.15:
            parts.append(self._random.choice(("UNIQUE", "COMMENT 'it''s'", "PRIMARY KEY", "AUTO_INCREMENT UNIQUE")))
        return " ".join(parts)

    def _key(self, names: list[str]) -> str:
        columns = ", ".join(
            f"`{name}`" for name in self._random.sample(names, min(len(names), self._random.randint(1, 3)))
        )
        return f"{self._random.choice(('PRIMARY KEY', 'UNIQUE', 'KEY', 'UNIQUE KEY k1', 'INDEX k2'))} ({columns})"

    def _index(self, table: Table) -> str:
        if table.indexes and self._random.random() < 0.5:
            return f"DROP INDEX `{self._random.choice(table.indexes).name}` ON {_name(table)}"
        column = self._random.choice(table.columns).name
        kind = self._random.choice(("", "UNIQUE "))
        return f"CREATE {kind}INDEX i{self._random.randint(1, 9)} ON {_name(table)} (`{column}`)"

    def _alter(self, table: Table) -> str:
        count = min(self._random.choice((1, 1, 1, 2, 3)), len(table.columns))
        clauses = [self._clause(table, column.name) for column in self._random.sample(table.columns, count)]
        conversions = [clause for clause in clauses if clause.startswith("CONVERT")]
        if conversions:
            others = [clause for clause in clauses if not clause.startswith(("CONVERT", *_SPOILT_BY_CONVERSION))]
            clauses = [*others, conversions[0]]
        return f"ALTER TABLE {_name(table)} {', '.join(clauses)}"

    def _clause(self, table: Table, column: str) -> str:
        choice = self._random.choice
        old, new = f"`{column}`", f"`{choice(NAMES)}`"
        place = choice(("", "", " FIRST", f" AFTER `{choice(table.columns).name}`"))
        kinds: list[Callable[[], str]] = [
            lambda: f"ADD COLUMN {new} {self._definition()}{place}",
            lambda: f"ADD {new} {self._definition()}{place}",
            lambda: f"DROP COLUMN {old}",
            lambda: f"MODIFY {old} {self._definition()}{place}",
            lambda: f"CHANGE {old} {new} {self._definition()}{place}",
            lambda: f"RENAME COLUMN {old} TO {new}",
            lambda: f"ALTER {old} SET DEFAULT {choice([text for text in DEFAULTS if text != 'CURRENT_TIMESTAMP'])}",
            lambda: f"ALTER COLUMN {old} DROP DEFAULT",
            lambda: f"ADD {self._key([column.name for column in table.columns])}",
            lambda: "DROP PRIMARY KEY",
            lambda: f"DROP INDEX `{choice(table.indexes).name}`" if table.indexes else "FORCE",
            lambda: f"RENAME INDEX `{choice(table.indexes).name}` TO `{choice(NAMES)}`" if table.indexes else "FORCE",
            lambda: f"CONVERT TO CHARACTER SET {choice(CHARSETS)}",
            lambda: f"DEFAULT CHARACTER SET {choice(CHARSETS)}",
            lambda: "COMMENT = " + choice(("''", "'one'", "'it''s'")),
            lambda: f"RENAME TO {choice(TABLES)}",
        ]
        return choice(kinds)()


def _name(table: Table) -> str:
    return f"`{table.database}`.`{table.name}`"
