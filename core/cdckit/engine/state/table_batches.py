"""The numbers of batches of tables, kept in the state before anything of a batch is written.

Tables are written one by one, and a crash may come in between. So the state knows, for the saved offset, which batches
were begun behind it and how far each reached: whoever comes next tells the sink, which then knows of each table what
it has.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cdckit.api.record import Offset
from cdckit.api.state_store import Json, StateStore
from cdckit.connector.damage import DAMAGE, reason_of
from cdckit.errors import StateError
from cdckit.tables.direct import BegunBatch

KEPT_AS = "table_batches"
"""The key of it in the state store."""


@dataclass(slots=True)
class _Note:
    """What the state keeps.

    Attributes:
        generation: tells the numbers of this state from those of another, or of one that was lost.
        number: the last one that was given.
        starts: the saved offset behind which the batches were begun; and one that is to take its place, or has.
        begun: in order.
        end: where a batch ends that was planned as a whole and is to be read again if it was not finished.
    """

    generation: str
    number: int
    starts: list[Offset | None]
    begun: list[BegunBatch]
    end: Offset | None


class TableBatches:
    """Those of one pipeline.

    Args:
        state: the pipeline's, held.
        saved: the saved offset.
    """

    def __init__(self, state: StateStore, saved: Offset | None) -> None:
        self._state = state
        self._came = 0
        self._note = _read(state.get(KEPT_AS)) or _fresh()
        if saved not in self._note.starts:
            self._note.begun, self._note.end = [], None
        elif saved != self._note.starts[0]:
            self._forget_chunks()
        self._note.starts = [saved]

    @property
    def generation(self) -> str:
        """Unique for all time."""
        return self._note.generation

    @property
    def number(self) -> int:
        """The number of the last batch."""
        return self._note.number

    @property
    def begun(self) -> Sequence[BegunBatch]:
        """The batches that were begun behind the saved offset, in order."""
        return [*self._note.begun]

    @property
    def ends(self) -> Mapping[int, Offset]:
        """The offsets of those that end at one, by their numbers."""
        return {one.number: one.end for one in self._note.begun if one.end is not None}

    @property
    def planned_end(self) -> Offset | None:
        """Where the batch ends that was planned behind the saved offset and is not finished; None: there is none."""
        return self._note.end

    @property
    def unfinished(self) -> bool:
        """Whether tables may have something that lies behind the saved offset."""
        return bool(self._note.begun) or self._note.end is not None

    def plan(self, end: Offset) -> None:
        """Keeps that the next batch holds everything up to `end`."""
        self._note.end = end
        self._keep()

    def begin(
        self, reached: Mapping[str, str] | None, end: Offset | None = None, chunk_topics: Collection[str] = ()
    ) -> int:
        """Keeps that a batch is written now, and gives its number.

        Args:
            reached: by lane the position of its last record; None for one that was planned.
            end: the offset that it ends at, or see `BegunBatch`; None where none is known, or it was planned.
            chunk_topics: see `BegunBatch`.
        """
        self._note.number += 1
        upto = None if reached is None else dict(reached)
        self._note.begun.append(BegunBatch(self._note.number, upto, end, tuple(sorted(chunk_topics))))
        self._keep()
        return self._note.number

    def saving(self, offset: Offset, reached: Mapping[str, str]) -> None:
        """An offset is about to be saved, before which everything is written.

        Args:
            offset: the offset.
            reached: by lane the last position before it.
        """
        if self._beyond(reached):
            self._note.starts.append(offset)
            self._keep()

    def saved(self, offset: Offset | None, reached: Mapping[str, str]) -> None:
        """The offset is saved. Batches that reach beyond it, of a process that was killed, some tables have still."""
        planned = self._note.end is not None
        self._note.begun = [] if planned else self._beyond(reached)
        self._forget_chunks()
        self._note.starts, self._note.end = [offset], None
        if planned:
            self._keep()

    def _forget_chunks(self) -> None:
        """The saved offset is behind all chunks that tables have."""
        self._note.begun = [replace(one, chunk_topics=()) for one in self._note.begun]

    def came(self) -> None:
        """All that was begun has come before the offset that is saved next, whatever positions say."""
        self._came = self._note.number

    def comes_again(self) -> None:
        """What lies behind the saved offset is read anew, at whichever server: positions count until all has come."""
        self._came = 0

    def _beyond(self, reached: Mapping[str, str]) -> list[BegunBatch]:
        return [one for one in self._note.begun if one.number > self._came and _reaches_beyond(one, reached)]

    def delivered(self) -> None:
        """Nothing that was begun comes again; the offset stays as it is."""
        self._note.begun = []
        self._keep()

    def begin_anew(self) -> None:
        """What was planned can no longer be read: nothing that comes is part of a batch of before."""
        starts, self._note, self._came = self._note.starts, _fresh(), 0
        self._note.starts = starts
        self._keep()

    def _keep(self) -> None:
        note = self._note
        self._state.put(
            KEPT_AS,
            {
                "generation": note.generation,
                "number": note.number,
                "starts": note.starts,
                "begun": [_kept(one) for one in note.begun],
                "end": note.end,
            },
        )


def _fresh() -> _Note:
    return _Note(uuid.uuid4().hex, 0, [None], [], None)


def _read(kept: Json) -> _Note | None:
    if kept is None:
        return None
    try:
        begun = [_begun(*one) for one in kept["begun"]]
        return _Note(str(kept["generation"]), _number(kept["number"]), list(kept["starts"]), begun, kept["end"])
    except DAMAGE as error:
        raise StateError(
            f"what the state keeps of the batches of tables is damaged ({reason_of(error)}): {str(kept)[:200]}; "
            "restore the state from a copy"
        ) from error


def _number(value: Any) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{value} is no number")
    return value


def _kept(one: BegunBatch) -> tuple[Any, ...]:
    kept = one.number, one.reached, one.end
    return (*kept, one.chunk_topics) if one.chunk_topics else kept


def _begun(number: Any, reached: Any, end: Any = None, chunk_topics: Sequence[Any] = ()) -> BegunBatch:
    """As it is kept; older versions kept no end, and no topics."""
    if not isinstance(end, dict | None):
        raise TypeError(f"{end} is no offset")
    return BegunBatch(_number(number), _reached(reached), end, tuple(map(str, chunk_topics)))


def _reaches_beyond(batch: BegunBatch, reached: Mapping[str, str]) -> bool:
    ends = batch.reached
    return ends is not None and any(position > reached.get(lane, "") for lane, position in ends.items())


def _reached(value: Any) -> Mapping[str, str] | None:
    return None if value is None else {str(lane): str(position) for lane, position in value.items()}
