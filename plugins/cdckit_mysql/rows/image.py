"""Row images of the log, with one set of columns, to tuples."""

from __future__ import annotations

import struct
from collections.abc import Callable

from cdckit_mysql.rows.row_reader import Row, RowReader, append_line, indented
from cdckit_mysql.rows.row_source import RowBody


class ImageReader(RowReader):
    """Reads row images that hold the same columns."""

    def read(self, buf: bytes, at: int, end: int, append: Callable[[Row], object]) -> int:
        """Give each image between `at` and `end` to `append`; give the place behind the last.

        With `end` just behind `at` it is exactly one.
        """
        size = self._bits.size
        readers = self._readers
        if not size:
            read = readers.get(b"") or self._reader(b"")
            return read(buf, at, at + 1, append)
        while at < end:
            bits = buf[at : at + size]
            read = readers.get(bits) or self._reader(bits)
            at = read(buf, at, end, append)
        return at

    def _source(self, body: RowBody, bits: bytes) -> str:
        # `lines` begins with the statement that unpacks the null bits. The function stays with its bits for as long as
        # rows have them, and gives the place back to `read` at the first that has others.
        row = [
            *body.lines[:1],
            f"if nulls != {self._expected(bits)}: return at",
            *body.lines[1:],
            append_line(body.values),
            f"at = {body.end}",
        ]
        if not bits:
            row.append("return at")
        return "\n".join(
            [
                "def read(buf, at, end, append):",
                "    try:",
                "        while at < end:",
                *indented(row, 3),
                # The null bits are unpacked together with what follows them if none of it is other than expected. A
                # last row with other bits may be shorter than that, and then the buffer ends first: it is another
                # function's row, no damage.
                f"    except {self._scope.name(struct.error)}:",
                f"        if buf[at : at + {self._bits.size}] == {self._scope.name(bits)}: raise",
                "    return at",
            ]
        )

    def _any_source(self) -> str:
        return "\n".join(["def read(buf, at, end, append):", *indented([*self._any_lines(), "return at"], 1)])
