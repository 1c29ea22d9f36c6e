"""The contract of a sink that keeps tables in the runner's own process, without Spark.

The direct runner gives it records with their schemas, behind the transforms, and the table marks among them. It tells
when a batch is complete: a batch has a number, which grows, and is written table by table, each in one commit that
carries the number. So a table tells by itself which batch it has, and of records that come again after a crash it
takes those alone that it lacks.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from cdckit.api.marks import RoutedMark
from cdckit.api.record import Offset, Record
from cdckit.api.sink import TableSink
from cdckit.tables.context import TableContext


@dataclass(frozen=True, slots=True)
class BegunBatch:
    """A batch that some tables may have, and others not, since no offset behind it was saved.

    Attributes:
        number: its number.
        reached: by lane ("" where there is one alone) the position of its last record, so that a table which has the
            batch has all records up to there; None: it holds all that is told before the next saved offset.
        end: the offset that it ends at, or one before which it holds all, where it ends between two; None: none is
            known.
        chunk_topics: the topics of the rows that an incremental snapshot has read since the saved offset, up to there.
    """

    number: int
    reached: Mapping[str, str] | None
    end: Offset | None = None
    chunk_topics: tuple[str, ...] = ()


class DirectTableSink(TableSink):
    """A sink that keeps tables by itself. It is constructed with its config model's instance alone.

    Obligations: after `commit` returns, what was written is in the tables, and survives a crash. A table has all that
    a batch holds for it, with the batch's number, or nothing of it. What a table has, it does not take again: records
    that come once more after a crash are told from others by the numbers of `begin`.
    """

    mirrors: bool = False
    """Whether its tables are to equal the source's."""

    keeps_batches: bool = False
    """Whether `images` can give what the tables held behind an earlier batch, which a pipeline's ledger needs."""

    names_refused: bool = False
    """Whether `commit` is to say which rows a table refuses, if it can (`RowsFoundError`): the runner sets it."""

    commit_interval_ms: int = 0
    """How long, in milliseconds, changes are gathered for one batch at least; 0: as they come."""

    @abstractmethod
    def open(self, context: TableContext) -> None:
        """Gets ready.

        Raises:
            SinkError: the tables cannot be reached.
        """

    @abstractmethod
    def begin(self, generation: str, begun: Sequence[BegunBatch]) -> None:
        """Forgets what was written and not committed: records come from the saved offset on.

        Args:
            generation: tells numbers of batches from those of before, as `TableContext.generation`.
            begun: the batches behind that offset whose writing has begun, by this process or one before it.
        """

    def last_begun(self, topic: str) -> int | None:
        """The number of the last batch of `begin` that a topic's table has; None: it has none, or that is not known.

        Raises:
            SinkError: the table cannot be looked at.
        """
        return None

    def held(self, places: Mapping[str, Collection[int]]) -> None:
        """Says before `write` which of the batches of `begin` hold what comes.

        Positions of then and of now are those of two servers, and do not sort: up to the next `begin` none counts. A
        sink that does not hear it writes what it has once more.

        Args:
            places: by positions of records and marks the batches' numbers; what is not named is in none.
        """
        return

    @abstractmethod
    def write(self, records: Sequence[Record], marks: Sequence[RoutedMark], *, whole: bool = False) -> None:
        """Takes records in order, and the marks that belong among them.

        Args:
            records: behind the transforms.
            marks: their positions say between which records.
            whole: whether the batch is not committed before all of its records have come, however many there are: then
                the sink sees to it that they take bounded memory.

        Raises:
            SinkError: a record cannot become a row; the message names topic, position and field.
        """

    def judge(self, records: Sequence[Record]) -> None:
        """Looks whether each record can become a row, and takes none; for pipelines that keep those that cannot.

        By default nothing is looked at, and such a record stops the pipeline when it is written.

        Raises:
            SinkError: one cannot; the message names topic, position and field.
        """

    @property
    @abstractmethod
    def waiting(self) -> bool:
        """Whether there is anything to commit."""

    @property
    @abstractmethod
    def full(self) -> bool:
        """Whether so much is waiting that it is to be committed now."""

    def ends_at(self, offset: Offset | None) -> None:
        """Says, before `commit`, at which offset what is waiting ends; None: between two. Need not be heard."""

    @abstractmethod
    def commit(self, number: int) -> int:
        """Writes what is waiting as the batch of a number, and says how many rows it held.

        Raises:
            RetriableSinkError: a table could not take it for the moment; others may have. The runner begins anew.
            RowsRefusedError: a table does not take some rows; the runner looks for them, where the pipeline keeps such.
            SinkError: a table cannot take it; the message names the table.
        """

    @abstractmethod
    def saved(self) -> None:
        """The offset behind all that was committed is saved: none of it comes again."""

    @abstractmethod
    def close(self) -> None:
        """Lets go of all resources without a commit. May be called twice."""
