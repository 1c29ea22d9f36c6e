"""The envelope of a change event, field for field as Debezium 3 has it, for every source that makes one."""

from __future__ import annotations

from collections.abc import Callable

from cdckit.api.record import Header, Record
from cdckit.api.schema import INT64, OPTIONAL_INT64, STRING, Schema, struct_schema
from cdckit.api.struct import Struct

NEW_KEY = "__debezium.newkey"
"""The header of a delete whose row goes on under another key: that key."""
OLD_KEY = "__debezium.oldkey"
"""The header of a create whose row had another key: that key."""

TRANSACTION_BLOCK = struct_schema(
    "event.block", {"id": STRING, "total_order": INT64, "data_collection_order": INT64}, optional=True, version=1
)
"""The schema of `transaction`: which transaction an event is of, and its place in it."""


MakeEnvelope = Callable[[str, Schema, Schema], Schema]
"""Makes the schema of an event's value, of its name and those of the row and of the source block."""


def key_change(
    topic: str,
    keys: tuple[Struct, Struct],
    values: tuple[Struct, Struct],
    headers: tuple[Header, ...],
    positions: tuple[str, str, str],
    timestamp: int | None,
    *,
    tombstones: bool,
) -> list[Record]:
    """The records of an update that changes a row's key: a delete under the old key, a create under the new one.

    Args:
        topic: where they go.
        keys: the old one and the new one.
        values: the delete and the create.
        headers: those of every record.
        positions: of the delete, of its tombstone, and of the create.
        timestamp: that of the records, in milliseconds since 1970.
        tombstones: whether the delete is followed by a record without value.
    """
    # One record under the new key would leave the row under its old one for ever, in a compacted topic as in a table.
    # Each half tells in a header where the other is (Debezium's manual, "Primary key updates").
    (old, new), (gone, come), (first, second, third) = keys, values, positions
    told = (Header(NEW_KEY, new, new.schema), *headers)
    created = Record(topic, new, come, (Header(OLD_KEY, old, old.schema), *headers), third, timestamp)
    if not tombstones:
        return [Record(topic, old, gone, told, first, timestamp), created]
    tombstone = Record(topic, old, None, told, second, timestamp)
    return [Record(topic, old, gone, told, first, timestamp), tombstone, created]


def envelope_schema(name: str, row: Schema, source: Schema) -> Schema:
    """The schema of a change event's value.

    Args:
        name: its name, as a rule the topic's with `.Envelope`.
        row: the schema of `before` and `after`.
        source: the schema of the source block.
    """
    members = {
        "before": row,
        "after": row,
        "source": source,
        "transaction": TRANSACTION_BLOCK,
        "op": STRING,
        "ts_ms": OPTIONAL_INT64,
        "ts_us": OPTIONAL_INT64,
        "ts_ns": OPTIONAL_INT64,
    }
    return struct_schema(name, members, version=2)


def is_envelope(schema: Schema) -> bool:
    """Whether structs of this schema are change events: its name ends in `.Envelope`."""
    return schema.type == "struct" and schema.name is not None and schema.name.endswith(".Envelope")
