"""The numbers of the batches in which a replay writes tables, kept in the state before anything of a batch is written.

Between a table's commit and the note that its records are no longer in quarantine a kill may come. The next replay
writes the same records once more as the batch of the same number, which a table that has it passes over.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from cdckit.api.state_store import StateStore
from cdckit.connector.damage import DAMAGE, reason_of
from cdckit.errors import StateError

KEPT_AS = "replay_batches"
"""The key of it in the state store."""


class ReplayBatches:
    """Those of one pipeline.

    Args:
        state: the pipeline's, held.

    Attributes:
        generation: tells the numbers of this state from those of another, or of one that was lost.
        number: the last one that was given.
        records: the quarantine's names of the records in that batch; none where it is done.

    Raises:
        StateError: what is kept is damaged.
    """

    def __init__(self, state: StateStore) -> None:
        self._state = state
        kept = state.get(KEPT_AS)
        try:
            self.generation = uuid.uuid4().hex if kept is None else str(kept["generation"])
            self.number = 0 if kept is None else int(kept["number"])
            self.records: list[str] = [] if kept is None else [str(name) for name in kept["records"]]
        except DAMAGE as error:
            raise StateError(
                f"what the state keeps of the batches of replays is damaged ({reason_of(error)}): {str(kept)[:200]}; "
                "restore the state from a copy"
            ) from error

    def begin(self, records: Sequence[str]) -> int:
        """Keeps that these records are written now, and gives the number of their batch."""
        self.number += 1
        return self.again(records)

    def again(self, records: Sequence[str]) -> int:
        """The same of records that are written in the place of those before, none of which a table has."""
        self.records = [*records]
        self._keep()
        return self.number

    def done(self) -> None:
        """None of them is in quarantine any more."""
        self.records = []
        self._keep()

    def _keep(self) -> None:
        kept = {"generation": self.generation, "number": self.number, "records": self.records}
        self._state.put(KEPT_AS, kept)
