"""What signals ask a source to do while its stream is followed."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cdckit import Record
from cdckit.connector.incremental import (
    Finished,
    SignalledSnapshots,
    UnreadableError,
    Wanted,
)
from cdckit.connector.notifications import Notifications
from cdckit.connector.notifications.snapshots import BlockingSnapshotNotices, ScanStatus
from cdckit.connector.signals import Mailbox
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.events.collection_events import CollectionEvents, Collections
from cdckit_mongodb.extended_json import IDENTIFIER
from cdckit_mongodb.filters import Filters
from cdckit_mongodb.incremental.collection_chunks import CollectionChunks
from cdckit_mongodb.incremental.collection_marks import CollectionMarks
from cdckit_mongodb.incremental.conditions import in_time
from cdckit_mongodb.incremental.session import SnapshotSession
from cdckit_mongodb.offsets import Moment
from cdckit_mongodb.server.connection import Client, driver_errors
from cdckit_mongodb.snapshot.collections import ChosenCollection, Document, documents

log = logging.getLogger("cdckit.mongodb")

Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Read:
    """Documents that a blocking snapshot has read.

    Attributes:
        events: makes the records of their collection.
        documents: at least one.
        row: the number of the first one in the records' positions.
    """

    events: CollectionEvents
    documents: list[Document]
    row: int


class Signalling(SignalledSnapshots[Document]):
    """Listens to the stream and to the other channels, and does what signals ask for.

    Args:
        client: where to.
        config: the source's options.
        filters: what is captured.
        collections: what makes records.
        mailbox: signals of other channels.
        notifications: told of snapshots.
        left: what is left from before.
    """

    def __init__(
        self,
        client: Client,
        config: MongoDbConfig,
        filters: Filters,
        collections: Collections,
        mailbox: Mailbox,
        notifications: Notifications,
        left: dict[str, Any] | None,
    ) -> None:
        self._client = client
        self._config = config
        self._collections = collections
        self._session = SnapshotSession(client)
        marks = CollectionMarks(config, self._session) if config.signal_data_collection else None
        chunks = CollectionChunks(config, filters, self._session)
        super().__init__(config, chunks, marks, mailbox, notifications, left)

    def changed(self, collection: str, event: Event, moment: Moment) -> list[Record]:
        """Takes a change of the stream; the records of the chunk whose second mark it is.

        Args:
            collection: whose change it is, `database.name`.
            event: as the stream has it.
            moment: its cluster time.
        """
        if collection == self._config.signal_data_collection:
            return self._signalled(event, moment)
        if self.snapshot.reading == collection:
            told = (event["documentKey"], event.get("fullDocument") or {})  # a new `_id` may be written otherwise
            self.snapshot.changed({IDENTIFIER.value(one["_id"]) for one in told if "_id" in one})
        return []

    def _signalled(self, event: Event, moment: Moment) -> list[Record]:
        """The records of the chunk that a change of the signalling collection ends."""
        identifier = event["documentKey"]["_id"]
        finished: Finished[Document] | None = None
        document = event.get("fullDocument")
        if event["operationType"] == "delete":
            finished = self.listener.deleted(identifier)
        elif event["operationType"] == "insert" and document is not None:
            data = document.get("data", document.get("payload"))
            finished = self.listener.inserted(identifier, document.get("type"), data)
        if finished is None or not finished.rows:
            return []
        database, _, name = finished.name.partition(".")
        return self._collections.of(database, name).reads(finished.rows, moment, 0, "incremental")

    # -- between batches

    def blocking(self, asked: Sequence[Wanted], moment: Moment) -> Iterator[list[Record]]:
        """Reads the collections of a blocking snapshot while the stream waits.

        Args:
            asked: these.
            moment: where the stream waits.
        """
        wanted = sorted(asked, key=_in_order)
        notices = BlockingSnapshotNotices(self._notifications, [one.name for one in wanted])
        notices.started()
        held: Read | None = None
        for read in self._blocked(wanted, moment, notices):
            if held is not None:
                yield held.events.reads(held.documents, moment, held.row)
            held = read
        if held is not None:
            *before, last = held.documents
            records = held.events.reads(before, moment, held.row)
            yield [*records, *held.events.reads([last], moment, held.row + len(before), "last")]
        notices.completed()

    def _blocked(self, wanted: Sequence[Wanted], moment: Moment, notices: BlockingSnapshotNotices) -> Iterator[Read]:
        """The documents, as they are found."""
        row = 0
        with driver_errors(self._config, "beginning a blocking snapshot"):
            session = self._session.open_behind(moment)
        for one in wanted:
            notices.begins(one.name)
            database, _, name = one.name.partition(".")
            events = self._collections.of(database, name)
            limit = self._config.signal_statement_timeout_ms if one.filter else 0
            status: ScanStatus = "SUCCEEDED"
            try:
                with driver_errors(self._config, f"reading {one.name}", waits=False), in_time(one.name, limit):
                    chosen = ChosenCollection(database, name, 0)
                    batches = documents(self._client, self._config, session, chosen, query=one.filter, most_ms=limit)
                    for found in filter(None, batches):
                        yield Read(events, found, row)
                        row += len(found)
                        notices.read(len(found))
            except UnreadableError as error:
                log.warning("blocking snapshot: %s is left: %s", one.name, error)
                status = error.status
            notices.ends(one.name, status)

    def close(self) -> None:
        """Lets the session go."""
        self._session.close()


def _in_order(wanted: Wanted) -> tuple[str, str]:
    """As the first snapshot takes collections."""
    database, _, name = wanted.name.partition(".")
    return ChosenCollection(database, name, 0).order
