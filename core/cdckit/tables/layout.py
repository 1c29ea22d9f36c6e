"""The layout of a packet: the columns of its rows, and what kind of rows they are."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Literal

from cdckit.api.record import LANE_END, lane_of

POSITION = "__position"
"""The column of a record's position, in every table."""

FROM, TO, END = "__valid_from", "__valid_to", "__end_position"
"""Of the rows of a history, which are versions: when they were made, and when and where they ended."""

OP = "__cdckit_op"
"""What a row does to a mirror, while it is on its way there: `c` puts a row, `d` removes it, `m` puts one that another
key had before.
"""

OLD_KEY = "__cdckit_old_"
"""What names of columns begin with that hold, for an `m`, the key before."""

ABSENT = "__cdckit_absent"
"""The column that names, with commas around each, the columns of a mirror's row whose values the log did not carry."""

Kind = Literal["rows", "keys", "truncate"]
"""Whole rows; deletes of which only the key is known; or marks that a table was emptied."""

Comments = tuple[tuple[str, str], ...]
"""Names of columns, or "" for the table, each with what it is for."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What rows of one packet have in common.

    Attributes:
        kind: what the rows are.
        source: the source's table, or the name of the rows' schema: whose columns these are.
        columns: name and Spark type of each column of the table, in order.
        key: the columns that identify a row; none for a table without a key.
        ops: the operations that occur, a letter each.
        unavailable: the columns in which a value is, or may be, unavailable.
        documents: whether more columns are to be read off the documents that the rows hold.
        older: for columns that were added to the source's table with a value, that which the rows have that were there
            before, as text (bytes in hexadecimal); None where the source cannot tell.
        moved: whether there are rows that lack values and had another key before.
        comments: what the source's definition says columns are for, and under "" the table; None where nobody says.
        named: what commands call the source's table where that is not `source`; else "".
    """

    kind: Kind
    source: str
    columns: tuple[tuple[str, str], ...]
    key: tuple[str, ...]
    ops: str = ""
    unavailable: tuple[str, ...] = ()
    documents: bool = False
    older: tuple[tuple[str, str | None], ...] = ()
    moved: bool = False
    comments: Comments | None = None
    named: str = ""

    @property
    def table(self) -> str:
        """What commands call the source's table."""
        return self.named or self.source

    def dumps(self) -> str:
        """The layout as the packet's text, which has no comments: each packet would carry them, and a mark does."""
        return json.dumps({name: getattr(self, name) for name in _MEMBERS})

    @classmethod
    def loads(cls, text: str) -> Layout:
        """The layout of a packet's text."""
        found = json.loads(text)
        return cls(
            found["kind"],
            found["source"],
            tuple((name, kind) for name, kind in found["columns"]),
            tuple(found["key"]),
            found["ops"],
            tuple(found["unavailable"]),
            found["documents"],
            tuple((name, text) for name, text in found["older"]),
            found["moved"],
            named=found["named"],
        )


_MEMBERS = tuple(member.name for member in fields(Layout) if member.name != "comments")


def history_of(position: str, layout: Layout) -> str:
    """Whose history of columns counts: the source table's, for each lane its own, since lanes cannot be compared."""
    lane = lane_of(position)
    return f"{lane}{LANE_END}{layout.source}" if lane else layout.source
