"""The transaction that a planner's look at the log is in, and what whoever begins to read within it must know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdckit_mysql.binlog.framing import Span
from cdckit_mysql.binlog.place import HEADER_SIZE
from cdckit_mysql.binlog.rows_event import STATEMENT_END
from cdckit_mysql.streaming.begun_transaction import BegunTransaction

_TABLE_ID = slice(HEADER_SIZE, HEADER_SIZE + 6)
_FLAGS = HEADER_SIZE + 6
"""Where a rows event has its flags, behind the table's number."""
_PARTS = 64
"""A part has at least so much of what the transaction has come to, so that of any there are some hundred at most."""


class TransactionInHand:
    """Follows the events of one log, as headers tell them.

    Args:
        mariadb: whose log it is: there the identifier begins the transaction, in MySQL's the statement behind it does.
    """

    def __init__(self, *, mariadb: bool) -> None:
        self._mariadb = mariadb
        self._pos = self._at = 0
        self._events: list[Span] = []
        self._opened = self._undivided = True
        self._text: Span | None = None
        self._tables: dict[bytes, Span] = {}
        self._rows: Span | None = None

    def begins(self, span: Span, pos: int, at: int) -> None:
        """An identifier tells of the transaction that follows.

        Args:
            span: the event.
            pos: where it stands in its file.
            at: how many bytes of what is looked at lie before it.
        """
        self._pos, self._at = pos, at
        self._events = [span]
        self._opened, self._undivided = self._mariadb, False
        self._text = self._rows = None
        self._tables.clear()

    def opens(self, span: Span, pos: int, at: int) -> None:
        """A statement begins the transaction; as `begins`, where no identifier came before it (MySQL 5.6)."""
        if self._mariadb:
            return
        if self._opened:
            self.begins(span, pos, at)
        else:
            self._events.append(span)
        self._opened = True

    def says(self, span: Span) -> None:
        """The text of the statement whose rows follow."""
        self._text = span

    def announces(self, span: Span) -> None:
        """A table is announced."""
        # A table's number holds for its statement, whose last rows event says that it is the last: looked at only here,
        # not at each of the many.
        if self._rows is not None and _ends_statement(self._rows):
            self._tables.clear()
        self._rows = None
        buffer, at, _ = span
        self._tables[buffer[at + _TABLE_ID.start : at + _TABLE_ID.stop]] = span

    def rows(self, span: Span) -> None:
        """Rows of a table that was announced."""
        self._rows = span

    def stays_whole(self) -> None:
        """It is not to be cut any more."""
        self._undivided = True

    def ends(self) -> None:
        """What follows is no part of it."""
        self._events.clear()
        self._opened = True
        self._undivided = True

    def large(self, at: int, part: int, least: int) -> bool:
        """Whether it is to be cut before the rows that come.

        Args:
            at: how many bytes of what is looked at lie before them.
            part: how many bytes the part has that would end.
            least: how many a part is to have at least.
        """
        whole = at - self._at
        return whole >= least and part * _PARTS >= whole and self._opened and not self._undivided

    @property
    def tables(self) -> Iterator[Span]:
        """The tables that are announced where it is."""
        return iter(self._tables.values())

    def begun(self, counts: Mapping[str, int], *, checksums: bool) -> BegunTransaction:
        """What a reader must know that begins before the rows that come."""
        text = () if self._text is None else (self._text,)
        spans = (*self._events, *text, *self._tables.values())
        events = tuple(buffer[at:end] for buffer, at, end in spans)
        return BegunTransaction(self._pos, events, checksums, dict(counts))


def _ends_statement(rows: Span) -> bool:
    buffer, at, _ = rows
    return bool(buffer[at + _FLAGS] & STATEMENT_END)
