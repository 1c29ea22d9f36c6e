"""Each kind of change of a definition, on a table of its own: what happens at the source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cdckit.tables.behavior import ChangeKind

ROWS = "(1, 1, 'one'), (2, 2, 'two'), (3, 3, 'three')"
COLUMNS = "id INT PRIMARY KEY, a INT, b VARCHAR(20)"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind.

    Attributes:
        change: the statements; `T` stands for the table.
        kinds: what sinks call it.
        untold: the tables (by what stands behind the name of the first) that a mirror cannot follow by the log alone.
        columns: of the table before.
        rows: likewise.
        behind: what stands behind the columns.
        more: other tables' names' ends, which are made and filled likewise.
    """

    change: str
    kinds: frozenset[ChangeKind]
    untold: tuple[str, ...] = ()
    columns: str = COLUMNS
    rows: str = ROWS
    behind: str = ""
    more: tuple[str, ...] = ()

    def made(self, name: str) -> str:
        """The statements that make the tables."""
        tables = [name, *(f"{name}{end}" for end in self.more)]
        return "".join(
            f"CREATE TABLE {table} ({self.columns}) {self.behind};INSERT INTO {table} VALUES {self.rows};"
            for table in tables
        )

    def changed(self, name: str) -> str:
        """The statements of the change."""
        return self.change.replace("T!", name) + ";"


def _kind(change: str, *kinds: ChangeKind, **others: object) -> Kind:
    return Kind(change, frozenset(kinds), **others)  # type: ignore[arg-type]


KINDS: Mapping[str, Kind] = {
    "added": _kind(
        "ALTER TABLE T! ADD COLUMN c INT FIRST; UPDATE T! SET c = 10 WHERE id = 1;"
        "INSERT INTO T! VALUES (40, 4, 4, 'four')",
        ChangeKind.ADD_COLUMN,
    ),
    "added_default": _kind(
        "ALTER TABLE T! ADD COLUMN c INT NOT NULL DEFAULT 7 AFTER id; INSERT INTO T! (id) VALUES (4)",
        ChangeKind.ADD_COLUMN,
    ),
    "dropped": _kind(
        "ALTER TABLE T! DROP COLUMN b; UPDATE T! SET a = 10 WHERE id = 1; INSERT INTO T! VALUES (4, 4)",
        ChangeKind.DROP_COLUMN,
    ),
    "renamed": _kind(
        "ALTER TABLE T! RENAME COLUMN b TO word; UPDATE T! SET word = 'ONE' WHERE id = 1;"
        "INSERT INTO T! VALUES (4, 4, 'four')",
        ChangeKind.RENAME_COLUMN,
    ),
    "widened": _kind(
        "ALTER TABLE T! MODIFY a BIGINT; UPDATE T! SET a = 1 << 40 WHERE id = 1", ChangeKind.ALTER_COLUMN_TYPE
    ),
    "retyped": _kind(
        "ALTER TABLE T! MODIFY a VARCHAR(20); UPDATE T! SET a = 'I' WHERE id = 1;"
        "INSERT INTO T! VALUES (4, '4', 'four')",
        ChangeKind.ALTER_COLUMN_TYPE,
        untold=("",),
    ),
    "rounded": _kind(
        "ALTER TABLE T! MODIFY a DATETIME; INSERT INTO T! VALUES (4, '2024-01-02 03:04:05', 'four')",
        ChangeKind.ALTER_COLUMN_TYPE,
        untold=("",),
        columns="id INT PRIMARY KEY, a DATETIME(6), b VARCHAR(20)",
        rows="(1, '2024-01-02 03:04:05.6', 'one'), (2, '2024-01-02 03:04:05', 'two')",
    ),
    "rekeyed": _kind(
        "ALTER TABLE T! DROP PRIMARY KEY, ADD PRIMARY KEY (a); UPDATE T! SET id = 10 WHERE a = 1;"
        "DELETE FROM T! WHERE a = 2; UPDATE T! SET a = 30 WHERE a = 3; INSERT INTO T! VALUES (10, 4, 'four')",
        ChangeKind.ALTER_KEY,
    ),
    "commented": _kind(
        "ALTER TABLE T! COMMENT 'after', MODIFY a INT COMMENT 'how much'; INSERT INTO T! VALUES (4, 4, 'four')",
        ChangeKind.COMMENT,
    ),
    "moved": _kind(
        "RENAME TABLE T! TO T!_away; UPDATE T!_away SET a = 10 WHERE id = 1; INSERT INTO T!_away VALUES (4, 4, 'four')",
        ChangeKind.RENAME_TABLE,
        ChangeKind.DROP_TABLE,
        untold=("_away",),
    ),
    "swapped": _kind(
        "UPDATE T!_two SET b = 'other'; RENAME TABLE T! TO T!_x, T!_two TO T!, T!_x TO T!_two;"
        "DELETE FROM T! WHERE id = 1; INSERT INTO T! VALUES (4, 4, 'four'); INSERT INTO T!_two VALUES (5, 5, 'five')",
        ChangeKind.RENAME_TABLE,
        ChangeKind.DROP_TABLE,
        untold=("", "_two"),
        more=("_two",),
    ),
    "truncated": _kind("TRUNCATE TABLE T!; INSERT INTO T! VALUES (4, 4, 'four')", ChangeKind.TRUNCATE_TABLE),
    "partitioned": _kind(
        "ALTER TABLE T! TRUNCATE PARTITION p0; INSERT INTO T! VALUES (4, 4, 'four')",
        ChangeKind.TRUNCATE_TABLE,
        untold=("",),
        behind="PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (2), PARTITION p1 VALUES LESS THAN MAXVALUE)",
    ),
    "gone": _kind("DELETE FROM T! WHERE id = 1; DROP TABLE T!", ChangeKind.DROP_TABLE),
    "anew": _kind(
        "DROP TABLE T!; CREATE TABLE T! (k VARCHAR(10) PRIMARY KEY, a DATE); INSERT INTO T! VALUES ('x', '2024-01-02')",
        ChangeKind.DROP_TABLE,
        ChangeKind.CREATE_TABLE,
    ),
    "same_anew": _kind(
        f"DROP TABLE T!; CREATE TABLE T! ({COLUMNS}); INSERT INTO T! VALUES (4, 4, 'four')",
        ChangeKind.DROP_TABLE,
        ChangeKind.CREATE_TABLE,
    ),
}
"""By the name of the table; `T!` in the statements stands for it."""
UNTOLD = {name + end for name, kind in KINDS.items() for end in kind.untold}
"""The tables that a mirror reads anew."""
