"""Faults of tables and file systems that pass: somebody else has committed first, or a store is away for the moment."""

from __future__ import annotations

import re
from collections.abc import Iterator

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from cdckit.tables.lost_processes import lost_process

_CONFLICTS = (
    r"\b(?:Concurrent(?:Append|DeleteDelete|DeleteRead|Transaction|Write|Modification)"
    r"|MetadataChanged|ProtocolChanged)Exception\b|\bDELTA_(?:CONCURRENT_[A-Z_]+|METADATA_CHANGED|PROTOCOL_CHANGED)\b"
)
"""Of Delta Lake's commits (`io.delta.exceptions`)."""
_AWAY = (
    r"\bjava\.net\.(?:Connect|Socket|SocketTimeout|UnknownHost|NoRouteToHost)Exception\b"
    r"|\b(?:ConnectTimeout|HttpHostConnect|NoHttpResponse|ConnectionClosed)Exception\b"
    r"|\borg\.apache\.hadoop\.fs\.s3a\."
    r"(?:AWSServiceThrottled|AWSStatus500|AWSNoResponse|AWSClientIO|AWSApiCallTimeout)\w*Exception\b"
    r"|\borg\.apache\.hadoop\.ipc\.(?:Standby|Retriable)Exception\b|\bSafeModeException\b"
    r"|\bEnd of File Exception between local host is\b"
    r"|\bFailed on local exception: java\.io\.IOException: Connection reset\b"
    r"|\b(?:SlowDown|ServerBusy|ServiceUnavailable|OperationTimedOut|TooManyRequests)\b"
)
"""Of networks, HDFS and object stores, by the names that Hadoop's clients give them."""

_PASSING = re.compile(f"{_CONFLICTS}|{_AWAY}")
_SEALED = "[cdckit:"
"""An error of the project's own is what it is."""


def passes(error: BaseException | None) -> bool:
    """Whether the same work, done once more, may succeed."""
    text = "\n".join(texts(error))
    return _SEALED not in text and (_PASSING.search(text) is not None or lost_process(text) is not None)


def texts(error: BaseException | None) -> Iterator[str]:
    """What an error says, with those in Java behind it; the stack of a task that failed is in its message."""
    yield str(error)
    if isinstance(error, Py4JJavaError):
        yield from _causes(error.java_exception)
    elif isinstance(error, PySparkException):
        yield from _causes(getattr(error, "_origin", None))


def _causes(throwable: JavaObject | None) -> Iterator[str]:
    try:
        while throwable is not None:
            yield str(throwable.toString())
            throwable = throwable.getCause()
    except Py4JError:
        return
