"""What a table does when its source's definition changes: followed, tried, left as it is, or refused.

The modes are those of Flink CDC: https://nightlies.apache.org/flink/flink-cdc-docs-stable/docs/core-concept/schema-evolution/
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Literal

EvolutionMode = Literal["evolve", "try_evolve", "lenient", "ignore", "exception"]


class ChangeKind(StrEnum):
    """What happened to a definition, or to a whole table."""

    ADD_COLUMN = "add.column"
    DROP_COLUMN = "drop.column"
    RENAME_COLUMN = "rename.column"
    ALTER_COLUMN_TYPE = "alter.column.type"
    ALTER_KEY = "alter.key"
    COMMENT = "comment"
    CREATE_TABLE = "create.table"
    DROP_TABLE = "drop.table"
    RENAME_TABLE = "rename.table"
    TRUNCATE_TABLE = "truncate.table"


class Action(Enum):
    """What is done about it."""

    FOLLOW = "follow"
    """The table follows; where it cannot, the pipeline stops."""
    TRY = "try"
    """The table follows; where it cannot, it stays as it is."""
    KEEP = "keep"
    """The table stays as it is, and takes of the rows what it has room for."""
    REFUSE = "refuse"
    """The pipeline stops."""


_KEPT_BY_LENIENT = frozenset(
    {
        ChangeKind.DROP_COLUMN,
        ChangeKind.RENAME_COLUMN,
        ChangeKind.CREATE_TABLE,
        ChangeKind.DROP_TABLE,
        ChangeKind.TRUNCATE_TABLE,
    }
)


@dataclass(frozen=True, slots=True)
class Behavior:
    """What the user has chosen.

    Attributes:
        mode: `schema.evolution`.
        include: the kinds of changes that it holds for; empty: all.
        exclude: kinds that are left alone besides.
    """

    mode: EvolutionMode = "evolve"
    include: frozenset[ChangeKind] = frozenset()
    exclude: frozenset[ChangeKind] = frozenset()

    def action(self, kind: ChangeKind) -> Action:
        """What is done about a change."""
        if kind in self.exclude or (self.include and kind not in self.include):
            return Action.KEEP
        if self.mode == "lenient":
            return Action.KEEP if kind in _KEPT_BY_LENIENT else Action.TRY
        return _ACTIONS[self.mode]

    @property
    def renames_beside(self) -> bool:
        """Whether a renamed column becomes a new one beside the old one, of which nothing is lost."""
        return self.mode == "lenient"


_ACTIONS = {
    "evolve": Action.FOLLOW,
    "try_evolve": Action.TRY,
    "ignore": Action.KEEP,
    "exception": Action.REFUSE,
}


def kinds_of(names: Collection[str]) -> frozenset[ChangeKind]:
    """Kinds by their names.

    Raises:
        ValueError: there is no such kind.
    """
    known = {str(kind) for kind in ChangeKind}
    for name in names:
        if name not in known:
            raise ValueError(f"'{name}' is no kind of change; there are {', '.join(sorted(known))}")
    return frozenset(map(ChangeKind, names))
