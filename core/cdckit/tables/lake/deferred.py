"""Changes of a mirror that wait beside it, in a table of their own, until they are merged together.

A merge writes files anew that hold rows of the keys at hand; an append writes the changes alone. So a mirror may be
brought up to date every few minutes, while each batch is safe at once, and can be read with those that wait
(`cdckit_delta.reading`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterator, Sequence, Set
from typing import TYPE_CHECKING

import pyarrow as pa

from cdckit.api.names_text import names_in, names_text
from cdckit.tables.fitted_rows import fitted
from cdckit.tables.lake.pyarrow_rows import schema_of
from cdckit.tables.lake.target import LakeTarget
from cdckit.tables.layout import ABSENT, OP
from cdckit.tables.target import BatchId, Columns

if TYPE_CHECKING:
    from cdckit.tables.made_tables import MadeTables
    from cdckit.tables.marks import Mark

SUFFIX = "~changes"
"""What the place of the waiting changes has behind the mirror's name; no topic's own folder ends so."""
MARKS = {OP: "string", ABSENT: "string"}
"""The columns of changes beside the table's."""
KEY = "key"
"""The note of the columns that identify a row."""


class DeferredChanges:
    """Those of one mirror.

    Args:
        target: the mirror.
        interval_ms: how long they wait; 0: none are to wait any more, and what does is merged with the next change.
    """

    def __init__(self, target: LakeTarget, interval_ms: int) -> None:
        self._side = target.beside(SUFFIX)
        self.takes_more = bool(interval_ms)
        self._seconds = interval_ms / 1000
        self._since = -math.inf
        """When there were changes first; in the beginning some may wait for longer than this process is there."""
        self._waiting: bool | None = None
        self._seen = False

    @property
    def waiting(self) -> bool:
        """Whether there are any."""
        if self._waiting is None:
            self._seen = self._side.exists()
            self._waiting = self._seen and self._side.has_rows
        return self._waiting

    def require(self, made: MadeTables, marks: Sequence[Mark], asked: Collection[str]) -> None:
        """Makes sure that those which are known to wait are there, or that all rows are told anew.

        Args:
            made: remembers whose changes wait.
            marks: what comes with the next rows.
            asked: the source tables that are to be read again.

        Raises:
            SinkError: they are gone.
        """
        if not self.waiting and not self._side.exists():
            made.require_told(self._side, self._kept_as, marks, asked)

    def look_for_them(self, made: MadeTables, marks: Sequence[Mark], asked: Collection[str]) -> bool:
        """Whether the place where they waited has gone meanwhile, or is to be looked at anew.

        Raises:
            SinkError: some waited there.
        """
        if not self._seen or self._side.is_there():
            return False
        if self._waiting:
            made.require_told(self._side, self._kept_as, marks, asked)
        return True

    def remember(self, made: MadeTables, sources: Set[str], marks: Sequence[Mark]) -> None:
        """Has it remembered whether any wait.

        Args:
            made: remembers it.
            sources: whose changes have come.
            marks: what came with these.
        """
        made.waits(self._kept_as, sources, marks, waiting=self.waiting)

    @property
    def _kept_as(self) -> str:
        return f"{self._side.topic}{SUFFIX}"

    @property
    def due(self) -> bool:
        """Whether they have waited long enough."""
        return bool(self._waiting) and time.monotonic() - self._since >= self._seconds

    def version_of(self, application: str) -> int | None:
        """The number of the last batch of an application that is here."""
        if not self.takes_more and not self.waiting:
            return None
        return self._side.version_of(application)

    def takes(self, columns: Columns) -> bool:
        """Whether changes with these columns can wait with those that do."""
        return not self.waiting or self._side.columns() == {**columns, **MARKS}

    def append(self, changes: pa.Table, columns: Columns, key: Sequence[str], batch: BatchId) -> None:
        """Takes the changes of a batch, in one commit."""
        wanted = {**columns, **MARKS}
        if not self._side.exists():
            self._side.create(wanted, {})
        elif self._side.columns() != wanted:
            self._side.replace(schema_of(wanted).empty_table(), BatchId(f"{batch.application}/columns", 0))
        self._seen = True
        if self._side.notes().get(KEY) != names_text(key):
            self._side.note({KEY: names_text(key)})
        if not self.waiting:
            self._since = time.monotonic()
        self._side.append(changes, batch)
        self._waiting = True

    def changes(self, columns: Columns) -> pa.Table:
        """All that wait, by the columns that the mirror has now."""
        schema = schema_of({**columns, **MARKS})
        return pa.Table.from_batches(list(self._fitted(schema)), schema)

    def _fitted(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        for batch in self._side.scan(self._side.schema().names):
            yield pa.record_batch(fitted(batch, schema, {}, frozenset()))

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that identify a row."""
        return key_in(self._side.notes().get(KEY, ""))

    @property
    def version(self) -> int:
        """A number that grows with each batch."""
        return self._side.version

    def clear(self, application: str) -> None:
        """Forgets them, which the mirror has now."""
        self._side.clear(BatchId(f"{application}/cleared", self.version))
        self._waiting = False

    def maintain(self) -> None:
        """Puts small files together, and forgets versions and files of what was merged long ago."""
        if self._side.exists():
            self._side.maintain()


def key_in(note: str) -> tuple[str, ...]:
    """The columns that the note `KEY` names."""
    return tuple(names_in(note))
