"""The offset of a pipeline whose sink keeps it together with the records; the state then has a copy."""

from __future__ import annotations

import logging
import time
from typing import Any

from cdckit.api.record import Offset
from cdckit.api.sink import Transactions
from cdckit.api.state_store import Json, StateStore
from cdckit.connector.damage import DAMAGE, reason_of
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.state.made_for import KEPT_AS as MADE_FOR, MadeFor
from cdckit.engine.state.offset_owner import KEPT_AS, SINK, STATE
from cdckit.errors import SinkError, StateError

log = logging.getLogger("cdckit.runner")

_OFFSET = "offset"
_BATCH = "batch"
Batch = tuple[str, int]
"""What counts batches, where something does, and a batch's number."""


class SinkOffset:
    """Commits offsets by a sink's transactions.

    Args:
        transactions: the sink's, which is open.
        pipeline: what runs.

    Attributes:
        committed: the offset that the sink has.
    """

    def __init__(self, transactions: Transactions, pipeline: ResolvedPipeline) -> None:
        self.committed: Offset | None = None
        self._transactions = transactions
        self._pipeline = pipeline
        self._made_for = MadeFor.of(pipeline).to_json()
        self._begun: float | None = None
        self._batch: Batch | None = None

    def take_over(self, state: StateStore) -> bool:
        """Takes the sink's offset into the state, unless the state's counts.

        Returns:
            whether the state's has changed.

        Raises:
            SinkError: what the sink keeps cannot be read.
            StateError: it is not known which of the two counts.
        """
        found = self._transactions.committed()
        offset, made, _ = _read(found)
        local, owner = state.load_offset(), state.get(KEPT_AS)
        # The sink's transaction has records and offset together, so its offset is the true one; the state's copy is
        # behind after a crash. Only where a user said `cdc offsets keep`, or the pipeline was not exactly-once
        # meanwhile, the state's counts.
        taken = found is not None and owner != STATE and local != offset
        if taken:
            self._require_authority(owner, local)
            log.info("going on from the offset that the sink has, %s; the state had %s", offset, local)
            state.put(MADE_FOR, made)
            state.save_offset(offset)
        elif found is None and owner == SINK and local is not None:
            raise StateError(
                f"the sink has lost the offset of pipeline '{self._pipeline.name}', which it had, and the state "
                f"{self._pipeline.shown_state} may be behind it: `cdc offsets keep FILE` goes on from the state's, so "
                "that what was delivered last may be repeated",
                number="CDC7104",
            )
        return taken

    def _require_authority(self, owner: Json, local: Offset | None) -> None:
        if owner != SINK and local is not None:
            raise StateError(
                f"the sink has an offset of pipeline '{self._pipeline.name}', and the state "
                f"{self._pipeline.shown_state} has another one that was saved without it: `cdc offsets keep FILE` "
                "goes on from the state's; without the state folder, the sink's counts",
                number="CDC7104",
            )

    def own(self, state: StateStore) -> None:
        """Has the sink note the state's offset, and the state that it is the sink's from now on."""
        # First the sink, then the note that it owns the offset: a crash in between leaves two equal ones.
        self.committed = state.load_offset()
        self._commit(self.committed)
        if state.get(KEPT_AS) != SINK:
            state.put(KEPT_AS, SINK)

    def due(self, *, worthwhile: bool) -> bool:
        """Whether the transaction in hand is to end.

        Args:
            worthwhile: whether there is something in it, where it is not ended by time.
        """
        interval = self._transactions.interval_ms
        if interval is None:
            return worthwhile
        now = time.monotonic()
        if self._begun is None:
            self._begun = now
        return now - self._begun >= interval / 1000

    def has_batch(self, counted_by: str, number: int) -> bool:
        """Whether what was committed last has this batch: its number, and what counts the batches."""
        return self._batch is not None and self._batch[0] == counted_by and self._batch[1] >= number

    def commit(self, offset: Offset, batch: Batch | None = None) -> None:
        """Makes what was written visible, with the offset, and with the batch that it was where batches are counted.

        Raises:
            SinkError: as `Transactions.commit`.
        """
        self._commit(offset, batch)
        self.committed, self._batch = offset, batch
        self._begun = None

    def rollback(self) -> Offset | None:
        """Takes back what was written since; gives the offset to go on from.

        Raises:
            SinkError: as `Transactions.rollback`.
        """
        self._begun = None
        self.committed, _, self._batch = _read(self._transactions.rollback())
        return self.committed

    def _commit(self, offset: Offset | None, batch: Batch | None = None) -> None:
        counted = {} if batch is None else {_BATCH: batch}
        self._transactions.commit({_OFFSET: offset, MADE_FOR: self._made_for, **counted})


def _read(found: Any) -> tuple[Offset | None, Json, Batch | None]:
    try:
        if found is None:
            return None, None, None
        counted_by, number = found.get(_BATCH) or ("", -1)
        return found[_OFFSET], found[MADE_FOR], (str(counted_by), int(number))
    except DAMAGE as error:
        raise SinkError(
            f"what the sink keeps of the offset is damaged ({reason_of(error)}): {str(found)[:200]}", number="CDC4108"
        ) from error
