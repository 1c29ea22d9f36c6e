"""Whether the oplog still holds the place to go on from."""

from __future__ import annotations

from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.connection import Client
from cdckit_mongodb.offsets import StreamOffset
from cdckit_mongodb.streaming.cursor import ChangeStream
from cdckit_mongodb.streaming.lost import HistoryLostError


def why_lost(client: Client, config: MongoDbConfig, offset: StreamOffset) -> HistoryLostError | None:
    """Why the stream cannot go on from there; None where it can.

    Raises:
        RetriableSourceError: the server is away.
        SourceError: it refuses.
    """
    try:
        with ChangeStream(client, config, offset) as stream:
            stream.next(1)
            if stream.alive:
                stream.next(1)
    except HistoryLostError as error:
        return error
    return None
