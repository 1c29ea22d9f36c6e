"""Random tables of all types, random changes of their rows, and random DDL between: the same for the same seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random

import pymysql
from pymysql.connections import Connection

from mysql.decoding.random_values import COLUMNS, Make, integer, text

_YEARS = range(1971, 2037)

_DEFAULTS = ("TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "DECIMAL", "DOUBLE", "YEAR", "DATE", "TIME")
"""Types whose values are written as Debezium reads a default: as numbers and quoted text, not as X'' and b''."""
_OFTEN_ZERO = ("DATE", "TIME")
"""Types whose implicit default Debezium shows as null, and stops at where null is not allowed."""


def _timestamp(rng: Random, places: int) -> str:
    day = f"{rng.choice(_YEARS)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    fraction = f".{rng.randrange(10**places):0{places}}" if places else ""
    return f"'{day} {rng.randint(3, 23):02}:00:59{fraction}'"


_DOCUMENTS = ("{}", "[1, 2.5, null]", '{"a": {"b": [true, "x"]}}', '"text"', "17", '{"é": "日"}')
_MORE: dict[str, Make] = {
    **{f"TIMESTAMP({places}) NULL": partial(_timestamp, places=places) for places in (0, 3, 6)},
    "FLOAT": lambda rng: repr(rng.choice([0.0, 1.5, -2.25, 3.4e10, -1e-10, rng.uniform(-1e6, 1e6)])),
    "JSON": lambda rng: f"'{rng.choice(_DOCUMENTS)}'",
    "BOOLEAN": lambda rng: rng.choice(["TRUE", "FALSE"]),
    "VARCHAR(30) CHARACTER SET latin1": partial(text, characters="aé", longest=30),
    "INT(7) ZEROFILL": partial(integer, bits=31, signed=False),
    "NUMERIC(5) UNSIGNED": lambda rng: str(rng.randrange(10**5)),
    "TINYINT(1)": lambda rng: str(rng.randint(-3, 3)),
    "CHAR(9) COLLATE utf8mb4_bin": partial(text, characters="ab ", longest=9),
    "TEXT CHARACTER SET utf16": partial(text, characters="xé日", longest=30),
}
TYPES: dict[str, Make] = {**COLUMNS, **_MORE}
"""How a value of each type is made, as SQL."""
_NAMES = ("a", "b", "c", "d", "e", "f", "select", "with space", "Ünicode", "UPPER")
_TABLES = ("t1", "t2", "t3")


@dataclass(slots=True)
class _Table:
    name: str
    columns: dict[str, str] = field(default_factory=dict)
    """The types of the columns besides `id`, by name."""
    last_id: int = 0
    unique: bool = False
    """Has a unique key beside which a primary key may come and go."""


class Workload:
    """Runs statements in one database of a server; what the server refuses has not happened.

    Args:
        seed: of the random numbers.
        connection: with the database as its default.
    """

    def __init__(self, seed: int, connection: Connection[pymysql.cursors.Cursor]) -> None:
        self._random = Random(seed)
        self._cursor = connection.cursor()
        self._tables: dict[str, _Table] = {}
        self._run("SET sql_mode = '', time_zone = '+00:00'")

    def set_up(self, rows: int) -> None:
        """Makes tables with rows."""
        self._run("CREATE TABLE marker (id INT PRIMARY KEY)")
        self._run("INSERT INTO marker VALUES (0)")
        for name in _TABLES:
            self._create(name)
            for _ in range(rows):
                self._insert(self._tables[name])

    def change(self, steps: int) -> None:
        """Changes rows, in transactions of one or several statements, and now and then a definition."""
        for _ in range(steps):
            if self._random.random() < 0.25:
                self._change_definition()
            else:
                self._change_rows()

    def end(self) -> None:
        """The mark behind everything."""
        self._run("INSERT INTO marker VALUES (1)")

    def _run(self, statement: str) -> bool:
        try:
            self._cursor.execute(statement)
        except pymysql.MySQLError:
            return False
        return True

    # -- rows

    def _change_rows(self) -> None:
        statements = self._random.choice((1, 1, 1, 3))
        if statements > 1:
            self._run("BEGIN")
        for _ in range(statements):
            table = self._random.choice(list(self._tables.values()))
            self._random.choice((self._insert, self._insert, self._update, self._delete))(table)
        if statements > 1:
            self._run(self._random.choice(("COMMIT", "COMMIT", "ROLLBACK")))

    def _insert(self, table: _Table) -> None:
        table.last_id += 1
        values = [str(table.last_id), *(self._value(kind) for kind in table.columns.values())]
        names = ", ".join(f"`{name}`" for name in ("id", *table.columns))
        self._run(f"INSERT INTO {table.name} ({names}) VALUES ({', '.join(values)})")

    def _update(self, table: _Table) -> None:
        if not table.columns:
            return
        name, kind = self._random.choice(list(table.columns.items()))
        self._run(f"UPDATE {table.name} SET `{name}` = {self._value(kind)} {self._some(table)}")

    def _delete(self, table: _Table) -> None:
        self._run(f"DELETE FROM {table.name} {self._some(table)}")

    def _some(self, table: _Table) -> str:
        return f"WHERE id BETWEEN {(first := self._random.randint(0, table.last_id))} AND {first + 2} ORDER BY id"

    def _value(self, kind: str) -> str:
        return "NULL" if self._random.random() < 0.15 else TYPES[kind](self._random)

    # -- definitions

    def _change_definition(self) -> None:
        table = self._random.choice(list(self._tables.values()))
        changes: tuple[Callable[[_Table], None], ...] = (
            *(self._add, self._add, self._drop, self._modify, self._rename, self._rename_table, self._recreate),
            *(self._truncate, self._add_key, self._convert, self._set_default),
        )
        self._random.choice(changes)(table)

    def _create(self, name: str) -> None:
        table = _Table(
            name, {column: self._kind() for column in self._random.sample(_NAMES, self._random.randint(3, 8))}
        )
        columns = "".join(f", `{column}` {self._definition(kind)}" for column, kind in table.columns.items())
        key = self._random.choice((", PRIMARY KEY (id)", ", PRIMARY KEY (id)", "", ", UNIQUE (id)"))
        if self._run(f"CREATE TABLE {name} (id INT NOT NULL{columns}{key}) CHARACTER SET utf8mb4"):
            table.unique = "UNIQUE" in key
            self._tables[name] = table

    def _kind(self) -> str:
        return self._random.choice(list(TYPES))

    def _definition(self, kind: str) -> str:
        required = self._random.random() < 0.2 and not kind.startswith(_OFTEN_ZERO)
        return f"{kind} NOT NULL" if required else kind

    def _place(self, table: _Table) -> str:
        names = [f" AFTER `{name}`" for name in ("id", *table.columns)]
        return self._random.choice(("", "", " FIRST", *names))

    def _add(self, table: _Table) -> None:
        name, kind = self._random.choice(_NAMES), self._kind()
        if self._run(f"ALTER TABLE {table.name} ADD COLUMN `{name}` {self._definition(kind)}{self._place(table)}"):
            table.columns[name] = kind

    def _drop(self, table: _Table) -> None:
        name = self._random.choice(_NAMES)
        if self._run(f"ALTER TABLE {table.name} DROP COLUMN `{name}`"):
            del table.columns[name]

    def _modify(self, table: _Table) -> None:
        name, kind = self._random.choice(_NAMES), self._kind()
        place = self._place(table) if name.islower() else ""  # Debezium stops where a name with capitals moves
        if self._run(f"ALTER TABLE {table.name} MODIFY `{name}` {self._definition(kind)}{place}"):
            table.columns[name] = kind

    def _rename(self, table: _Table) -> None:
        old, new = self._random.sample(_NAMES, 2)
        kind = table.columns.get(old)
        if kind and self._run(f"ALTER TABLE {table.name} CHANGE `{old}` `{new}` {kind}"):
            del table.columns[old]
            table.columns[new] = kind

    def _rename_table(self, table: _Table) -> None:
        name = self._random.choice((*_TABLES, "t4"))
        if self._run(f"RENAME TABLE {table.name} TO {name}"):
            del self._tables[table.name]
            table.name = name
            self._tables[name] = table

    def _recreate(self, table: _Table) -> None:
        self._run(f"DROP TABLE {table.name}")
        del self._tables[table.name]
        self._create(table.name)

    def _truncate(self, table: _Table) -> None:
        self._run(f"TRUNCATE TABLE {table.name}")

    def _add_key(self, table: _Table) -> None:
        if table.unique:  # where the primary key goes, Debezium forgets the other one
            return
        self._run(f"ALTER TABLE {table.name} {self._random.choice(('DROP PRIMARY KEY', 'ADD PRIMARY KEY (id)'))}")

    def _convert(self, table: _Table) -> None:
        self._run(f"ALTER TABLE {table.name} CONVERT TO CHARACTER SET {self._random.choice(('latin1', 'utf8mb4'))}")

    def _set_default(self, table: _Table) -> None:
        name = self._random.choice(_NAMES)
        kind = table.columns.get(name)
        if kind is not None and kind.startswith(_DEFAULTS):
            self._run(f"ALTER TABLE {table.name} ALTER COLUMN `{name}` SET DEFAULT {TYPES[kind](self._random)}")
