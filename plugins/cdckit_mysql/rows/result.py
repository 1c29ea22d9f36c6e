"""Binary result rows, one a packet, to tuples.

MySQL source documentation, "MySQL Packets" and "Binary Protocol Resultset Row": three bytes of length, one of sequence;
a zero byte, null bits behind two that are free, values.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from cdckit import DecodeError
from cdckit_mysql.binlog.framing import LONGEST, PACKET_HEADER, packet_size
from cdckit_mysql.rows.cell import Cell, Scope
from cdckit_mysql.rows.row_reader import Column, Row, RowReader, append_line, indented
from cdckit_mysql.rows.row_source import RowBody

_ZERO_BYTE = 8
_FREE_BITS = 2
_HEADER = Cell("HBx", PACKET_HEADER)

Append = Callable[[Row], object]


class ResultReader(RowReader):
    """Reads the rows of one result set.

    The zero byte is read as if it were part of the null bits, so that no other packet is taken for a row.
    """

    def __init__(self, columns: Sequence[Column], scope: Scope) -> None:
        super().__init__(columns, scope, lead=_ZERO_BYTE + _FREE_BITS, header=_HEADER)

    def read(self, buf: bytes, at: int, end: int, append: Append) -> int:
        """Give each row from the packet at `at` on to `append`.

        Gives the place of the first packet that is not complete, or too long for one packet, or no row.

        Raises:
            DecodeError: a row does not fit the columns.
        """
        bits_size = self._bits.size
        while end - at > PACKET_HEADER:
            size = packet_size(buf, at)
            start = at + PACKET_HEADER
            if start + size > end or size == LONGEST or buf[start]:
                break
            bits = buf[start : start + bits_size]
            read = self._readers.get(bits) or self._reader(bits)
            if read is self._any:
                self.read_payload(buf, start, append)
                at = start + size
                continue
            behind = read(buf, at, end, append)
            if behind == at:
                raise DecodeError("a row is not as long as its columns")
            at = behind
        return at

    def read_payload(self, buf: bytes, start: int, append: Append) -> None:
        """Give the row whose payload begins at `start` to `append`, however long it is."""
        self._any_reader()(buf, start, append)

    def _source(self, body: RowBody, bits: bytes) -> str:
        row = [
            *body.lines[:1],
            f"behind = at + {PACKET_HEADER} + (size_low | size_high << 16)",
            f"if nulls != {self._expected(bits)} or behind > end: return at",
            *body.lines[1:],
            f"if {body.end} != behind: return at",
            append_line(body.values),
            "at = behind",
        ]
        return "\n".join(
            [
                "def read(buf, at, end, append):",
                "    try:",
                "        while at < end:",
                *indented(row, 3),
                f"    except {self._scope.name(struct.error)}: pass",
                "    return at",
            ]
        )

    def _any_source(self) -> str:
        return "\n".join(["def read(buf, at, append):", *indented(self._any_lines(), 1)])
