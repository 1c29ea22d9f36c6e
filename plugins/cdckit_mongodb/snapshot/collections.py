"""Which collections a snapshot reads, and the documents of one."""

from __future__ import annotations

import json
from collections.abc import Collection, Generator, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

import bson
from bson import json_util
from pymongo.client_session import ClientSession
from pymongo.read_concern import ReadConcern

from cdckit import SourceError, StoppedError
from cdckit.waiting import ended_by_stop
from cdckit_mongodb.captured_collections import captured_collections
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.filters import Filters
from cdckit_mongodb.offsets import SnapshotPlace
from cdckit_mongodb.queries import why_refused
from cdckit_mongodb.server.connection import CODEC, UNREADABLE, Client, misread

Document = dict[str, Any]

_LARGEST_BATCH = 1024
"""Documents a batch at the most: the texts of more take memory that the system has to give anew for each batch."""
IN_ORDER_FROM = 100_000
"""Collections of more documents than this are read in the order of `_id`, so that reading can go on in their middle."""


@dataclass(frozen=True, slots=True)
class ChosenCollection:
    """A collection to read.

    Attributes:
        database: its database.
        name: its name there.
        estimate: about how many documents it has.
        indexed: whether it has an index of `_id`: time series have none.
    """

    database: str
    name: str
    estimate: int
    indexed: bool = True

    @property
    def full_name(self) -> str:
        """`database.name`."""
        return f"{self.database}.{self.name}"

    @property
    def order(self) -> tuple[str, str]:
        """Debezium takes collections by their names, whatever the database."""
        return self.name, self.database


@dataclass(frozen=True, slots=True)
class FoundDocuments:
    """Some documents of one collection, and how far the snapshot is once they are safe.

    Attributes:
        collection: theirs.
        documents: at least one.
        place: where a snapshot goes on behind them.
        first_row: the number of the first one in the records' positions.
    """

    collection: ChosenCollection
    documents: list[Document]
    place: SnapshotPlace
    first_row: int


def choose_collections(
    client: Client, config: MongoDbConfig, filters: Filters, only: Collection[str] | None = None
) -> list[ChosenCollection]:
    """The captured collections that the snapshot reads, in order; views have nothing to read.

    Args:
        client: where to.
        config: the source's options.
        filters: what is captured.
        only: the full names of those that were asked for; None: as the options say.
    """
    chosen = [
        ChosenCollection(
            one.database, one.name, client[one.database][one.name].estimated_document_count(), not one.time_series
        )
        for one in captured_collections(client, config, filters)
        if (filters.snapshot(one.database, one.name) if only is None else one.full_name in only)
    ]
    for one in chosen:
        _check_filter(client, config, one.full_name)
    return sorted(chosen, key=lambda one: one.order)


def _check_filter(client: Client, config: MongoDbConfig, collection: str) -> None:
    query = json_util.loads(json.dumps(config.filter_for(collection)))
    refused = why_refused(client, config, collection, query) if query else None
    if refused is not None:
        raise SourceError(f"{refused}; correct snapshot.collection.filter.overrides.{collection}") from refused


def documents(
    client: Client,
    config: MongoDbConfig,
    session: ClientSession | None,
    collection: ChosenCollection,
    *,
    low: str | None = None,
    high: str | None = None,
    in_order: bool = False,
    query: str = "",
    most_ms: int = 0,
) -> Iterator[list[Document]]:
    """The documents in batches.

    Args:
        client: where to.
        config: the source's options.
        session: sees at least the moment that the snapshot counts from.
        collection: which one.
        low: the first `_id`, as BSON in hexadecimal; None: from the beginning.
        high: the `_id` before which to end; None: to the end.
        in_order: whether they come in the order of `_id`.
        query: which of them, as the text of a query document, instead of the snapshot's own filter.
        most_ms: how many milliseconds the server may take for it; 0 for as many as it takes.
    """
    found = client[collection.database].get_collection(
        collection.name, codec_options=CODEC, read_concern=ReadConcern("majority")
    )
    chosen = json_util.loads(query or json.dumps(config.filter_for(collection.full_name)))
    if low is not None and high is None:
        # an expression, unlike a condition, compares values of different types; a bound below alone leaves MaxKey out
        behind = {"$expr": {"$gte": ["$_id", {"$literal": identifier(low)["_id"]}]}}
        chosen = {"$and": [chosen, behind]} if chosen else behind
    cursor = found.find_raw_batches(
        chosen, batch_size=config.snapshot_fetch_size or config.max_batch_size, session=session
    )
    cursor.max_time_ms(most_ms or None)
    if in_order or low or high:
        cursor.hint([("_id", 1)])
    if high is not None:  # bounds of the index compare values of different types, too, and cost less
        cursor.max(list(identifier(high).items()))
        if low is not None:
            cursor.min(list(identifier(low).items()))
    with closing(_answers(cursor)) as batches:
        for batch in batches:
            decoded = _decoded(config, collection, batch)
            for begin in range(0, len(decoded), _LARGEST_BATCH):
                yield decoded[begin : begin + _LARGEST_BATCH]


def _decoded(config: MongoDbConfig, collection: ChosenCollection, batch: bytes) -> list[Document]:
    try:
        decoded = bson.decode_all(batch, CODEC)
        if not all("_id" in document for document in decoded):
            raise ValueError("a document has no _id")
    except UNREADABLE as error:
        raise misread(config, f"reading {collection.full_name}", error, batch) from error
    return decoded


def _answers(cursor: Any) -> Generator[bytes]:
    """The server's answers. A stop ends the waits for them, and lets the server find out by itself."""
    try:
        while True:
            with ended_by_stop():
                batch = next(cursor, None)
            if batch is None:
                return
            yield batch
    finally:
        with suppress(StoppedError), ended_by_stop():
            cursor.close()


def identifier(text: str) -> Document:
    """`{_id: …}` out of its BSON in hexadecimal."""
    return bson.decode(bytes.fromhex(text), CODEC)


def identifier_text(value: Any) -> str:
    """The BSON of `{_id: value}` in hexadecimal."""
    return bson.encode({"_id": value}, codec_options=CODEC).hex()
