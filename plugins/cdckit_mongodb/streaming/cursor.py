"""A change stream's cursor, by the commands themselves: whole batches, and the token that each one ends with.

The driver's own change streams decode and resume event by event, which costs several times what the events do.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Self

import bson
from bson import CodecOptions
from bson.raw_bson import RawBSONDocument
from pymongo.errors import PyMongoError

from cdckit.errors import RetriableSourceError, SourceError
from cdckit_mongodb.config import MongoDbConfig, Stage
from cdckit_mongodb.connection import CODEC, Client, told
from cdckit_mongodb.offsets import Moment, StreamOffset
from cdckit_mongodb.streaming.lost import explained
from cdckit_mongodb.streaming.pipeline import stages
from cdckit_mongodb.tokens import Token, token_time

Event = dict[str, Any]

_LARGEST_BATCH = 512
"""Events an answer at the most: what is made of more does not stay in the processor's cache, and costs a tenth more."""
_RAW: CodecOptions[RawBSONDocument] = CodecOptions(document_class=RawBSONDocument)
"""How the driver is to see answers: it decodes those of commands without `CODEC`'s own types."""


class ChangeStream:
    """An open change stream.

    Args:
        client: where to.
        config: the source's options.
        start: where to go on; None: from now on.
        group: the number of the group of collections whose events are read; None: those of all collections.

    Attributes:
        token: behind everything that was read so far.

    Raises:
        HistoryLostError: the place is gone.
        RetriableSourceError: the server is away.
        SourceError: it refuses.
    """

    def __init__(
        self, client: Client, config: MongoDbConfig, start: StreamOffset | None, group: int | None = None
    ) -> None:
        self._config = config
        self._start = start
        self._id = 0
        self._first: list[Event] = []
        self._session = client.start_session(causal_consistency=False)
        database, collection = _target(config)
        self._database = client.get_database(database, codec_options=CODEC)
        command: Stage = {
            "aggregate": collection,
            "pipeline": stages(config, start, group),
            "cursor": {"batchSize": _batch_size(config) if start is not None else 0},
        }
        reply = self._command(command)
        self._take(reply["cursor"])
        self._first = reply["cursor"]["firstBatch"]

    def _take(self, cursor: Event) -> None:
        self._id = cursor["id"]
        self._collection = cursor["ns"].partition(".")[2]
        self.token: Token = cursor["postBatchResumeToken"]

    @property
    def alive(self) -> bool:
        """Whether there may be more."""
        return self._id != 0 or bool(self._first)

    def next(self, wait_ms: int) -> list[Event]:
        """The events that come next; none where none came within the time.

        Raises:
            HistoryLostError: the place is gone.
            RetriableSourceError: the connection is.
            SourceError: the server cannot go on.
        """
        first, self._first = self._first, []
        if first:
            return first
        command = {
            "getMore": self._id,
            "collection": self._collection,
            "batchSize": _batch_size(self._config),
            "maxTimeMS": max(1, wait_ms),
        }
        cursor = self._command(command)["cursor"]
        self._take(cursor)
        events: list[Event] = cursor["nextBatch"]
        return events

    def _command(self, command: Stage) -> dict[str, Any]:
        try:
            with told(self._config, "reading the change stream"):
                reply = self._database.command(command, session=self._session, codec_options=_RAW)
        except RetriableSourceError:
            self.close()
            raise
        except SourceError as error:
            at = self._reached()
            self.close()
            raise explained(error, self._config, at) from error.__cause__
        return bson.decode(reply.raw, CODEC)

    def _reached(self) -> Moment | None:
        """Up to when everything was read; None where nothing was asked for but what is new."""
        if self._id:
            return token_time(self.token)
        return None if self._start is None else self._start.time

    def close(self) -> None:
        """Lets the server forget the cursor."""
        if self._id:
            with suppress(PyMongoError):
                self._database.command({"killCursors": self._collection, "cursors": [self._id]}, session=self._session)
            self._id = 0
        self._first = []
        self._session.end_session()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _batch_size(config: MongoDbConfig) -> int:
    return min(config.max_batch_size, _LARGEST_BATCH)


def _target(config: MongoDbConfig) -> tuple[str, int | str]:
    """The database, and what the command aggregates there."""
    if config.capture_scope == "deployment":
        return "admin", 1
    database, _, collection = config.capture_target.partition(".")
    return (database, collection) if config.capture_scope == "collection" else (config.capture_target, 1)
