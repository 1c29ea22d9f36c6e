"""Places that the change stream cannot go on from: what the server's errors mean, and how much is lost."""

from __future__ import annotations

from datetime import UTC

from pymongo.errors import OperationFailure, PyMongoError

from cdckit import SourceError
from cdckit.connector.durations import duration
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.offsets import Moment
from cdckit_mongodb.server.connection import Client, place
from cdckit_mongodb.server.oplog import clock_text, moment_told, oplog_ends

_GONE = frozenset({136, 286})
"""CappedPositionLost and ChangeStreamHistoryLost."""
_FATAL = 280
"""ChangeStreamFatalError: of a token that the oplog does not have, but also of what a user's stage did."""
_NOT_FOUND = "resume token was not found"
_UNREADABLE = frozenset({15, 260, 40647, 40649, 50811})
"""InvalidResumeToken, and what the server's reading of a key string or of its document ends with."""
_NO_HEXADECIMAL = 9
_OF_STAGES = frozenset({2, 9, 14, 72, 40324})
"""BadValue, FailedToParse, TypeMismatch, InvalidOptions, and what the server says of a stage that it does not know."""
_TOO_LARGE = frozenset({10334, 17280, 5317401})
_NO_IMAGE = 47
"""NoMatchingDocument."""


class HistoryLostError(SourceError):
    """The stream cannot go on from its place.

    Args:
        said: why.
        gone: when the place was, if the oplog has dropped it; None: the token itself is of no use.
    """

    number = "CDC3101"

    def __init__(self, said: str, gone: Moment | None = None) -> None:
        super().__init__(said)
        self.gone = gone


def explained(error: SourceError, config: MongoDbConfig, at: Moment | None) -> SourceError:
    """What a refusal of the server means.

    Args:
        error: the refusal; its cause is the driver's.
        config: the source's options.
        at: behind which time the stream was to go on; None: a new one.
    """
    cause = error.__cause__
    if not isinstance(cause, OperationFailure):
        return error
    code = cause.code
    if code in _TOO_LARGE:
        return SourceError(
            f"{error}; an event is larger than 16 MB: cursor.oversize.handling.mode=split has the server "
            "send it in fragments, skip leaves it out",
            number="CDC3305",
        )
    if code == _NO_IMAGE and config.requires_images:
        return SourceError(
            f"{error}; enable changeStreamPreAndPostImages on the collection before it changes and keep images long "
            "enough (expireAfterSeconds), or do without: capture.mode.pre.image=when_available, "
            "capture.mode.full.update.type=post_image"
        )
    if code == _FATAL and _NOT_FOUND not in _said(cause):
        return SourceError(f"{error}; where a stage of cursor.pipeline changes _id, the resume token, take it out")
    if config.cursor_pipeline and code in _OF_STAGES:
        return SourceError(f"{error}; correct cursor.pipeline")
    return error if at is None else _explained_place(error, cause, config, at)


def _explained_place(error: SourceError, cause: OperationFailure, config: MongoDbConfig, at: Moment) -> SourceError:
    """What a refusal means that may be of the place alone."""
    code, said = cause.code, _said(cause)
    if code in _GONE:
        return HistoryLostError(f"{place(config)}: the place after {moment_told(at)} is gone from the oplog", at)
    if code == _FATAL:
        return HistoryLostError(
            f"{place(config)}: the oplog has no event with the offset's resume token, of {moment_told(at)}: the "
            "servers are others or were restored, or cursor.pipeline or the include lists leave that event out now"
        )
    if code in _UNREADABLE or (code == _NO_HEXADECIMAL and "resume token" in said):
        kind = (cause.details or {}).get("codeName", code)
        return HistoryLostError(
            f"{place(config)}: the offset's resume token is damaged or of no use, which is no loss of history "
            f"({kind}: {said})"
        )
    return error


def _said(cause: OperationFailure) -> str:
    return (cause.details or {}).get("errmsg") or str(cause)


def unrecoverable(client: Client, error: HistoryLostError) -> SourceError:
    """The error that ends a pipeline, with the time that is lost and what to do."""
    return SourceError(f"{with_lost_time(client, error)}; {advice(client, error)}", number=error.number)


def advice(client: Client, error: HistoryLostError) -> str:
    """What to do where no new snapshot is taken by itself."""
    if error.gone is None:
        return (
            "correct the offset with `cdc offsets set`, "
            "or take a new snapshot: snapshot.mode=when_needed, or `cdc offsets reset`"
        )
    return (
        f"snapshot.mode=when_needed takes a new snapshot, as does `cdc offsets reset`{_going_on(client)}; "
        "a larger oplog (replSetResizeOplog, storage.oplogMinRetentionHours) keeps more"
    )


def with_lost_time(client: Client, error: HistoryLostError) -> str:
    """What happened, and from when to when changes are lost; at the most, where the oplog cannot be read."""
    if error.gone is None:
        return str(error)
    since = error.gone[0]
    ends = oplog_ends(client)
    if ends is not None and ends[0] > error.gone:
        oldest = ends[0][0]
        return f"{error}, which begins at {clock_text(oldest)}: the changes of {duration(oldest - since)} are lost"
    try:
        hello = client.admin.command("hello")
    except PyMongoError:
        return f"{error}: changes are lost"
    now = int(hello["localTime"].replace(tzinfo=UTC).timestamp())
    message = f"{error}: changes of up to {duration(max(0, now - since))}, until {clock_text(now)}, are lost"
    readable = ends is not None or "setName" not in hello
    return message if readable else f"{message}; with the right find on local.oplog.rs this could be told exactly"


def _going_on(client: Client) -> str:
    ends = oplog_ends(client)
    if ends is None:
        return ""
    (sec, order), _ = ends
    return f'; `cdc offsets set` with {{"sec": {sec}, "ord": {order}}} goes on without what is lost'
