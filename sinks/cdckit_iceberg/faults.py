"""Faults of pyiceberg, and of what it reaches catalogs and stores by."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module

import pyarrow as pa
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    NamespaceAlreadyExistsError,
    NoSuchIdentifierError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NotInstalledError,
    ResolveError,
    RESTError,
    ServerError,
    ServiceUnavailableError,
    SignError,
    TableAlreadyExistsError,
    TooManyRequestsError,
    ValidationError,
    ValidationException,
    WaitingForLockException,
)

_PASSING = (
    CommitFailedException,
    CommitStateUnknownException,
    ServerError,
    ServiceUnavailableError,
    TooManyRequestsError,
    WaitingForLockException,
)
_OTHERS = (
    NamespaceAlreadyExistsError,
    NotImplementedError,
    NoSuchIdentifierError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NotInstalledError,
    RESTError,
    ResolveError,
    SignError,
    TableAlreadyExistsError,
    ValidationError,
    ValidationException,
    ValueError,
)
_AWAY = re.compile(
    r"connection (?:refused|reset|closed|aborted)|timed? ?out|max retries exceeded|name or service not known"
    r"|database is locked|SlowDown|ServiceUnavailable|TooManyRequests|InternalError"
    r"|(?:HTTP status |status code:? |\()50[0234]\b|\b50[0234] Server Error"
    r"|Throttling|InternalServiceException|OperationTimeoutException",
    re.IGNORECASE,
)
"""Of catalogs and stores that are away for the moment."""


_CLIENTS = {
    "sqlalchemy.exc": ("SQLAlchemyError",),
    "botocore.exceptions": ("BotoCoreError", "ClientError"),
    "thrift.Thrift": ("TException",),
}
"""The errors of what reaches catalogs: databases, Glue, Hive."""


_LINES = {
    "botocore.exceptions": ("ConnectionError", "HTTPClientError"),
    "thrift.transport.TTransport": ("TTransportException",),
}
"""Those that are said of the line alone: Glue or a metastore is away, or has hung up."""


def _installed(clients: Mapping[str, Iterable[str]]) -> Iterator[type[Exception]]:
    for name, errors in clients.items():
        try:
            module = import_module(name)
        except ImportError:
            continue
        yield from (getattr(module, error) for error in errors)


_PASSES: tuple[type[Exception], ...] = (*_PASSING, *_installed(_LINES))
KINDS: tuple[type[Exception], ...] = (*_PASSING, *_OTHERS, *_installed(_CLIENTS))
"""The errors that are told as a sink's; those of networks and files are the system's (`OSError`)."""
FAULTS: tuple[type[Exception], ...] = (*KINDS, OSError, ImportError)
"""Those, and what is missing or away."""


def passes(error: Exception) -> bool:
    """Whether the same work, done once more, may succeed: somebody else has committed first, for one."""
    if refuses_rows(error):
        return False
    return isinstance(error, _PASSES) or _AWAY.search(str(error)) is not None


def refuses_rows(error: Exception) -> bool:
    """Whether it is said of what rows hold."""
    return isinstance(error, pa.ArrowInvalid)
