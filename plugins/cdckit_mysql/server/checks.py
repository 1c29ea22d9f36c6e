"""What a server must have set for its log to be read."""

from __future__ import annotations

import logging

from cdckit import SourceError
from cdckit_mysql.server.facts import Server

log = logging.getLogger("cdckit.mysql")


def check_log(server: Server, place: str) -> None:
    """Whether the server logs rows.

    Args:
        server: what it says of itself.
        place: its name in messages.

    Raises:
        SourceError: it does not; the message says what to set.
    """
    if not server.log_on:
        raise SourceError(
            f"{place} ({server.name}) writes no binary log: set log_bin and a server_id in its configuration, "
            "and restart it"
        )
    if server.log_format != "ROW":
        raise SourceError(
            f"{place} ({server.name}) logs statements, not rows: set binlog_format=ROW (it is {server.log_format}), "
            "and let sessions that are open connect anew"
        )


def say_row_image(server: Server, place: str) -> None:
    """Warns where rows are logged in part."""
    if server.row_image != "FULL":
        log.warning(
            "%s logs only some columns of changed rows (binlog_row_image=%s): columns that the log does not carry "
            "become unavailable.value.placeholder or null",
            place,
            server.row_image,
        )
