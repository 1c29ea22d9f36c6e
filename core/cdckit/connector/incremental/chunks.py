"""What an incremental snapshot asks of a source: chunks in the order of a key."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from cdckit.connector.incremental.state import Key, Wanted
from cdckit.connector.notifications.snapshots import ScanStatus

Row = TypeVar("Row")


class UnreadableError(Exception):
    """A table or collection cannot be read in chunks; the message says why.

    Attributes:
        status: the same in a notification's word.
    """

    def __init__(self, message: str, status: ScanStatus) -> None:
        super().__init__(message)
        self.status = status


class NotYetError(Exception):
    """A table or collection is no longer what the log has told of so far: the log is read on first."""


@dataclass(frozen=True, slots=True)
class Chunk(Generic[Row]):
    """Some rows in the order of their key.

    Attributes:
        rows: by what tells rows apart in the log, too.
        after: where the next chunk begins; the last key itself when there is no more.
    """

    rows: Mapping[Hashable, Row]
    after: Key


class Chunks(ABC, Generic[Row]):
    """Reads chunks of the tables or collections of one source.

    Every method raises `RetriableSourceError` where the source is away, and `SourceError` where it refuses.
    """

    @abstractmethod
    def captured(self) -> Sequence[str]:
        """The names of all that may be read."""

    @abstractmethod
    def wanted(self, name: str, condition: object, surrogate_key: str | None, *, blocking: bool) -> Wanted:
        """What a signal asks for, checked.

        Raises:
            ValueError: the condition or the key cannot be used.
        """

    def ready(self, wanted: Wanted) -> bool:
        """Whether a chunk can be read now; where it cannot, the log is read on first."""
        return True

    def key_columns(self, wanted: Wanted) -> Sequence[str]:
        """The columns that its keys have a value of each, in that order; none where keys are no such lists.

        A text each, which also says what else the order depends on. Where they are no longer those of the keys that the
        state has, the chunks begin anew.

        Raises:
            UnreadableError: it has no key to go by, or is not known.
        """
        return ()

    @abstractmethod
    def last(self, wanted: Wanted) -> Key | None:
        """The last key that there is now; None where there are no rows.

        Raises:
            UnreadableError: it has no key to go by, or is not known.
            NotYetError: it cannot be told now.
        """

    @abstractmethod
    def read(self, wanted: Wanted, after: Key | None, last: Key) -> Chunk[Row] | None:
        """The next rows behind `after`, up to `last`; None where they cannot be read now.

        Raises:
            UnreadableError: it cannot be read any more.
        """

    @abstractmethod
    def text(self, key: Key) -> str:
        """A key for people."""
