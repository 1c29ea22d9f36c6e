"""The formats of events (`event.format`): what Debezium 3 sends, and what 1.9 sent, with either source block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib.metadata import version
from typing import Any, ClassVar

from bson import Timestamp

from cdckit import Path, Schema, Struct, Template
from cdckit.connector.transactions import OLD_TRANSACTIONS, TRANSACTIONS, TransactionSchemas
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.events import schemas
from cdckit_mongodb.extended_json import COMPACT, IDENTIFIER, OLD_COMPACT, OLD_IDENTIFIER, OLD_SPACED, SPACED, Dialect

Values = tuple[Any, ...]

_SOURCE = 3
_HOLES: tuple[Path, ...] = (
    (1,),
    (2,),
    *((_SOURCE, schemas.SOURCE.index[name]) for name in ("ts_ms", "ts_us", "ts_ns", "ord", "wallTime")),
    (5,),
)
"""Where those values stand in an envelope of Debezium 3 that make one change differ from another."""


class EventFormat(ABC):
    """What events of one format hold, and how documents are written in them.

    Attributes:
        compact: the dialect of whole documents.
        spaced: that of updated fields.
        identifier: that of keys.
        update: the schema of what an update has changed.
        truncated: the schema of an array that it has cut.
        after: where the document stands in an envelope.
        transactions: the schemas of transaction metadata.
        versioned: whether the schemas of heartbeats have versions.
        has_context_headers: whether records carry the `__debezium.context.*` headers.
        replica_set: the name of the servers' replica set, once they have told it; only Debezium 1.9 shows it.
    """

    compact: ClassVar[Dialect]
    spaced: ClassVar[Dialect]
    identifier: ClassVar[Dialect]
    update: ClassVar[Schema]
    truncated: ClassVar[Schema]
    after: ClassVar[Path]
    transactions: ClassVar[TransactionSchemas]
    versioned: ClassVar[bool]
    has_context_headers: ClassVar[bool]

    def __init__(self, config: MongoDbConfig) -> None:
        self._front = (version("cdckit"), config.connector, config.topic_prefix)
        self.replica_set = ""

    @abstractmethod
    def envelope_schema(self, name: str) -> Schema:
        """The schema of a change event's value."""

    @abstractmethod
    def envelope(self, before: str | None, after: str | None, update: Struct | None, *rest: Any) -> Values:
        """The values of an envelope; the rest are source, operation, time and transaction."""

    @abstractmethod
    def snapshot_source(self, name: tuple[str, str], now_ns: int, mark: str, time: Timestamp) -> Struct:
        """The source block of a document that a snapshot found.

        Args:
            name: database and collection.
            now_ns: when it was read, in nanoseconds since 1970.
            mark: what `snapshot` says.
            time: the cluster time that the snapshot counts from.
        """

    def counted_as(self, collection: str) -> str:
        """What the metadata of transactions call a collection (`database.name`)."""
        return collection

    def template(self, _envelope: Schema, _name: tuple[str, str], _operation: str) -> Template | None:
        """What plain changes of a collection share: those of no transaction, without a document before.

        Its holes are the document, what was changed, the server's time in ms, µs and ns, the number within the
        second, that time again, and the time of the record. None where changes share too little.
        """
        return None

    @abstractmethod
    def stream_source(
        self, name: tuple[str, str], time: Timestamp, wall_ms: int | None, lsid: str | None, number: int | None
    ) -> Struct:
        """The source block of a change.

        Args:
            name: database and collection.
            time: the change's cluster time.
            wall_ms: when the server made it, in milliseconds since 1970.
            lsid: the session that it is of, as text.
            number: the transaction's number in it.
        """


