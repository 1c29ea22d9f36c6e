"""Where a topic's table lives, and what the process that has the rows does with it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

from arro3.core import RecordBatch, RecordBatchReader, Schema

from cdckit.tables.lake.data_files import DataFile, DataFiles
from cdckit.tables.refused import RowsFoundError
from cdckit.tables.segments import Scope
from cdckit.tables.target import BatchId, Target

if TYPE_CHECKING:
    import pyarrow as pa
    from arro3.core.types import ArrowArrayExportable, ArrowStreamExportable

Rows: TypeAlias = "pa.Table | pa.RecordBatchReader"

OURS = "cdckit."
"""What names of a table's properties begin with that hold its notes."""
PLACE = "cdckit.offset"
"""The property of a commit that has the offset, as JSON, which all rows before it and none behind it make."""


@dataclass(frozen=True, slots=True)
class Ending:
    """What ends versions of a history.

    Attributes:
        position: where; versions that are made behind it go on.
        micros: when, in microseconds since 1970; None where that is not known.
        scope: what tells the rows that it concerns from others; empty: all.
        reread: whether the rows are told anew behind it, so that those which come again as they were do not end.
    """

    position: str
    micros: int | None
    scope: Scope = ()
    reread: bool = False


@dataclass(frozen=True, slots=True)
class Merge:
    """What is done to the rows of some keys.

    Attributes:
        changes: the newest change of each key: the table's columns, `OP`, and a column of `KEPT` for each of `kept`.
        key: the columns that identify a row.
        kept: the columns whose value stays as it is in the table where the column of `KEPT` says so.
        gone: other rows that are removed: those that have all values of one of these.
        endings: what ends other rows, of a history, that have no end: the first one that concerns a row.
    """

    changes: pa.Table
    key: Sequence[str]
    kept: Sequence[str]
    gone: Collection[Scope]
    endings: Sequence[Ending] = ()


class Version(ABC):
    """A table as it was at some time, whatever is written meanwhile."""

    @property
    @abstractmethod
    def number(self) -> int:
        """It grows with each batch."""

    @property
    @abstractmethod
    def has_rows(self) -> bool:
        """Whether there may be rows."""

    @abstractmethod
    def schema(self) -> pa.Schema:
        """Its columns as Arrow has them."""

    @abstractmethod
    def scan(self, names: Iterable[str]) -> Iterator[pa.RecordBatch]:
        """Some columns of its rows, some thousand at a time."""


