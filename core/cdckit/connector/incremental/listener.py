"""Hears what the log tells of a signal table or collection: signals, and the watermarks of chunks."""

from __future__ import annotations

import logging
from typing import Generic

from cdckit.connector.incremental.snapshot import Finished, IncrementalSnapshot, Row
from cdckit.connector.incremental.watermarks import CLOSE, OPEN
from cdckit.connector.signals.signal import WINDOW_CLOSE, WINDOW_OPEN, Signal, one_line

log = logging.getLogger("cdckit.snapshot")


class SignalListener(Generic[Row]):
    """Stands beside an incremental snapshot; whoever reads the log tells it of the rows of the signal table.

    Args:
        snapshot: does what signals say.
        place: the name of the table or collection, for messages.
        deletes_marks: whether a chunk ends where its first watermark is deleted
            (`incremental.snapshot.watermarking.strategy=insert_delete`).
        takes: whether signals are taken from there; watermarks always are.
    """

    def __init__(self, snapshot: IncrementalSnapshot[Row], place: str, *, deletes_marks: bool, takes: bool) -> None:
        self._snapshot = snapshot
        self._place = place
        self._deletes_marks = deletes_marks
        self._takes = takes

    def inserted(self, identifier: object, kind: object, data: object) -> Finished[Row] | None:
        """A row has come: what is to be given out before anything else, which for a signal is nothing; None goes on."""
        if kind == WINDOW_OPEN:
            self._snapshot.opens(str(identifier).removesuffix(OPEN))
            return None
        if kind == WINDOW_CLOSE:
            return self._passed(identifier, CLOSE)
        return self._signal(identifier, kind, data) if self._takes else None

    def deleted(self, identifier: object) -> Finished[Row] | None:
        """A row has gone: the chunk that ends there, if that was its mark."""
        return self._passed(identifier, OPEN) if self._deletes_marks else None

    def _passed(self, identifier: object, ending: str) -> Finished[Row] | None:
        text = str(identifier)
        if not text.endswith(ending) or not self._snapshot.waits_for(text.removesuffix(ending)):
            return None
        return self._snapshot.closed()

    def _signal(self, identifier: object, kind: object, data: object) -> Finished[Row]:
        try:
            self._snapshot.take(Signal.of(identifier, kind, data))
        except ValueError as error:
            log.warning("what came into %s is no signal: %s", self._place, one_line(error))
        return Finished()
