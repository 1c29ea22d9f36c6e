"""About how much memory the texts and bytes of records take, before columns are made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cdckit.api.record import Record
from cdckit.api.struct import Struct, TemplateStruct

_LOOKED_AT = 8
"""So many records of those that come together are looked at: to look at all would cost as much as to decode some."""


def about_bytes(records: Sequence[Record]) -> int:
    """By some of the records."""
    if not records:
        return 0
    looked_at = records[:: -(-len(records) // _LOOKED_AT)]
    return sum(_bytes(record.value) for record in looked_at) * len(records) // len(looked_at)


def _bytes(value: Any) -> int:
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, TemplateStruct):
        return sum(map(_bytes, value.fills))
    if isinstance(value, Struct):
        return sum(map(_bytes, value.values))
    return sum(map(_bytes, value)) if isinstance(value, tuple | list) else 0
