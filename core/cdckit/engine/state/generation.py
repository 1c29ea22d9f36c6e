"""The life of one of Spark's checkpoints, as the state notes it."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path

from cdckit.api.record import Offset
from cdckit.api.state_store import Json, StateStore
from cdckit.connector.damage import DAMAGE, reason_of
from cdckit.errors import StateError

NOTE = "spark"
"""The store's key of the note about the last Spark run."""

_FOLDER_NAME = re.compile(r"(?!\.+$)[A-Za-z0-9._-]{1,255}")


@dataclass(frozen=True, slots=True)
class Generation:
    """One checkpoint's life.

    Attributes:
        id: unique for all time, so that a table never takes a batch of one generation for one of another.
        start: the offset that its first batch begins at; None: where the source begins by itself.
        authority: whether its checkpoint, and not the store, knows how far the pipeline has come.
        place: where its checkpoint is; empty: in the pipeline's folder.
    """

    id: str
    start: Offset | None
    authority: bool
    place: str = ""

    def checkpoint(self, folder: Path) -> Path:
        """Its checkpoint, in the pipeline's folder."""
        return folder / "spark" / self.id


def keep(store: StateStore, generation: Generation) -> None:
    """Notes the generation of the last run."""
    store.put(NOTE, asdict(generation))


def noted(note: Json) -> Generation | None:
    """What the state notes of the last run; None: Spark has not run.

    Raises:
        StateError: it is damaged.
    """
    try:
        return None if note is None else _generation(**note)
    except DAMAGE as error:
        raise StateError(
            f"what the state keeps of the last run on Spark is damaged ({reason_of(error)}): {str(note)[:200]}; "
            "restore the state from a copy",
            number="CDC7106",
        ) from error


def _generation(id: str, start: Offset | None, authority: bool, place: str = "") -> Generation:
    if not (isinstance(id, str) and isinstance(start, dict | None) and isinstance(place, str)):
        raise TypeError("a part has another type")
    if _FOLDER_NAME.fullmatch(id) is None:
        raise ValueError(f"{id!r} is no folder's name")
    return Generation(id, start, authority, place)
