"""Binary result rows, one a packet, to tuples.

MySQL source documentation, "Binary Protocol Resultset Row": a zero byte, null bits behind two that are free, values.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from cdckit_mysql.binlog.framing import Span
from cdckit_mysql.rows.row_reader import Column, Row, RowReader, append_line, indented
from cdckit_mysql.rows.row_source import RowBody
from cdckit_mysql.rows.scope import Scope

_ZERO_BYTE = 8
_FREE_BITS = 2


class ResultReader(RowReader):
    """Reads the rows of one result set.

    The zero byte is read as if it were part of the null bits, so that no other packet is taken for a row.
    """

    def __init__(self, columns: Sequence[Column], scope: Scope, label: str) -> None:
        super().__init__(columns, scope, label, lead=_ZERO_BYTE + _FREE_BITS)

    def read(self, spans: Sequence[Span], append: Callable[[Row], object]) -> int:
        """Give each row to `append`; give how many were read: all, or those before the first packet that is no row."""
        size = self._bits.size
        readers = self._readers
        place, count = 0, len(spans)
        while place < count:
            buf, at, _ = spans[place]
            if buf[at]:
                break
            bits = buf[at : at + size]
            read = readers.get(bits) or self._reader(bits)
            place = read(spans, place, append)
        return place

    def _source(self, body: RowBody, bits: bytes) -> str:
        row = [
            "buf, at, end = spans[place]",
            *body.lines[:1],
            f"if nulls != {self._expected(bits)}: return place",
            *body.lines[1:],
            append_line(body.values),
        ]
        return "\n".join(
            [
                "def read(spans, place, append):",
                "    try:",
                "        for place in range(place, len(spans)):",
                *indented(row, 3),
                f"    except {self._scope.name(struct.error)}:",
                f"        if buf[at : at + {self._bits.size}] == {self._scope.name(bits)}: raise",
                "        return place",
                "    return len(spans)",
            ]
        )

    def _any_source(self) -> str:
        row = ["buf, at, end = spans[place]", *self._any_lines(), "return place + 1"]
        return "\n".join(["def read(spans, place, append):", *indented(row, 1)])
