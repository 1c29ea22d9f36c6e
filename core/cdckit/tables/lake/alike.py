"""Rows without a key that snapshot and log tell in different ways.

Where rows are read, servers print six digits of a FLOAT, and JSON with spaces; the log has all digits, and JSON in
another form. Such a row is found by all else that it holds, and by what the two have in common of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from cdckit.tables.floats import six_digits
from cdckit.tables.json_texts import in_one_form
from cdckit.tables.row_texts import is_text

_JSON_BEGINS = frozenset('{["-0123456789')


class Alike:
    """What is the same of rows that are told in different ways.

    Args:
        schema: has the columns' types.
        content: the columns that tell rows apart, in the order of a row's values.

    Attributes:
        varies: whether any of them is told in different ways.
    """

    def __init__(self, schema: pa.Schema, content: Sequence[str]) -> None:
        kinds = [schema.field(name).type for name in content]
        self._texts = [number for number, kind in enumerate(kinds) if is_text(kind)]
        self._floats = [number for number, kind in enumerate(kinds) if pa.types.is_float32(kind)]
        varying = {*self._texts, *self._floats}
        self._others = [number for number in range(len(kinds)) if number not in varying]
        self.varies = bool(varying)

    def others(self, row: Sequence[Any]) -> tuple[Any, ...]:
        """The values that are the same in any case."""
        return tuple([row[number] for number in self._others])

    def of(self, row: Sequence[Any]) -> tuple[Any, ...]:
        """The row as one that equals those that are told otherwise."""
        found = list(row)
        for number in self._floats:
            found[number] = like_float(found[number])
        for number in self._texts:
            found[number] = like_text(found[number])
        return tuple(found)


def like_float(number: float | None) -> str | None:
    """What a FLOAT has in common with what is read of it."""
    return None if number is None else six_digits(number)


def like_text(text: str | None) -> str | None:
    """What JSON has in common with what is read of it; any other text as it is."""
    return in_one_form(text) if text and text[0] in _JSON_BEGINS else text
