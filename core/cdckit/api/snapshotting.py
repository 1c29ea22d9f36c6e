"""What a plugin may decide about a snapshot: when one is taken, how writers are locked out, which rows are read.

Each is asked for by name in a source's options (`snapshot.mode=custom` with `snapshot.mode.custom.name` …) and given by
a hook. They stand for the interfaces `Snapshotter`, `SnapshotLock` and `SnapshotQuery` of Debezium's, whose
implementations are Java classes and cannot be loaded here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


class SnapshotMode(ABC):
    """When a snapshot is taken. A pipeline asks at its start.

    Attributes:
        streams: whether the log is read after the snapshot.
        on_schema_error: whether the definitions are read anew where the schema history is lost.
        on_data_error: whether a new snapshot is taken where the saved offset's place is gone from the log.
    """

    streams: bool = True
    on_schema_error: bool = False
    on_data_error: bool = False

    @abstractmethod
    def takes_data(self, *, offset_exists: bool, in_progress: bool) -> bool:
        """Whether rows are read.

        Args:
            offset_exists: whether the pipeline has run before.
            in_progress: whether it was stopped within a snapshot.
        """

    @abstractmethod
    def takes_schema(self, *, offset_exists: bool, in_progress: bool) -> bool:
        """Whether definitions are read; they always are together with rows."""


When = Literal["never", "first", "always"]
"""At no start, at those before a snapshot is finished, at every start."""


@dataclass(frozen=True, slots=True)
class PlainMode(SnapshotMode):
    """A mode that needs no more than a word for rows and one for definitions."""

    data: When
    schema: When = "never"
    streams: bool = True
    on_schema_error: bool = False
    on_data_error: bool = False

    def takes_data(self, *, offset_exists: bool, in_progress: bool) -> bool:
        """Whether rows are read."""
        return _applies(self.data, offset_exists, in_progress)

    def takes_schema(self, *, offset_exists: bool, in_progress: bool) -> bool:
        """Whether definitions are read."""
        return _applies(self.schema, offset_exists, in_progress)


def _applies(when: When, offset_exists: bool, in_progress: bool) -> bool:
    return when == "always" or (when == "first" and (in_progress or not offset_exists))


class SnapshotLock(ABC):
    """How writers are locked out while the log's position is noted and the snapshot's transactions begin.

    Attributes:
        to_the_end: whether the locks are held to the snapshot's end, not only until the definitions are read.
    """

    to_the_end: bool = False

    @abstractmethod
    def statements(self, tables: Sequence[str]) -> Sequence[str]:
        """What is run in a session of its own, whose end lets go of the locks.

        Args:
            tables: the captured tables, quoted as SQL writes them.
        """


class SnapshotQuery(ABC):
    """Which rows of a table the snapshot reads."""

    @abstractmethod
    def select(self, table: str, columns: Sequence[str]) -> str | None:
        """The statement that gives at least `columns`, or None for all rows.

        Args:
            table: `database.table`.
            columns: the names of the columns that events show.
        """
