"""The server's error packets as this project's errors."""

from __future__ import annotations

from pymysql.constants import ER

from cdckit import RetriableSourceError, SourceError

PURGED = frozenset({ER.MASTER_FATAL_ERROR_READING_BINLOG, 1789, *range(1945, 1956)})
"""Codes by which a server says that it cannot give the log from the asked position."""

_DENIED = frozenset(
    {
        ER.DBACCESS_DENIED_ERROR,
        ER.TABLEACCESS_DENIED_ERROR,
        ER.COLUMNACCESS_DENIED_ERROR,
        ER.SPECIFIC_ACCESS_DENIED_ERROR,
    }
)
_SAME_ID = "server_uuid/server_id"
"""In the server's words when a replica with the same number has connected; its code is that of a lost position."""
_TRANSIENT = frozenset(
    {1053, 1077, 1078, 1079, 1080, 1152, 1158, 1159, 1160, 1161, 1184, 1412, 1927, 2006, 2013, 3024, 4031}
)
"""Codes of a server that stops, of a connection that was cut or killed, of a table changed within a transaction."""


class PositionLostError(SourceError):
    """The server no longer has (or never had) the log at the asked position."""

    number = "CDC3101"


class LogEndedError(RetriableSourceError):
    """The log ended before a place that it was to reach."""

    number = "CDC3105"


def server_error(code: int, message: str, what: str, user: str | bytes | None = None) -> SourceError:
    """The error for what a server answered.

    Args:
        code: the number of the error.
        message: the server's words.
        what: what was asked for, such as `the binary log from binlog.000003:157`.
        user: as whom, where that is known.
    """
    text = f"{what}: the server answered {code}: {message}"
    if _SAME_ID in message:
        said = f"{text}; set database.server.id to a number that no other replica or pipeline has"
        return SourceError(said, number="CDC3205")
    if code in _DENIED:
        name = user.decode("utf-8", "replace") if isinstance(user, bytes) else user or "USER"
        return SourceError(
            f"{text}; user '{name}' lacks a privilege: GRANT SELECT, RELOAD, SHOW DATABASES, REPLICATION SLAVE, "
            f"REPLICATION CLIENT ON *.* TO '{name}'@'%'",
            number="CDC3203",
        )
    if code in PURGED:
        return PositionLostError(text)
    if code in _TRANSIENT:
        return RetriableSourceError(text)
    return SourceError(text)