class LakeTarget(Target):
    """One table. What is written carries the batch's number, in the same commit."""

    changes_rows: ClassVar[bool] = True
    alters_at_once: ClassVar[bool] = True
    finds_refused = False
    """Whether rows are looked for that the table does not take."""

    @abstractmethod
    def exists(self) -> bool:
        """Whether there is such a table."""

    @abstractmethod
    def is_there(self, identity: str | None = None) -> bool:
        """Whether there is such a table, or the one of an identity, looked at anew; true where that cannot be seen."""

    @abstractmethod
    def beside(self, suffix: str) -> Self:
        """A table of the same topic, whose name has something behind this one's."""

    @abstractmethod
    def version_of(self, application: str) -> int | None:
        """The number of the last batch that the table has of an application; None where it has none."""

    def expect(self, batch: BatchId) -> None:
        """Sees, before anything of a batch is written, that the table still has what was written before.

        Raises:
            SinkError: it is known to lack it.
        """

    def keep_seen(self) -> None:
        """Remembers the table as it is behind a write: `expect` looks anew where another one takes its place."""

    @abstractmethod
    def now(self) -> Version | None:
        """The table as it is now; None where there is none."""

    @abstractmethod
    def at_batch(self, application: str, batch: int, applied: int | None = None) -> Version | None:
        """The table as it was before any later batch; None: it was not there yet.

        Args:
            application: what counts the batches.
            batch: the number of the last one that it may have.
            applied: of a mirror, the last version of the changes beside it that it may have; None: any.
        """

    @property
    def version(self) -> int:
        """A number that grows with each batch."""
        return self._now().number

    @property
    def has_rows(self) -> bool:
        """Whether there may be rows."""
        return self._now().has_rows

    def schema(self) -> pa.Schema:
        """The table's columns as Arrow has them."""
        return self._now().schema()

    def scan(self, names: Iterable[str]) -> Iterator[pa.RecordBatch]:
        """Some columns of the table's rows, some thousand at a time."""
        return self._now().scan(names)

    def _now(self) -> Version:
        found = self.now()
        assert found is not None
        return found

    @abstractmethod
    def candidates(self, names: Iterable[str], column: str, values: Collection[Any]) -> Iterator[pa.RecordBatch]:
        """Some columns of the rows in which a column has one of some values, and of others as well."""

    @abstractmethod
    def without_end(self, column: str | None = None, values: Collection[Any] = ()) -> Iterator[pa.RecordBatch]:
        """The versions of a history that have no end, or those in which a column has one of some values, and others."""

    def refuses_rows(self, error: Exception) -> bool:
        """Whether a fault is said of what rows hold."""
        import pyarrow as pa  # noqa: PLC0415 - asked where rows are looked for, on Spark

        return isinstance(error, pa.ArrowInvalid)

    def refused(self, rows: Iterable[ArrowArrayExportable]) -> Mapping[str, str]:
        """The positions of those among rows that the table does not take, each with the reason; none by default."""
        return {}

    @contextmanager
    def finding(self, rows: Callable[[], Iterable[ArrowArrayExportable]]) -> Iterator[None]:
        """Has rows looked for that the table does not take, where somebody wants to know which.

        Args:
            rows: gives what is put, where that was refused.

        Raises:
            RowsFoundError: these are the rows.
        """
        try:
            yield
        except Exception as error:
            if not self.finds_refused or not self.refuses_rows(error):
                raise
            reasons = {place: f"table {self}: {said}" for place, said in self.refused(rows()).items() if place}
            if not reasons:
                raise
            raise RowsFoundError(next(iter(reasons.values())), reasons) from error

    @abstractmethod
    def append(self, rows: ArrowStreamExportable, batch: BatchId) -> None:
        """Adds rows, which any library of Arrow's may have, in one commit."""

    def append_batches(self, schema: Schema, rows: Iterator[RecordBatch], batch: BatchId) -> None:
        """Adds rows of which there may be too many for the memory, and which are made as they are taken."""
        self.append(RecordBatchReader.from_batches(schema, rows), batch)

    @property
    def files(self) -> DataFiles:
        """Its data files, for whoever writes some before a commit."""
        raise NotImplementedError(f"{type(self).__name__} has no data files of others")

    @property
    def takes_files(self) -> bool:
        """Whether data files with some of its columns can be added as they are."""
        return False

    @property
    def puts_files(self) -> bool:
        """Whether this process writes the data files of what is appended, so that it need not be in memory."""
        return False

    def append_files(self, files: Sequence[DataFile], batch: BatchId) -> None:
        """Adds data files in one commit."""
        raise NotImplementedError(f"{type(self).__name__} has no data files of others")

    @abstractmethod
    def replace(self, rows: Rows, batch: BatchId) -> None:
        """Puts rows, and their columns, in the place of all others, in one commit."""

    @abstractmethod
    def merge(self, merge: Merge, batch: BatchId) -> None:
        """Puts the newest row of each key and removes the deleted ones, in one commit."""

    @abstractmethod
    def exchange(self, put: pa.Table, gone: Sequence[str], batch: BatchId) -> None:
        """Adds rows and removes those of some positions, in one commit."""

    @abstractmethod
    def delete(self, scopes: Collection[Scope], batch: BatchId) -> None:
        """Removes the rows that have all values of one of some scopes, in one commit."""

    @abstractmethod
    def clear(self, batch: BatchId) -> None:
        """Removes all rows in one commit."""

    @abstractmethod
    def maintain(self) -> None:
        """Puts small files together, and forgets versions that the retention time does not need."""
