"""A table mark as the driver sees it: the text of a packet without rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from cdckit.api.marks import DefinitionChange, MarkKind
from cdckit.tables.layout import Layout
from cdckit.tables.sink import Packet


@dataclass(frozen=True, slots=True)
class Mark:
    """What happened to one source table whose rows are in a target.

    Attributes:
        kind: what.
        position: between which rows.
        table: the source's `database.table`.
        source: what layouts of its rows say in `source`.
        scope: columns of the target and the values that all rows of this source table, and no others, have there.
        sharing: the other source tables, as far as the source knows them, whose rows are in the target.
        previous: for RENAME: the table whose rows these were.
        statement: what the source's log has of it.
        told: whether the source told it, or it was read off a record.
        layout: of ALTER, CREATE and the begin of a snapshot: that of the rows behind it.
        change: of ALTER: what the table has otherwise, as far as it is known.
        named: what a changelog's rows say of the source's database and table.
        made_ms: when it happened, in milliseconds since 1970; None where that is not known.
    """

    kind: MarkKind
    position: str
    table: str
    source: str
    scope: Mapping[str, Any] = field(default_factory=dict)
    sharing: tuple[str, ...] = ()
    previous: str | None = None
    statement: str = ""
    told: bool = True
    layout: Layout | None = None
    change: DefinitionChange | None = None
    named: tuple[str | None, str | None] = (None, None)
    made_ms: int | None = None

    def packet(self, topic: str) -> Packet:
        """The packet that carries it."""
        shown = {name: getattr(self, name) for name in _MEMBERS}
        shown |= {"layout": self.layout and self.layout.dumps(), "change": self.change and asdict(self.change)}
        shown["comments"] = self.layout and self.layout.comments
        return Packet(topic, "", self.position, 0, b"", json.dumps(shown))

    @classmethod
    def loads(cls, text: str) -> Mark:
        """The mark of a packet's text."""
        found = json.loads(text)
        layout, change, comments = found["layout"], found["change"], found.pop("comments", None)
        return cls(
            **{
                **found,
                "kind": MarkKind(found["kind"]),
                "sharing": tuple(found["sharing"]),
                "layout": layout and _layout(layout, comments),
                "change": change and _change(change),
                "named": tuple(found["named"]),
            }
        )


_MEMBERS = tuple(member.name for member in fields(Mark))


def left_marks(marks: Sequence[Mark], sources: Set[str]) -> list[Mark]:
    """The marks of other source tables than these, and that one of these is gone: then no rows come in place of its.

    Args:
        marks: of one batch, in any order.
        sources: the source tables that are to be read again.
    """
    newest = {mark.table: mark for mark in sorted(marks, key=lambda mark: mark.position)}
    return [
        mark
        for mark in marks
        if mark.table not in sources or (mark.kind is MarkKind.DROP and newest[mark.table] is mark)
    ]


def _layout(text: str, comments: Sequence[Sequence[str]] | None) -> Layout:
    told = None if comments is None else tuple((name, comment) for name, comment in comments)
    return replace(Layout.loads(text), comments=told)


def _change(found: Mapping[str, Any]) -> DefinitionChange:
    key = found["key"]
    return DefinitionChange(
        tuple(found["added"]),
        tuple(found["dropped"]),
        tuple((old, new) for old, new in found["renamed"]),
        tuple(found["retyped"]),
        tuple(found["rewritten"]),
        key and (tuple(key[0]), tuple(key[1])),
        found["comments"],
        tuple(found["unseen"]),
    )
