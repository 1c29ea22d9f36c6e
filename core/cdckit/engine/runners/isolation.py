"""Finds the records that a table refuses when it is written: what was refused is read again, and committed in halves.

Only what the log tells is parted so. A snapshot is one batch, as a whole; marks among records keep them together, too.
Nor is what was begun at another server, or is with rows of chunks, where the sink can name the records at fault: parts
of it would be there twice.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

from cdckit.api.record import Record
from cdckit.engine.quarantine.contents import key_of
from cdckit.engine.quarantine.faulty import FaultyRecords
from cdckit.engine.runners.read_chunks import is_of_chunk
from cdckit.errors import RowsRefusedError, TransformError
from cdckit.tables.refused import RowsFoundError

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
        self._named: dict[str, RowsRefusedError] = {}
        self._rows: dict[str, Record] = {}
        """The rows of chunks since an offset was saved, by their positions."""
        self._found_rows: dict[str, bool] = {}
        """By their keys those that were found, which come again elsewhere in the log; and whether they have."""

    @property
    def searches(self) -> bool:
        """Whether each part is to be committed by itself."""
        return self._size > 0

    def end_search(self) -> None:
        """Nothing is searched for until a commit is refused again."""
        self._size = 0

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

    def comes(self, given: Sequence[Record], rows: Sequence[Record]) -> None:
        """Takes what tables have named, and knows again what was found among rows of chunks, of what the source gives.

        Args:
            given: a batch's records.
            rows: those among them that are rows of chunks.

        Raises:
            TransformError: the quarantine takes no more.
        """
        for record in given if self._named else ():
            if (error := self._named.pop(record.position, None)) is not None:
                self._take(record, error)
        self._rows.update((row.position, row) for row in rows)
        for row in rows if self._found_rows else ():
            if (key := key_of(row)) in self._found_rows:
                self._found_rows[key] = True
                self._found.add(row.position)

    def name(self, error: RowsFoundError) -> None:
        """A table has said which records it refuses: those of the log are taken when they come again.

        Raises:
            TransformError: the quarantine takes no more.
        """
        rows, self._rows, self._given = self._rows, {}, 0
        for position, said in error.reasons.items():
            if position in rows:
                self._take(rows[position], RowsRefusedError(said))
            else:
                self._named[position] = RowsRefusedError(said)

    def committed(self) -> None:
        """The tables have all that was given."""
        self._given = 0

    def saved(self) -> None:
        """Nothing that was given comes again."""
        self._rows = {}
        self._found_rows = {key: came for key, came in self._found_rows.items() if not came}

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
        self._take(record, error)
        self._size = 0

    def _take(self, record: Record, error: RowsRefusedError) -> None:
        if is_of_chunk(record):
            if not (key := key_of(record)):
                raise error  # it would be refused again, elsewhere in the log, whenever its chunk is read
            self._found_rows[key] = False
        self._faulty.record_failed(record, "write", self._sink, TransformError(str(error)))
        self._faulty.seen(0)
        self._found.add(record.position)  # transforms may have changed the topic
