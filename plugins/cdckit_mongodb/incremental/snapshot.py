"""Incremental snapshots: chunks between two marks in the stream, without what the stream itself tells between them.

The algorithm is that of "DBLog: A Watermark Based Change-Data-Capture Framework" (Netflix, 2019), as Debezium has it.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bson import json_util
from pymongo import WriteConcern

from cdckit.record import Record
from cdckit.signals.signal import (
    EXECUTE_SNAPSHOT,
    LOG,
    PAUSE_SNAPSHOT,
    RESUME_SNAPSHOT,
    STOP_SNAPSHOT,
    WINDOW_CLOSE,
    WINDOW_OPEN,
    Signal,
)
from cdckit.signals.snapshot_request import SnapshotRequest, StopRequest
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.connection import CODEC, Client, told
from cdckit_mongodb.events.collection_events import Collections
from cdckit_mongodb.extended_json import IDENTIFIER
from cdckit_mongodb.filters import Filters
from cdckit_mongodb.incremental.state import IncrementalState, Wanted, Window
from cdckit_mongodb.offsets import Moment
from cdckit_mongodb.snapshot.collections import captured, identifier, identifier_text

log = logging.getLogger("cdckit.mongodb")

Event = dict[str, Any]


class IncrementalSnapshot:
    """Does what signals ask for.

    Args:
        client: where to.
        config: the source's options.
        filters: what is captured.
        collections: what makes records.
        state: what is left from before.
    """

    def __init__(
        self, client: Client, config: MongoDbConfig, filters: Filters, collections: Collections, state: IncrementalState
    ) -> None:
        self._client = client
        self._config = config
        self._filters = filters
        self._collections = collections
        self._window: Window | None = None
        self.state = state
        self.blocking: list[Wanted] = []

    # -- what the stream tells

    def changed(self, collection: str, event: Event, moment: Moment) -> list[Record]:
        """Takes a change of the stream; the records of the chunk whose second mark it is.

        Args:
            collection: whose change it is, `database.name`.
            event: as the stream has it.
            moment: its cluster time.
        """
        if collection == self._config.signal_data_collection:
            return self._signalled(event, moment)
        window = self._window
        if window is not None and window.is_open and window.collection == collection:
            window.documents.pop(IDENTIFIER.value(event["documentKey"]["_id"]), None)
        return []

    def _signalled(self, event: Event, moment: Moment) -> list[Record]:
        window = self._window
        identifier_ = event["documentKey"]["_id"]
        if event["operationType"] == "delete":
            closes = window is not None and window.is_open and identifier_ == f"{window.id}-open"
            return self._closed(moment) if closes else []
        document = event.get("fullDocument")
        if event["operationType"] != "insert" or document is None:
            return []
        kind = document.get("type")
        if kind == WINDOW_OPEN:
            if window is not None and identifier_ == f"{window.id}-open":
                window.is_open = True
            return []
        if kind == WINDOW_CLOSE:
            closes = window is not None and identifier_ == f"{window.id}-close"
            return self._closed(moment) if closes else []
        try:
            self.take(Signal.of(identifier_, kind, document.get("data", document.get("payload"))))
        except ValueError as error:
            log.warning("a document of %s is no signal: %s", self._config.signal_data_collection, error)
        return []

    def _closed(self, moment: Moment) -> list[Record]:
        """The records of the chunk that the stream has not told of since it was read."""
        window, self._window = self._window, None
        if window is None or not self._holds(window.collection):
            return []
        database, _, name = window.collection.partition(".")
        documents = list(window.documents.values())
        if window.after is None:
            log.info("incremental snapshot of %s is finished", window.collection)
            self.state = self.state.without_first()
        else:
            self.state = replace(self.state, after=window.after)
        return self._collections.of(database, name).reads(documents, moment, 0, "incremental")

    def _holds(self, collection: str) -> bool:
        """Whether the collection is still the one in hand; it may have been stopped in between."""
        return bool(self.state.wanted) and self.state.wanted[0].collection == collection

    # -- signals

    def take(self, signal: Signal) -> None:
        """Does what a signal says, of whatever channel; what cannot be understood is logged and left."""
        try:
            self._take(signal)
        except ValueError as error:
            log.warning("%s", error)

    def _take(self, signal: Signal) -> None:
        if signal.type == EXECUTE_SNAPSHOT:
            self._execute(SnapshotRequest.of(signal))
        elif signal.type == STOP_SNAPSHOT:
            self._stop(StopRequest.of(signal))
        elif signal.type in (PAUSE_SNAPSHOT, RESUME_SNAPSHOT):
            self.state = replace(self.state, paused=signal.type == PAUSE_SNAPSHOT)
            log.info("incremental snapshot %s", "paused" if self.state.paused else "resumed")
        elif signal.type == LOG:
            log.info("signal '%s': %s", signal.id, signal.data.get("message", ""))
        else:
            log.warning("signal '%s': the type '%s' is unknown", signal.id, signal.type)

    def _execute(self, request: SnapshotRequest) -> None:
        with told(self._config, "listing the collections to read"):
            names = [f"{database}.{name}" for database, name in captured(self._client, self._config, self._filters)]
        wanted = [Wanted(name, _query(request.filter_of(name))) for name in request.chosen(names)]
        if not wanted:
            log.warning("a signal asks for a snapshot of nothing that is captured")
        elif request.type == "blocking":
            self.blocking += wanted
        else:
            log.info("incremental snapshot of %s", ", ".join(one.collection for one in wanted))
            self.state = self.state.with_wanted(wanted)

    def _stop(self, request: StopRequest) -> None:
        first = self.state.wanted[:1]
        left = tuple(one for one in self.state.wanted if not request.stops(one.collection))
        same = bool(left) and left[:1] == first
        self.state = replace(self.state, wanted=left) if same else IncrementalState(left, paused=self.state.paused)
        log.info("incremental snapshot stopped; %d collections left", len(left))

    # -- chunks

    def advance(self) -> None:
        """Reads the next chunk, if one is due, and marks it in the stream.

        Raises:
            RetriableSourceError: the server is away.
            SourceError: it refuses.
        """
        if self._window is None and self.state.wanted and not self.state.paused:
            with told(self._config, f"reading a chunk of {self.state.wanted[0].collection}"):
                self._read(self.state.wanted[0])

    def _read(self, wanted: Wanted) -> None:
        window = Window(str(uuid.uuid4()), wanted.collection)
        database, _, name = self._config.signal_data_collection.partition(".")
        marks = self._client[database].get_collection(name, write_concern=WriteConcern("majority"))
        with self._client.start_session() as session:
            marks.insert_one({"_id": f"{window.id}-open", "type": WINDOW_OPEN, "payload": ""}, session=session)
            documents = self._chunk(wanted, session)
            if self._config.incremental_snapshot_watermarking_strategy == "insert_delete":
                marks.delete_one({"_id": f"{window.id}-open"}, session=session)
            else:
                marks.insert_one({"_id": f"{window.id}-close", "type": WINDOW_CLOSE, "payload": ""}, session=session)
        window.documents = {IDENTIFIER.value(document["_id"]): document for document in documents}
        window.after = identifier_text(documents[-1]["_id"]) if documents else None
        self._window = window

    def _chunk(self, wanted: Wanted, session: Any) -> Sequence[dict[str, Any]]:
        """The next documents in the order of `_id`, up to the last one that there was at the beginning."""
        database, _, name = wanted.collection.partition(".")
        found = self._client[database].get_collection(name, codec_options=CODEC)
        query = json_util.loads(wanted.filter) if wanted.filter else {}
        if self.state.last is None:
            newest = found.find_one({}, {"_id": 1}, sort=[("_id", -1)], session=session)
            if newest is None:
                return []
            self.state = replace(self.state, last=identifier_text(newest["_id"]))
        size = self._config.incremental_snapshot_chunk_size
        cursor = found.find(query, session=session).hint([("_id", 1)]).limit(size + 1)
        if self.state.after is not None:
            cursor.min(list(identifier(self.state.after).items()))
        documents = list(cursor)
        if documents and identifier_text(documents[0]["_id"]) == self.state.after:
            documents = documents[1:]
        return self._up_to_the_last(documents[:size])

    def _up_to_the_last(self, documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Leaves out what lies behind the last document that there was at the beginning."""
        last = self.state.last
        texts = [identifier_text(document["_id"]) for document in documents]
        return documents[: texts.index(last) + 1] if last in texts else documents


def _query(given: Any) -> str:
    """A condition as the text of a query document.

    Raises:
        ValueError: it is none; Debezium's manual shows SQL, which collections do not understand.
    """
    if given is None:
        return ""
    text = given if isinstance(given, str) else json.dumps(given)
    if not _is_document(text):
        raise ValueError(
            f"additional-conditions: the filter {text!r} should be a query document such as "
            '{"color": "blue"}; a collection has no SQL'
        )
    return text


def _is_document(text: str) -> bool:
    try:
        return isinstance(json_util.loads(text), dict)
    except ValueError:
        return False
