"""A log that was asked for, from a server or from files."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

from cdckit_mysql.binlog.framing import Span
from cdckit_mysql.binlog.parser import EventParser
from cdckit_mysql.offsets import LogOffset


class OpenedLog(Protocol):
    """A log as it arrives, from a server or from files."""

    @property
    def parser(self) -> EventParser:
        """What makes events of spans, and knows file and position of the last one."""

    @property
    def ended(self) -> bool:
        """Whether the log's end was reached."""

    def packets(self, timeout: float) -> Sequence[Span]:
        """The bytes of the events that have arrived; waits for the first up to `timeout` seconds.

        Raises:
            SourceError: the log cannot be read.
            DecodeError: it is damaged.
        """

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class LogOver:
    """What a log that is made of another one has from that.

    Args:
        log: the other one; closed with this one.
    """

    def __init__(self, log: OpenedLog) -> None:
        self._log = log

    @property
    def parser(self) -> EventParser:
        """Knows file and position of the last event."""
        return self._log.parser

    def __enter__(self) -> Self:
        self._log.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._log.__exit__(kind, error, trace)


class OpenLog(Protocol):
    """Asks for a log."""

    def __call__(self, start: LogOffset, end: LogOffset | None = None) -> tuple[OpenedLog, LogOffset]:
        """The log from `start`, and `start` itself as this server counts.

        Args:
            start: where to begin.
            end: where what is wanted of it ends. Where that is not a place in this server's log, a `TransactionRange`
                is given, which ends there by itself.

        Raises:
            RetriableSourceError: the server cannot be reached now, or is not the one that is to be read.
            PositionLostError: it does not have all transactions of the range.
            SourceError: it refuses, or is not one that can go on from there.
        """
