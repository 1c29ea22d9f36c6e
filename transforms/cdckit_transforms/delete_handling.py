"""What becomes of deletes and tombstones: today's one option, and the two of Debezium 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Mode = Literal["drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone"]
OldMode = Literal["drop", "rewrite", "none"]


@dataclass(frozen=True, slots=True)
class DeleteHandling:
    """What becomes of deletes and tombstones.

    Attributes:
        deletes: `drop` leaves them out; `null` leaves a record whose value is null but has the row's schema (so
            Debezium's own tombstones of `tombstone` are); `tombstone` leaves a record without value and schema;
            `rewrite` leaves the row as it was, and every row gets a field `__deleted`.
        keeps_tombstones: whether the tombstones that follow deletes stay.
    """

    deletes: Literal["drop", "null", "tombstone", "rewrite"]
    keeps_tombstones: bool

    @property
    def rewrites(self) -> bool:
        """Whether rows get a field `__deleted`."""
        return self.deletes == "rewrite"


HANDLING: dict[Mode, DeleteHandling] = {
    "drop": DeleteHandling("drop", keeps_tombstones=False),
    "tombstone": DeleteHandling("null", keeps_tombstones=False),
    "rewrite": DeleteHandling("rewrite", keeps_tombstones=False),
    "rewrite-with-tombstone": DeleteHandling("rewrite", keeps_tombstones=True),
    "delete-to-tombstone": DeleteHandling("tombstone", keeps_tombstones=False),
}


def old_handling(deletes: OldMode | None, drop_tombstones: bool | None) -> DeleteHandling:
    """What `delete.handling.mode` and `drop.tombstones` mean (Debezium 1; by default both drop)."""
    keeps = drop_tombstones is False
    if deletes == "rewrite":
        return DeleteHandling("rewrite", keeps_tombstones=keeps)
    return DeleteHandling("null" if deletes == "none" else "drop", keeps_tombstones=keeps)
