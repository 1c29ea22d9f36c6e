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


_PARTED = "PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (2), PARTITION p1 VALUES LESS THAN MAXVALUE)"
_BOUNDED = "PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (2), PARTITION p1 VALUES LESS THAN (9))"
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
        behind=_PARTED,
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


def untold(kinds: Mapping[str, Kind]) -> set[str]:
    """The tables that a mirror reads anew."""
    return {name + end for name, kind in kinds.items() for end in kind.untold}


UNTOLD = untold(KINDS)
PARTITIONS: Mapping[str, Kind] = {
    "emptied": KINDS["partitioned"],
    "cut": _kind(
        "UPDATE T! SET a = 10 WHERE id = 1; ALTER TABLE T! DROP PARTITION p0;"
        "UPDATE T! SET id = 5 WHERE id = 2; INSERT INTO T! VALUES (1, 4, 'four')",
        ChangeKind.TRUNCATE_TABLE,
        untold=("",),
        behind=_PARTED,
    ),
    "exchanged": _kind(
        "ALTER TABLE T!_one REMOVE PARTITIONING; DELETE FROM T!_one WHERE id > 1; UPDATE T!_one SET b = 'other';"
        "ALTER TABLE T! EXCHANGE PARTITION p0 WITH TABLE T!_one;"
        "INSERT INTO T! VALUES (4, 4, 'four'); UPDATE T!_one SET a = 10 WHERE id = 1",
        ChangeKind.TRUNCATE_TABLE,
        untold=("", "_one"),
        behind=_PARTED,
        more=("_one",),
    ),
    "arranged": _kind(
        "ALTER TABLE T! REORGANIZE PARTITION p1 INTO (PARTITION p1 VALUES LESS THAN (3), PARTITION p2 VALUES LESS THAN"
        " (9)); ALTER TABLE T! ADD PARTITION (PARTITION p3 VALUES LESS THAN (99)); ALTER TABLE T! REBUILD PARTITION p1;"
        "ALTER TABLE T! PARTITION BY HASH (id) PARTITIONS 4; ALTER TABLE T! COALESCE PARTITION 2;"
        "UPDATE T! SET a = 10 WHERE id = 1; ALTER TABLE T! REMOVE PARTITIONING; INSERT INTO T! VALUES (4, 4, 'four')",
        behind=_BOUNDED,
    ),
}
"""What happens to partitions: rows that the log tells, of the last one, and rows that it does not tell."""
CONVERTED: Mapping[str, Kind] = {
    "detached": _kind(
        "ALTER TABLE T! CONVERT PARTITION p0 TO TABLE T!_out; UPDATE T!_out SET b = 'ONE';"
        "INSERT INTO T! VALUES (4, 4, 'four')",
        ChangeKind.TRUNCATE_TABLE,
        untold=("", "_out"),
        behind=_PARTED,
    ),
    "attached": _kind(
        "ALTER TABLE T!_in REMOVE PARTITIONING; UPDATE T!_in SET id = id + 10;"
        "ALTER TABLE T! CONVERT TABLE T!_in TO PARTITION p2 VALUES LESS THAN (99);"
        "UPDATE T! SET b = 'ELEVEN' WHERE id = 11; INSERT INTO T! VALUES (4, 4, 'four')",
        ChangeKind.TRUNCATE_TABLE,
        ChangeKind.DROP_TABLE,
        untold=("",),
        behind=_BOUNDED,
        more=("_in",),
    ),
}
"""MariaDB's, by which a partition becomes a table, or a table a partition."""
