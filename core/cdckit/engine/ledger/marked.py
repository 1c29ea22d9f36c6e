"""What a table mark means to the ledger: it can be sent from one process to another."""

from __future__ import annotations

from dataclasses import dataclass

from cdckit.api.marks import MarkKind, RoutedMark
from cdckit.api.struct import Struct
from cdckit.engine.ledger.layouts import Layouts
from cdckit.engine.ledger.row_form import RowForm
from cdckit.tables.shapes import shape_of


@dataclass(frozen=True, slots=True)
class Marked:
    """A mark at the topic that a table's rows arrive at.

    Attributes:
        kind: what happened.
        topic: the topic.
        table: the source's table.
        position: between which rows.
        shared: whether rows of other tables arrive there, too.
        form: the columns behind it; None where they are not known.
        key: those that identify a row, where the columns are known.
    """

    kind: MarkKind
    topic: str
    table: str
    position: str
    shared: bool
    form: RowForm | None
    key: tuple[str, ...]


def marked(routed: RoutedMark, layouts: Layouts) -> Marked:
    """A mark without the records that stand for its table."""
    value, key = routed.example.value, routed.example.key
    shape = shape_of(value.schema) if isinstance(value, Struct) else None
    form, names = None, tuple[str, ...]()
    if shape is not None and isinstance(key, Struct):
        form, names = layouts(shape.row, key.schema).form, tuple(one.name for one in key.schema.fields)
    told = routed.mark
    return Marked(told.kind, routed.topic, told.table, told.position, bool(routed.sharing), form, names)
