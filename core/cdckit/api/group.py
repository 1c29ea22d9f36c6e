"""A group: records that differ in little but their rows, as those of one rows event do."""

from __future__ import annotations

from typing import Any, NamedTuple

from cdckit.api.schema import Schema
from cdckit.api.struct import Template


class Group(NamedTuple):
    """What records share whose values are made of one template, and what a chain has made of them so far.

    A transform that does the same to all of them says so once, by `Transform.of_group`, and sees none of them.

    Attributes:
        topic: where they go.
        key: the schema of their keys, which are structs.
        template: what their envelopes are made of; its holes are those that the source made.
        added_to_key: the values behind each key's own.
        rows: the schema of the rows in the holes; None: the one that the source gave them.
        row_holes: which of the values in the holes those rows are.
        row: which of the values in the holes has taken the envelope's place; None: the value is the envelope.
        row_schema: the schema of the value, where it is a row.
        added_to_row: the values behind each row's own, where the value is a row.
        defaults: of each column what stands for null, where the value is a row; empty: null stays null.
    """

    topic: str
    key: Schema
    template: Template
    added_to_key: tuple[Any, ...] = ()
    rows: Schema | None = None
    row_holes: tuple[int, ...] = ()
    row: int | None = None
    row_schema: Schema | None = None
    added_to_row: tuple[Any, ...] = ()
    defaults: tuple[Any, ...] = ()
