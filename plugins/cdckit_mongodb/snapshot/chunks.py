"""A snapshot in chunks which are read at the same time: collections, and ranges of `_id` of large ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from bson import MaxKey, MinKey, Timestamp

from cdckit import Batch, Notices
from cdckit.connector.snapshot_progress import PartProgress
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.events.collection_events import Collections
from cdckit_mongodb.offsets import StreamOffset, chunk_positions
from cdckit_mongodb.server.connection import CODEC, Client, driver_errors
from cdckit_mongodb.snapshot.collections import (
    ChosenCollection,
    Document,
    documents,
    identifier,
    identifier_text,
)
from cdckit_mongodb.splits import Chunk

_WORTH_DIVIDING = 10_000
_CHUNKS_EACH = 4
"""How many chunks a reader gets, so that they end at about the same time."""
_SAMPLES = 20
"""How many samples stand for one chunk."""


def part_size(chosen: Sequence[ChosenCollection], parallelism: int) -> int:
    """About how many documents a part has, so that all readers end at about the same time."""
    total = sum(one.estimate for one in chosen)
    return max(_WORTH_DIVIDING, total // max(1, parallelism * _CHUNKS_EACH))


def divided(client: Client, collection: ChosenCollection, size: int, after: str | None = None) -> Iterator[Chunk]:
    """The parts of a collection, in the order of `_id`.

    Args:
        client: where to.
        collection: which one.
        size: about how many documents a part has.
        after: the `_id` to begin at, as BSON in hexadecimal; None: from the beginning.
    """
    parts = max(1, collection.estimate // size) if collection.indexed else 1
    bounds = [after, *(_bounds(client, collection, parts, after) if parts > 1 else ()), None]
    of = len(bounds) - 1
    for number, (low, high) in enumerate(pairwise(bounds)):
        estimate = collection.estimate // of
        yield Chunk(collection.database, collection.name, low, high, estimate, number=number, of=of)


def _bounds(client: Client, collection: ChosenCollection, parts: int, after: str | None) -> list[str]:
    """Values of `_id` behind `after` between which about as many documents lie, by a sample of them."""
    stages: list[Document] = [{"$sample": {"size": parts * _SAMPLES}}, {"$project": {"_id": 1}}]
    if after is not None:
        # an expression, unlike a condition, compares values of different types
        stages.append({"$match": {"$expr": {"$gt": ["$_id", {"$literal": identifier(after)["_id"]}]}}})
    named = client[collection.database].get_collection(collection.name, codec_options=CODEC)
    sample = named.aggregate([*stages, {"$sort": {"_id": 1}}])
    found = [document["_id"] for document in sample][_SAMPLES::_SAMPLES]
    return list(dict.fromkeys(identifier_text(one) for one in found if not isinstance(one, MinKey | MaxKey)))


def read_chunks(
    client: Client,
    config: MongoDbConfig,
    collections: Collections,
    chunks: Sequence[Chunk],
    moment: StreamOffset,
    notices: Notices,
) -> Iterator[Batch]:
    """The chunks' batches; reading cannot go on in the middle.

    Args:
        client: where to.
        config: the source's options.
        collections: what makes records.
        chunks: what to read.
        moment: what the snapshot counts from.
        notices: told how far each chunk is.

    Raises:
        RetriableSourceError: the connection was lost.
        SourceError: the server refuses.
    """
    with client.start_session() as session, driver_errors(config, "reading a chunk of the snapshot", waits=False):
        session.advance_operation_time(Timestamp(*moment.moment))
        for chunk in chunks:
            made = collections.of(chunk.database, chunk.collection)
            collection = ChosenCollection(chunk.database, chunk.collection, chunk.estimate)
            row = 0
            progress = PartProgress(notices, chunk.full_name, chunk.number, chunk.of)
            for found in documents(client, config, session, collection, low=chunk.low, high=chunk.high):
                new = found[1:] if chunk.read_before and identifier_text(found[0]["_id"]) == chunk.low else found
                positions = chunk_positions(moment.moment, chunk.first_row, row, len(new))
                yield Batch(made.placed(new, moment.moment, positions), None)
                row += len(new)
                progress.read(len(new))
            progress.finished()
