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
from pymongo.read_preferences import Primary

from cdckit import DecodeError, RetriableSourceError, SourceError, StateError, StoppedError
from cdckit.waiting import ended_by_stop
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.offsets import Moment, StreamOffset
from cdckit_mongodb.options.stream import Stage
from cdckit_mongodb.server.connection import CODEC, UNREADABLE, Client, driver_errors, misread
from cdckit_mongodb.server.read_preference import OneMember, stream_preference
from cdckit_mongodb.streaming.lost import explained
from cdckit_mongodb.streaming.pipeline import stages
from cdckit_mongodb.tokens import Token, is_event, token_time

Event = dict[str, Any]

_UNREADABLE: tuple[type[Exception], ...] = (*UNREADABLE, StateError)
_LARGEST_BATCH = 512
"""Events an answer at the most: what is made of more does not stay in the processor's cache, and costs a tenth more."""
_RAW: CodecOptions[RawBSONDocument] = CodecOptions(document_class=RawBSONDocument)
"""How the driver is to see answers: it decodes those of commands without `CODEC`'s own types."""


class ChangeStream:
    """An open change stream.

    Args:
        client: where to.
        config: the source's options.
        start: where to go on; None: from now on, as the primary has it.
        group: the number of the group of collections whose events are read; None: those of all collections.

    Attributes:
        token: behind everything that was read so far.

    Raises:
        HistoryLostError: the place is gone.
        RetriableSourceError: the server is away.
        SourceError: it refuses.
        DecodeError: its answer cannot be understood.
    """

    def __init__(
        self, client: Client, config: MongoDbConfig, start: StreamOffset | None, group: int | None = None
    ) -> None:
        self._config = config
        self._start = start
        self._id = 0
        self._first: list[Event] = []
        # A cursor belongs to its session; causal consistency would have each command wait for what the last one has
        # seen.
        self._session = client.start_session(causal_consistency=False)
        self._preference = Primary() if start is None else stream_preference(client)
        database, collection = _target(config)
        self._database = client.get_database(database, codec_options=CODEC)
        command: Stage = {
            "aggregate": collection,
            "pipeline": stages(config, start, group),
            # Without a start only the place of now is wanted, and no event.
            "cursor": {"batchSize": _batch_size(config) if start is not None else 0},
        }
        self.token: Token = {}
        self._first = self._answer(self._command(command), "firstBatch")

    def _answer(self, reply: RawBSONDocument, member: str) -> list[Event]:
        """The events in an answer; what it says of the stream is noted."""
        try:
            cursor = bson.decode(reply.raw, CODEC)["cursor"]
            token, events = cursor["postBatchResumeToken"], cursor[member]
            token_time(token)
            is_event(token)
            if not all(
                type(event) is dict and type(event["_id"]) is dict and "_data" in event["_id"] for event in events
            ):
                raise ValueError("an event has no token")
            self._id, self._collection, self.token = int(cursor["id"]), cursor["ns"].partition(".")[2], token
        except _UNREADABLE as error:
            raise misread(
                self._config, f"reading the change stream behind {self._where()}", error, bytes(reply.raw)
            ) from error
        return list(events)

    def _where(self) -> str:
        at = self._reached()
        return "its begin" if at is None else f"{at[0]}:{at[1]}"

    @property
    def member(self) -> str:
        """The member that it is read from, by a preference for others than the primary; "" where there is none."""
        address = self._preference.address if isinstance(self._preference, OneMember) else None
        return "" if address is None else f"{address[0]}:{address[1]}"

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
            DecodeError: its answer cannot be understood.
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
        return self._answer(self._command(command), "nextBatch")

    def _command(self, command: Stage) -> RawBSONDocument:
        try:
            with driver_errors(self._config, "reading the change stream"):
                return self._database.command(
                    command, read_preference=self._preference, session=self._session, codec_options=_RAW
                )
        except (RetriableSourceError, StoppedError):
            self._id = 0  # to ask that server for anything else would be one more wait
            self.close()
            raise
        except DecodeError as error:
            raise DecodeError(f"{error}; it is the one behind {self._where()}") from error.__cause__
        except SourceError as error:
            at = self._reached()
            self.close()
            raise explained(error, self._config, at) from error.__cause__

    def _reached(self) -> Moment | None:
        """Up to when everything was read; None where nothing was asked for but what is new."""
        if self._id and self.token:
            return token_time(self.token)
        return None if self._start is None else self._start.time

    def close(self) -> None:
        """Lets the server forget the cursor."""
        if self._id:
            with suppress(PyMongoError, StoppedError), ended_by_stop():
                self._database.command(
                    {"killCursors": self._collection, "cursors": [self._id]},
                    read_preference=self._preference,
                    session=self._session,
                )
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