class Format3(EventFormat):
    """Debezium 3's."""

    compact, spaced, identifier = COMPACT, SPACED, IDENTIFIER
    update, truncated = schemas.UPDATE_DESCRIPTION, schemas.TRUNCATED_ARRAY
    after = (1,)
    transactions, versioned = TRANSACTIONS, True
    has_context_headers = True

    def envelope_schema(self, name: str) -> Schema:
        """With `before` and `after`."""
        return schemas.envelope_schema(name)

    def envelope(self, before: str | None, after: str | None, update: Struct | None, *rest: Any) -> Values:
        """In the schema's order."""
        return before, after, update, *rest

    def snapshot_source(self, name: tuple[str, str], now_ns: int, mark: str, time: Timestamp) -> Struct:
        """At the time of reading; only an incremental snapshot has a place in the stream."""
        order = time.inc if mark == "incremental" else -1
        database, collection = name
        place = (now_ns // 1_000_000, mark, database, None, now_ns // 1000, now_ns, collection, order, None, None, None)
        return Struct(schemas.SOURCE, self._front + place)

    def template(self, envelope: Schema, name: tuple[str, str], operation: str) -> Template:
        """All but eight values."""
        source = self.stream_source(name, Timestamp(0, 0), 0, None, None)
        return Template(envelope, (None, None, None, source, operation, 0, None), _HOLES)

    def stream_source(
        self, name: tuple[str, str], time: Timestamp, wall_ms: int | None, lsid: str | None, number: int | None
    ) -> Struct:
        """At the server's wall time where it tells that."""
        ms = time.time * 1000 if wall_ms is None else wall_ms
        database, collection = name
        place = (ms, None, database, None, ms * 1000, ms * 1_000_000, collection, time.inc, lsid, number, wall_ms)
        return Struct(schemas.SOURCE, self._front + place)


class Format19(EventFormat):
    """Debezium 1.9's. `stxnid`, which it took from the oplog, is null."""

    source: ClassVar[Schema] = schemas.OLD_SOURCE
    compact, spaced, identifier = OLD_COMPACT, OLD_SPACED, OLD_IDENTIFIER
    update, truncated = schemas.OLD_UPDATE_DESCRIPTION, schemas.OLD_TRUNCATED_ARRAY
    after = (0,)
    transactions, versioned = OLD_TRANSACTIONS, False
    has_context_headers = False

    def envelope_schema(self, name: str) -> Schema:
        """With `patch` and `filter`, which only the oplog gave."""
        return schemas.old_envelope_schema(name, self.source)

    def envelope(self, before: str | None, after: str | None, update: Struct | None, *rest: Any) -> Values:
        """It has no `before`."""
        return after, None, None, update, *rest

    def counted_as(self, collection: str) -> str:
        """With the replica set in front."""
        return f"{self.replica_set}.{collection}"

    def snapshot_source(self, name: tuple[str, str], now_ns: int, mark: str, time: Timestamp) -> Struct:
        """At the place in the stream."""
        return self._source(name, time, mark, None, None)

    def stream_source(
        self, name: tuple[str, str], time: Timestamp, wall_ms: int | None, lsid: str | None, number: int | None
    ) -> Struct:
        """At the cluster time."""
        return self._source(name, time, None, lsid, number)

    def _source(
        self, name: tuple[str, str], time: Timestamp, mark: str | None, lsid: str | None, number: int | None
    ) -> Struct:
        database, collection = name
        place = (time.time * 1000, mark, database, None, self.replica_set, collection, time.inc)
        return Struct(self.source, (*self._front, *place, None, None, None, lsid, number))


class FirstFormat(Format19):
    """Debezium 1.9's with `source.struct.version=v1`: the source block of Debezium before 0.10."""

    source = schemas.FIRST_SOURCE

    def _source(
        self, name: tuple[str, str], time: Timestamp, mark: str | None, _lsid: str | None, _number: int | None
    ) -> Struct:
        initial = True if mark is not None and mark != "incremental" else None
        place = (self.replica_set, ".".join(name), time.time, time.inc, None, initial)
        return Struct(self.source, (*self._front, *place))


def event_format(config: MongoDbConfig) -> EventFormat:
    """The format that a configuration asks for."""
    if config.event_format == "3":
        return Format3(config)
    return FirstFormat(config) if config.source_struct_version == "v1" else Format19(config)
