"""Transaction metadata: the records of begin and end, and the `transaction` block of each event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cdckit.api.record import Record
from cdckit.api.schema import INT64, OPTIONAL_INT64, STRING, Schema, array_schema, struct_schema
from cdckit.api.struct import Struct
from cdckit.connector.envelope import TRANSACTION_BLOCK


@dataclass(frozen=True, slots=True)
class TransactionSchemas:
    """What transaction metadata looks like in one format of events.

    Attributes:
        key: the key of the records of begin and end.
        value: their value.
        collection: how many events a table has had, within the value.
        block: `transaction` within an event.
    """

    key: Schema
    value: Schema
    collection: Schema
    block: Schema


def _schemas(collection: Schema, block: Schema, version: int | None, times: Mapping[str, Schema]) -> TransactionSchemas:
    value = {
        "status": STRING,
        "id": STRING,
        "event_count": OPTIONAL_INT64,
        "data_collections": array_schema(collection, optional=True),
        **times,
    }
    return TransactionSchemas(
        struct_schema("io.debezium.connector.common.TransactionMetadataKey", {"id": STRING}, version=version),
        struct_schema("io.debezium.connector.common.TransactionMetadataValue", value, version=version),
        collection,
        block,
    )


_COLLECTION = {"data_collection": STRING, "event_count": INT64}

TRANSACTIONS = _schemas(
    struct_schema("event.collection", _COLLECTION, optional=True, version=1), TRANSACTION_BLOCK, 1, {"ts_ms": INT64}
)
"""Debezium 3's."""
OLD_TRANSACTIONS = _schemas(
    struct_schema(None, _COLLECTION), TRANSACTION_BLOCK.replace(name=None, version=None), None, {}
)
"""Debezium 1's: begin and end have no time, and schemas no version."""


class Transaction:
    """Counts the events of one transaction, for its blocks and its end.

    Args:
        topic: where the records of begin and end go.
        identifier: the GTID, or `file=…,pos=…`.
        counts: how many events each table (`database.table`) has had already.
        schemas: those of the events' format.
    """

    def __init__(
        self,
        topic: str,
        identifier: str,
        counts: Mapping[str, int] | None = None,
        schemas: TransactionSchemas = TRANSACTIONS,
    ) -> None:
        self.identifier = identifier
        self.counts = dict(counts or {})
        self._schemas = schemas
        self._topic = topic
        self._total = sum(self.counts.values())

    def blocks(self, collection: str) -> Iterator[Struct]:
        """The blocks of a table's next events, without end."""
        counts, schema = self.counts, self._schemas.block
        while True:
            self._total += 1
            counts[collection] = order = counts.get(collection, 0) + 1
            yield Struct(schema, (self.identifier, self._total, order))

    def count(self, collection: str, events: int) -> None:
        """Counts so many events of a table whose blocks nobody wants."""
        self._total += events
        self.counts[collection] = self.counts.get(collection, 0) + events

    def begin(self, position: str, time_ms: int) -> Record:
        """The record that says that the transaction begins."""
        return self._record(("BEGIN", self.identifier, None, None, time_ms), position, time_ms)

    def end(self, position: str, time_ms: int) -> Record:
        """The record that says how many events the transaction had."""
        collections = [Struct(self._schemas.collection, pair) for pair in self.counts.items()]
        return self._record(("END", self.identifier, self._total, collections, time_ms), position, time_ms)

    def _record(self, values: tuple[object, ...], position: str, time_ms: int) -> Record:
        key = Struct(self._schemas.key, (self.identifier,))
        value = Struct(self._schemas.value, values[: len(self._schemas.value.fields)])
        return Record(self._topic, key, value, (), position, time_ms)
