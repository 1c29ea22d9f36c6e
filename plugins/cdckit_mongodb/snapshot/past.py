"""Documents as they were at a cluster time, within the window for which the server keeps that."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from bson import Timestamp
from pymongo.read_concern import ReadConcern

from cdckit import Batch, Record, TableMark
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.events.collection_events import Collections, Document
from cdckit_mongodb.events.collection_marker import MARKED, CollectionMarker
from cdckit_mongodb.filters import Filters
from cdckit_mongodb.offsets import Moment, StreamOffset, moment_text, stream_position
from cdckit_mongodb.server.connection import CODEC, Client, driver_errors
from cdckit_mongodb.snapshot.collections import identifier, identifier_text
from cdckit_mongodb.splits import Name
from cdckit_mongodb.streaming.cursor import ChangeStream
from cdckit_mongodb.streaming.passed_over import OPERATIONS
from cdckit_mongodb.tokens import is_event, token_time

_AT_ONCE = 500
"""So many documents are asked for in one query."""
_WAIT_MS = 100


class AtTime(ReadConcern):
    """Has a query see the documents of one cluster time (`atClusterTime`, MongoDB 5.0 and newer)."""

    def __init__(self, moment: Moment) -> None:
        super().__init__("snapshot")
        self._moment = moment

    @property
    def document(self) -> dict[str, Any]:
        """The read concern as the server takes it."""
        return {"level": "snapshot", "atClusterTime": Timestamp(*self._moment)}


@dataclass(slots=True)
class Touched:
    """What a stretch of the stream tells of: which documents changed, and when; no value of any.

    Attributes:
        ids: by collection, the `_id`s as BSON in hexadecimal.
        times: for each cluster time behind some place, the same.
        marks: what happened to whole collections.
    """

    ids: defaultdict[Name, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))
    times: dict[Moment, defaultdict[Name, dict[str, None]]] = field(default_factory=dict)
    marks: list[TableMark] = field(default_factory=list)


class Past:
    """Reads what has changed as it was.

    Args:
        client: where to.
        config: the source's options.
        filters: what is captured.
        collections: what makes records.
        marker: makes table marks.
    """

    def __init__(
        self,
        client: Client,
        config: MongoDbConfig,
        filters: Filters,
        collections: Collections,
        marker: CollectionMarker,
    ) -> None:
        self._client = client
        self._config = config.model_copy(update={"capture_mode": "change_streams"})  # nobody looks documents up
        self._filters = filters
        self._collections = collections
        self._marker = marker

    def read(self, start: StreamOffset, at: Moment, end: StreamOffset) -> Iterator[tuple[Batch, bool]]:
        """The documents that changed behind `start`, as they were at a time; then all that they became until `end`.

        Returns:
            Batches, and with each whether its documents are of behind that time.

        Raises:
            RetriableSourceError: the connection was lost.
            SourceError: the server refuses, or does not keep that time any more.
        """
        touched = self._touched(start, at, end)
        yield Batch([], None, marks=touched.marks), False
        yield from ((batch, False) for batch in self._at(at, touched.ids))
        for moment in sorted(touched.times):
            yield from ((batch, True) for batch in self._at(moment, touched.times[moment]))

    def _touched(self, start: StreamOffset, at: Moment, end: StreamOffset) -> Touched:
        touched = Touched()
        with ChangeStream(self._client, self._config, start) as stream:
            while stream.alive:
                events = stream.next(_WAIT_MS)
                for event in events:
                    self._touch(touched, event, at)
                moment = token_time(stream.token)
                if moment > end.moment or (moment == end.moment and not (events and is_event(stream.token))):
                    break
        return touched

    def _touch(self, touched: Touched, event: Document, at: Moment) -> None:
        kind, moment = event["operationType"], token_time(event["_id"])
        if kind in MARKED:
            position = stream_position(moment_text(moment), 0, 0)
            touched.marks += self._marker.of_event(event, self._filters, position)
        if kind not in OPERATIONS or not self._filters.captures(*(name := (event["ns"]["db"], event["ns"]["coll"]))):
            return
        text = identifier_text(event["documentKey"]["_id"])
        touched.ids[name][text] = None
        if moment > at:
            touched.times.setdefault(moment, defaultdict(dict))[name][text] = None

    def _at(self, moment: Moment, ids: Mapping[Name, Iterable[str]]) -> Iterator[Batch]:
        for name, texts in ids.items():
            left = iter(texts)
            while some := list(islice(left, _AT_ONCE)):
                yield Batch(self._records(moment, name, some), None)

    def _records(self, moment: Moment, name: Name, texts: list[str]) -> list[Record]:
        """Those of some documents; deletes of those that were not there."""
        database, collection = name
        wanted = {text: identifier(text)["_id"] for text in texts}
        there = self._client[database].get_collection(collection, codec_options=CODEC, read_concern=AtTime(moment))
        with driver_errors(self._config, f"reading {database}.{collection} as of {moment[0]}:{moment[1]}"):
            found = list(there.find({"_id": {"$in": list(wanted.values())}}))
        made = self._collections.of(database, collection)
        gone = wanted.keys() - {identifier_text(document["_id"]) for document in found}
        prefix = stream_position(moment_text(moment), 0, 0)
        records = made.reads(found, moment, 0)
        for text in sorted(gone):
            event = {"documentKey": {"_id": wanted[text]}, "clusterTime": Timestamp(*moment)}
            records += made.change(event, "d", prefix, None, None)
        return records
