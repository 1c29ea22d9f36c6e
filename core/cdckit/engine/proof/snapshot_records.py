"""What of a source's records tells of rows, and of which tables transforms leave some out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cdckit.api.record import Record
from cdckit.api.struct import Struct
from cdckit.connector.envelope import is_envelope
from cdckit.engine.chain import TransformChain


def tells_a_row(record: Record) -> bool:
    """Whether it is no heartbeat, nor of a transaction, which have topics of their own."""
    value = record.value
    return value is None or (isinstance(value, Struct) and is_envelope(value.schema))


def dropped_of(records: Iterable[Record], chain: TransformChain) -> Iterator[str]:
    """The tables of those records of which the transforms make nothing."""
    for record in records:
        value = record.value
        if isinstance(value, Struct) and not chain.apply([record]):
            source = value["source"]
            yield f"{source.get('db')}.{source.get('table') or source.get('collection')}"
