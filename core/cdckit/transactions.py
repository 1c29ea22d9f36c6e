"""Transaction metadata: the records of begin and end, and the `transaction` block of each event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdckit.envelope import TRANSACTION_BLOCK
from cdckit.record import Record
from cdckit.schema import INT64, OPTIONAL_INT64, STRING, array_schema, struct_schema
from cdckit.struct import Struct

_COLLECTION = struct_schema(
    "event.collection", {"data_collection": STRING, "event_count": INT64}, optional=True, version=1
)
_KEY = struct_schema("io.debezium.connector.common.TransactionMetadataKey", {"id": STRING}, version=1)
_VALUE = struct_schema(
    "io.debezium.connector.common.TransactionMetadataValue",
    {
        "status": STRING,
        "id": STRING,
        "event_count": OPTIONAL_INT64,
        "data_collections": array_schema(_COLLECTION, optional=True),
        "ts_ms": INT64,
    },
    version=1,
)


class Transaction:
    """Counts the events of one transaction, for its blocks and its end.

    Args:
        topic: where the records of begin and end go.
        identifier: the GTID, or `file=…,pos=…`.
        counts: how many events each table (`database.table`) has had already.
    """

    def __init__(self, topic: str, identifier: str, counts: Mapping[str, int] | None = None) -> None:
        self.identifier = identifier
        self.counts = dict(counts or {})
        self._topic = topic
        self._total = sum(self.counts.values())

    def blocks(self, collection: str) -> Iterator[Struct]:
        """The blocks of a table's next events, without end."""
        counts = self.counts
        while True:
            self._total += 1
            counts[collection] = order = counts.get(collection, 0) + 1
            yield Struct(TRANSACTION_BLOCK, (self.identifier, self._total, order))

    def begin(self, position: str, time_ms: int) -> Record:
        """The record that says that the transaction begins."""
        return self._record(("BEGIN", self.identifier, None, None, time_ms), position, time_ms)

    def end(self, position: str, time_ms: int) -> Record:
        """The record that says how many events the transaction had."""
        collections = [Struct(_COLLECTION, pair) for pair in self.counts.items()]
        return self._record(("END", self.identifier, self._total, collections, time_ms), position, time_ms)

    def _record(self, values: tuple[object, ...], position: str, time_ms: int) -> Record:
        key = Struct(_KEY, (self.identifier,))
        return Record(self._topic, key, Struct(_VALUE, values), (), position, time_ms)
