"""Records out of the changes that TiCDC sends: envelopes as the `mysql` source makes them, with TiCDC's own times."""

from __future__ import annotations

from importlib.metadata import version
from typing import NamedTuple

from cdckit import (
    INT32,
    INT64,
    LANE_END,
    OPTIONAL_INT64,
    OPTIONAL_STRING,
    STRING,
    Record,
    Struct,
    logical,
    struct_schema,
)
from cdckit.connector.envelope import key_change
from cdckit_ticdc.layout import Images, Layout
from cdckit_ticdc.message import Message

PHYSICAL_BITS = 18
"""A TSO is milliseconds since 1970, and a counter in the lowest bits (TiDB's manual, "TimeStamp Oracle")."""

SOURCE = struct_schema(
    "io.debezium.connector.mysql.Source",
    {
        "version": STRING,
        "connector": STRING,
        "name": STRING,
        "ts_ms": INT64,
        "snapshot": logical.snapshot_mark(("true", "last", "false", "incremental")),
        "db": STRING,
        "sequence": OPTIONAL_STRING,
        "table": OPTIONAL_STRING,
        "server_id": INT64,
        "gtid": OPTIONAL_STRING,
        "file": STRING,
        "pos": INT64,
        "row": INT32,
        "thread": OPTIONAL_INT64,
        "query": OPTIONAL_STRING,
        "commit_ts": OPTIONAL_INT64,
        "start_ts": OPTIONAL_INT64,
        "cluster_id": OPTIONAL_STRING,
    },
)
"""The source block: the one that TiCDC writes in its Debezium protocol, with all that any version has."""

_VERSION = version("cdckit")
_NO_TIME = f"{0:020d}"


class Stamp(NamedTuple):
    """When a change was committed.

    Attributes:
        time: what the change is ordered by: commit_ts, or as near to it as the message tells; 0: by offset alone.
        commit_ts: the transaction's commit_ts; 0 where the message does not tell.
        start_ts: the transaction's start_ts; 0 where the message does not tell.
        made_ms: when the message was made, or None.
        name: the logical name of the source.
        cluster: the TiCDC cluster's name, or None.
    """

    time: int
    commit_ts: int
    start_ts: int = 0
    made_ms: int | None = None
    name: str = "default"
    cluster: str | None = None


class RecordMaker:
    """Makes records.

    Args:
        tombstones: whether a delete is followed by a record without value.
    """

    def __init__(self, *, tombstones: bool) -> None:
        self._tombstones = tombstones

    def records(
        self, message: Message, operation: str, images: Images, stamp: Stamp, row_in_message: int = 0
    ) -> list[Record]:
        """The records of one change; an update that changes the key makes a delete and a create."""
        layout, before, after, key = images
        place = f"{message.partition:05d}-{message.offset:019d}-{row_in_message:04d}"
        source = self._source(layout, stamp)
        if operation == "u" and before is not None and key is not None and not layout.has_key(before, key):
            return self._moved(images, stamp, source, place)
        value = Struct(layout.envelope, (before, after, source, None, operation, stamp.made_ms, None, None))
        position = _position(stamp, place, operation)
        made = [Record(layout.topic, key, value, (), position, stamp.made_ms)]
        if operation == "d" and self._tombstones and key is not None:
            made.append(Record(layout.topic, key, None, (), f"{position}-1", stamp.made_ms))
        return made

    def _moved(self, images: Images, stamp: Stamp, source: Struct, place: str) -> list[Record]:
        layout, before, after, new = images
        assert before is not None and new is not None
        old = layout.key_of(before)
        assert old is not None
        gone = Struct(layout.envelope, (before, None, source, None, "d", stamp.made_ms, None, None))
        come = Struct(layout.envelope, (None, after, source, None, "c", stamp.made_ms, None, None))
        at = _position(stamp, place, "d")
        positions = at, f"{at}-1", _position(stamp, f"{place}-2", "c")
        return key_change(
            layout.topic, (old, new), (gone, come), (), positions, stamp.made_ms, tombstones=self._tombstones
        )

    @staticmethod
    def _source(layout: Layout, stamp: Stamp) -> Struct:
        committed_ms = (stamp.commit_ts or stamp.time) >> PHYSICAL_BITS
        values = (
            _VERSION, "TiCDC", stamp.name, committed_ms, "false", layout.database, None, layout.table,
            0, None, "", 0, 0, None, None, stamp.commit_ts or None, stamp.start_ts or None, stamp.cluster,
        )  # fmt: skip
        return Struct(SOURCE, values)


def _position(stamp: Stamp, place: str, operation: str) -> str:
    """Sorts by transaction, deletes before the rest of it: so TiCDC orders a transaction that moves rows about.

    Where the message does not tell commit_ts, what stood first in the partition was first; where it tells no time at
    all, positions of different partitions say nothing about each other.
    """
    if not stamp.time:
        return f"{_NO_TIME}-{place.replace('-', LANE_END, 1)}"
    rank = 0 if operation == "d" and stamp.time == stamp.commit_ts else 1
    start = f"{stamp.start_ts:020d}" if stamp.start_ts else _NO_TIME
    return f"{stamp.time:020d}-{start}-{rank}-{place}"


def time_of(record: Record) -> int:
    """The time that a record's position begins with."""
    return int(record.position[:20])
