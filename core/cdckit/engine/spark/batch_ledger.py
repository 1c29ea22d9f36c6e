"""The ledger of a run on Spark, batch by batch: kept before Spark notes that a batch is done."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cdckit.api.record import Offset
from cdckit.api.state_store import Json
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.ledger.keeper import split_ledger_of
from cdckit.engine.ledger.marked import Marked
from cdckit.engine.spark.asked_log import AskedLog
from cdckit.engine.spark.ledger_inbox import LedgerInbox, Part, steps_of
from cdckit.engine.state.generation import Generation
from cdckit.engine.state.ledger_file import LedgerFiles
from cdckit.engine.state.spark_checkpoint import Folder, planned_end
from cdckit.errors import StateError


class BatchLedger:
    """That of one checkpoint.

    A batch that comes again begins where it began before: so it counts once, wherever the run was killed.

    Args:
        pipeline: what runs.
        generation: the checkpoint that counts the batches.
        checkpoint: where that is.
        shown: where it is shown to commands, if it stands elsewhere.
        values: the ledger that the state has.
        saved: the offset that the pipeline had come to.
        host: the driver's address for tasks on other machines; None where they run on this one.
        tables: whether the sink keeps tables.
        mirrors: whether these follow what happens to the source's.
        anew: whether the log is lost, and all rows are read again.

    Raises:
        StateError: what is kept of it is damaged.
    """

    def __init__(
        self,
        pipeline: ResolvedPipeline,
        generation: Generation,
        checkpoint: Folder,
        shown: Path | None,
        values: Mapping[str, Json],
        saved: Offset | None,
        host: str | None,
        *,
        tables: bool,
        mirrors: bool,
        anew: bool,
    ) -> None:
        self._generation, self._checkpoint = generation, checkpoint
        self._application = f"{pipeline.name}/{generation.id}"
        self._files = LedgerFiles(checkpoint, shown, values)
        log = AskedLog(pipeline)
        self._ledger = split_ledger_of(pipeline, self._files, log, saved, tables=tables, mirrors=mirrors)
        self._anew = anew
        if anew:
            self._ledger.begin_anew()
        self._at: Offset | None = saved
        self._clean = True
        """Whether the ledger is as it was at that offset."""
        self._done: tuple[int, Offset] | None = None
        pipeline.folder.mkdir(parents=True, exist_ok=True)
        self.inbox = LedgerInbox(host, lambda: self._ledger.known, pipeline.folder)

    def begins(self, batch: int) -> None:
        """A batch is delivered, be it once more.

        Raises:
            StateError: the checkpoint, or what is kept, cannot be read.
        """
        start = self._start(batch)
        if not self._clean or start != self._at:
            self._ledger.load(start)
            if self._anew:
                self._ledger.begin_anew()
        self._at, self._clean = start, False

    def ends(self, batch: int) -> None:
        """The sink has the batch, or gets it next: keeps what goes with it; nothing where that was done.

        Raises:
            StateError: a task's sums are missing, or they cannot be kept.
        """
        if self._done is not None and self._done[0] == batch:
            return
        end = planned_end(self._checkpoint, batch)
        ends: list[Marked] = []
        for part in self._parts(batch, end):
            ends += self._ledger.take_steps(steps_of(part))
        self._ledger.saving_whole(end, self._application, batch, ends)
        self._files.write(self._ledger.number)
        self._reached(batch, end)

    def passes_over(self, batch: int) -> None:
        """The sink has the batch already: it is not read again, and what goes with it was kept before."""
        end = planned_end(self._checkpoint, batch)
        self._ledger.load(end)
        self._reached(batch, end)

    def _reached(self, batch: int, end: Offset) -> None:
        self._at, self._clean, self._done, self._anew = end, True, (batch, end), False
        self.inbox.forget()

    def _start(self, batch: int) -> Offset | None:
        if self._done is not None and self._done[0] == batch - 1:
            return self._done[1]
        self._done = None
        return self._generation.start if batch == 0 else planned_end(self._checkpoint, batch - 1)

    def _parts(self, batch: int, end: Offset) -> list[Part]:
        parts = self.inbox.whole(end)
        if parts is None and end == self._at:
            return []  # nothing lies between
        if parts is None:
            raise StateError(
                f"the ledger lacks what tasks have read of batch {batch}: the next start repeats it", number="CDC7109"
            )
        return parts

    def close(self) -> None:
        """Lets go of all resources."""
        self.inbox.close()
        self._ledger.close()
