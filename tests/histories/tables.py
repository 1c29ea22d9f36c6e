"""The tables of a history as its generator knows them, and their SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from differential.workload import TYPES
from mysql.decoding.random_values import Make

NAMES = ("a", "b", "c", "d", "select", "with space", "Ünicode", "UPPER")
"""What columns beside the fixed ones are called."""
FIXED = ("id", "word", "v")
"""The columns of every table. Who changes a definition counts up `v` in all rows, so that they are told of anew."""
KEYS: dict[str, tuple[str, ...]] = {
    "PRIMARY KEY (id)": ("id",),
    "PRIMARY KEY (id, word)": ("id", "word"),
    "PRIMARY KEY (word)": ("word",),
    "UNIQUE by_id (id)": ("id",),
    "": (),
}
PARTITIONS = (
    "PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20), "
    "PARTITION p2 VALUES LESS THAN (30), PARTITION p3 VALUES LESS THAN MAXVALUE)"
)
GREATEST = 40
"""Rows have ids up to this one."""

_WORDS = ("w", "W", "é", "ß", "日", "x y", "''", "\\\\")
_ROUNDED = ("FLOAT",)
"""A snapshot shows six digits of these. Tests of their own have them: with them all seeds would be other histories."""
_WITHOUT_DEFAULT = ("TEXT", "BLOB", "JSON", "GEOMETRY", "POINT")

VALUES: dict[str, Make] = {**TYPES, "ENUM('a','b','it''s','z')": lambda chance: str(chance.randint(1, 4))}
"""How a value of each type is made, as SQL."""


def kinds_of_columns(*, simple: bool = False) -> list[str]:
    """The types of columns; `simple` leaves out what cannot have a default."""
    left_out = (*_ROUNDED, *(_WITHOUT_DEFAULT if simple else ()))
    return [kind for kind in VALUES if not any(text in kind for text in left_out)]


@dataclass(slots=True)
class Table:
    """A table.

    Attributes:
        name: its name.
        columns: the types of the columns beside the fixed ones, by name.
        key: the clause that declares its key.
        required: the names of columns that take no null.
        partitioned: whether it has partitions.
        plain: whether its definition may change.
    """

    name: str
    columns: dict[str, str] = field(default_factory=dict)
    key: str = "PRIMARY KEY (id)"
    required: set[str] = field(default_factory=set)
    partitioned: bool = False
    plain: bool = True

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of its key."""
        return KEYS[self.key]

    @property
    def touched(self) -> str:
        """The statement that has every row told of."""
        return f"UPDATE `{self.name}` SET v = v + 1"

    def created(self) -> str:
        """The statement that makes it."""
        columns = "".join(f", `{name}` {kind}" for name, kind in self.columns.items())
        key = f", {self.key}" if self.key else ""
        partitions = f" {PARTITIONS}" if self.partitioned else ""
        return (
            f"CREATE TABLE `{self.name}` (id INT NOT NULL, word VARCHAR(20) NOT NULL DEFAULT 'w', "
            f"v INT NOT NULL DEFAULT 0{columns}{key}) CHARACTER SET utf8mb4{partitions}"
        )

    def inserted(self, chance: Random, rows: int, verb: str = "INSERT", leaving_out: Sequence[str] = ()) -> str:
        """A statement that puts rows, of which all have a value for each column but those left out."""
        names = [name for name in (*FIXED, *self.columns) if name not in leaving_out]
        listed = ", ".join(f"`{name}`" for name in names)
        values = ", ".join(self._row(chance, names) for _ in range(rows))
        return f"{verb} INTO `{self.name}` ({listed}) VALUES {values}"

    def _row(self, chance: Random, names: Sequence[str]) -> str:
        identifier = chance.randint(1, GREATEST)
        own = {"id": str(identifier), "word": f"'{chance.choice(_WORDS)}{identifier}'", "v": "0"}
        return f"({', '.join(own.get(name) or self.value(chance, name) for name in names)})"

    def value(self, chance: Random, column: str) -> str:
        """A value of a column as SQL."""
        if column == "v":
            return str(chance.randint(0, 9))
        if column == "word":
            return f"'{chance.choice(_WORDS)}{chance.randint(1, GREATEST)}'"
        if column == "id":
            return str(chance.randint(1, GREATEST))
        null = chance.random() < 0.15 and column not in self.required
        return "NULL" if null else VALUES[self.columns[column]](chance)

    def some(self, chance: Random) -> str:
        """A condition that a few rows fulfil."""
        first = chance.randint(1, GREATEST)
        return chance.choice((
            f"id = {first}",
            f"id BETWEEN {first} AND {first + chance.randint(1, 6)}",
            f"word LIKE 'w%{chance.randint(0, 9)}'",
            f"MOD(id, {chance.randint(3, 7)}) = 1",
        ))  # fmt: skip


def new_tables(chance: Random, most: int) -> dict[str, Table]:
    """The tables that a history begins with."""
    names = ["t1", *chance.sample(("t2", "free", "parts", "shards"), chance.randint(1, most - 1))]
    found: list[Table] = []
    for name in names:
        columns = new_columns(chance)
        if name == "parts":
            found += [Table(one, columns, partitioned=one == "parts", plain=False) for one in ("parts", "spare")]
        elif name == "shards":
            found += [Table(f"shard_{number}", dict(columns), plain=False) for number in (1, 2)]
        else:
            key = "" if name == "free" else chance.choice([key for key in KEYS if key])
            found.append(Table(name, columns, key))
    return {table.name: table for table in found}


def new_columns(chance: Random) -> dict[str, str]:
    """Columns beside the fixed ones."""
    names = chance.sample(NAMES, chance.randint(2, 5))
    return {name: chance.choice(kinds_of_columns()) for name in names}
