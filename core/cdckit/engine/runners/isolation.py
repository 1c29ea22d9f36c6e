"""Finds the records that a table refuses when it is written: what was refused is read again, and committed in halves.

Only what the log tells is parted so. A snapshot is one batch, as a whole; marks among records keep them together, too.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

from cdckit.api.record import Record
from cdckit.engine.quarantine.faulty import FaultyRecords
from cdckit.errors import RowsRefusedError, TransformError

log = logging.getLogger("cdckit.runner")


class Isolation:
    """The search of one run.

    Args:
        faulty: takes what is found.
        sink: what the sink is called.
    """

    def __init__(self, faulty: FaultyRecords, sink: str) -> None:
        self._faulty = faulty
        self._sink = sink
        self._size = 0
        """So many records are committed at a time; 0: nothing is searched for."""
        self._given = 0
        self._suspects: Sequence[Record] = ()
        self._found: set[str] = set()

    @property
    def searches(self) -> bool:
        """Whether each part is to be committed by itself."""
        return self._size > 0

    def without_found(self, records: Sequence[Record]) -> Sequence[Record]:
        """The records, without those that were found."""
        if not self._found:
            return records
        return [record for record in records if record.position not in self._found]

    def parts(self, records: Sequence[Record], given: Sequence[Record]) -> Iterator[Sequence[Record]]:
        """Records in parts.

        Args:
            records: behind the transforms.
            given: those of the same batch as the source gave them.
        """
        size = self._size or len(records) or 1
        for at in range(0, len(records), size):
            part = records[at : at + size]
            self._given += len(part)
            places = {record.position for record in part}
            self._suspects = [record for record in given if record.position in places] if len(places) == 1 else ()
            yield part

    def committed(self) -> None:
        """The tables have all that was given."""
        self._given = 0

    def narrow(self, error: RowsRefusedError, *, whole: bool) -> None:
        """A commit was refused: has less committed at a time, or takes the only record of it for the one at fault.

        Args:
            error: what was said.
            whole: whether what was refused can only be written as a whole.

        Raises:
            RowsRefusedError: it cannot be parted.
            TransformError: the quarantine takes no more.
        """
        given, self._given = self._given, 0
        if given > 1 and not whole and self._size != 1:
            self._size = max(1, (self._size or given) // 2)
            return
        if whole or len(self._suspects) != 1:
            raise error
        [record] = self._suspects
        log.info("found by halves: the record of topic %s at position %s", record.topic, record.position)
        self._faulty.record_failed(record, "write", self._sink, TransformError(str(error)))
        self._faulty.seen(0)
        self._found.add(record.position)  # transforms may have changed the topic
        self._size = 0
