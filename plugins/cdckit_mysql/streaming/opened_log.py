"""A log that was asked for, from a server or from files."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

from cdckit_mysql.binlog.framing import Span
from cdckit_mysql.binlog.parser import EventParser
from cdckit_mysql.offsets import LogOffset


class OpenedLog(Protocol):
    """A log as it arrives, from a server or from files.

    Attributes:
        parser: knows file and position of the last event.
        ended: whether the log's end was reached.
    """

    @property
    def parser(self) -> EventParser:
        """See above."""

    @property
    def ended(self) -> bool:
        """See above."""

    def packets(self, timeout: float) -> list[Span]:
        """The bytes of the events that have arrived; waits for the first up to `timeout` seconds.

        Raises:
            SourceError: the log cannot be read.
        """

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class OpenLog(Protocol):
    """Asks for a log."""

    def __call__(self, start: LogOffset) -> tuple[OpenedLog, LogOffset]:
        """The log from `start`, and `start` itself as this server counts.

        Raises:
            RetriableSourceError: the server cannot be reached now.
            SourceError: it refuses, or is not one that can go on from there.
        """
