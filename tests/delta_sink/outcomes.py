"""What mirrors come to once all kinds of changes have happened, under each value of `schema.evolution`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from cdckit.tables.behavior import ChangeKind, EvolutionMode
from delta_sink.kinds import CONVERTED, KINDS, PARTITIONS, UNTOLD, Kind, untold
from delta_sink.played import Commands, Outcome
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql_family import SQLServer

FIRST = [(1, 1, "one"), (2, 2, "two"), (3, 3, "three")]
"""The rows of most tables before the change."""
_UNFOLLOWED = frozenset({"retyped", "rounded", "moved_away", "swapped", "swapped_two", "partitioned"})
_IGNORED: Mapping[str, Sequence[tuple[Any, ...]]] = {
    "added": [*FIRST, (4, 4, "four")],
    "added_default": [*FIRST, (4, None, None)],
    "dropped": [(1, 10, None), *FIRST[1:], (4, 4, None)],
    "renamed": [(1, 1, "ONE"), *FIRST[1:], (4, 4, "four")],
    "widened": [(1, None, "one"), *FIRST[1:]],
    "retyped": [(1, None, "one"), *FIRST[1:], (4, 4, "four")],
    "truncated": [*FIRST, (4, 4, "four")],
    "partitioned": [*FIRST, (4, 4, "four")],
    "gone": FIRST[1:],
    "moved": FIRST,
    "moved_away": [(1, 10, "one"), (4, 4, "four")],
    "anew": [*FIRST, (None, None, None)],
    "same_anew": [*FIRST, (4, 4, "four")],
}
OUTCOMES: Mapping[EvolutionMode, Outcome] = {
    "try_evolve": Outcome(
        _UNFOLLOWED,
        {
            "retyped": [(1, None, "one"), (2, 2, "two"), (3, 3, "three"), (4, 4, "four")],
            "moved_away": [(1, 10, "one"), (4, 4, "four")],
        },
    ),
    "lenient": Outcome(
        _UNFOLLOWED | {"dropped", "renamed", "moved", "truncated", "gone", "anew", "same_anew"},
        {
            "dropped": [(1, 10, None), (2, 2, "two"), (3, 3, "three"), (4, 4, None)],
            "renamed": [(1, 1, None, "ONE"), (2, 2, "two", None), (3, 3, "three", None), (4, 4, None, "four")],
            "truncated": [*FIRST, (4, 4, "four")],
            "same_anew": [*FIRST, (4, 4, "four")],
            "moved": FIRST,
            "gone": FIRST[1:],
            "anew": [*((*row, None) for row in FIRST), (None, None, None, "x")],
        },
    ),
    "ignore": Outcome(frozenset({*_IGNORED, "rounded", "swapped", "swapped_two"}), _IGNORED),
}
"""Of the modes that never stop: what cannot be followed leaves rows as they were; what has no place is null."""
HALVES: Sequence[Set[ChangeKind]] = (
    {
        ChangeKind.ADD_COLUMN, ChangeKind.DROP_COLUMN, ChangeKind.ALTER_COLUMN_TYPE, ChangeKind.ALTER_KEY,
        ChangeKind.CREATE_TABLE, ChangeKind.DROP_TABLE,
    },
    {ChangeKind.RENAME_COLUMN, ChangeKind.RENAME_TABLE, ChangeKind.COMMENT, ChangeKind.TRUNCATE_TABLE},
)  # fmt: skip
"""All kinds, for `schema.evolution.include` and `schema.evolution.exclude`."""
_TABLES: Mapping[str, Set[ChangeKind]] = {
    **{name: kind.kinds for name, kind in KINDS.items()},
    "moved": {ChangeKind.DROP_TABLE},
    "moved_away": {ChangeKind.RENAME_TABLE},
    "swapped": {ChangeKind.RENAME_TABLE},
    "swapped_two": {ChangeKind.RENAME_TABLE},
}
"""The tables that there are, each with the kinds of what happens to it."""


def where_left_out(mode: EvolutionMode, chosen: Set[ChangeKind]) -> tuple[Commands, Outcome]:
    """What stops, and what the tables come to, where the mode holds for some kinds and the others are left out."""
    concerned = {table for table, kinds in _TABLES.items() if kinds <= chosen}
    stopping = concerned if mode == "exception" else concerned & UNTOLD
    commands = {("resnapshot" if table in UNTOLD else "schema accept", table) for table in stopping}
    left = OUTCOMES["ignore"].unequal - concerned
    return commands, Outcome(left, {table: rows for table, rows in _IGNORED.items() if table in left})


def of_partitions(server: SQLServer, mode: EvolutionMode) -> tuple[Mapping[str, Kind], Commands]:
    """What a server can do to partitions, and the commands that it takes to go on."""
    converts = isinstance(server, MariaDBServer)
    kinds = {**PARTITIONS, **(CONVERTED if converts else {})}
    accepted = {"attached_in"} if converts and mode == "exception" else set()
    return kinds, {*(("resnapshot", table) for table in untold(kinds)), *(("schema accept", one) for one in accepted)}
