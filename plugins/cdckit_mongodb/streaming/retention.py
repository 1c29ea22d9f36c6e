"""Whether the oplog holds the place to go on from."""

from __future__ import annotations

from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.offsets import StreamOffset
from cdckit_mongodb.server.connection import Client, driver_errors, place
from cdckit_mongodb.server.oplog import moment_told, newest_moment
from cdckit_mongodb.streaming.cursor import ChangeStream
from cdckit_mongodb.streaming.lost import HistoryLostError

_TOLERANCE = 60
"""By how many seconds tokens may be ahead of what the answering server knows."""


def why_lost(client: Client, config: MongoDbConfig, offset: StreamOffset) -> HistoryLostError | None:
    """Why the stream cannot go on from there; None where it can.

    A place ahead of every operation would be waited for: for years, where the offset is of other servers.

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
    with driver_errors(config, "asking for the newest operation"):
        newest = newest_moment(client)
    if offset.sec <= newest[0] + _TOLERANCE:
        return None
    return HistoryLostError(
        f"{place(config)}: the offset's place, {moment_told(offset.time)}, lies ahead of the newest operation, "
        f"{moment_told(newest)}: the servers are others or were restored"
    )
