"""The headers that every change event carries: who made it, and in which run."""

from __future__ import annotations

import secrets
import time
from uuid import UUID

from cdckit.record import Header
from cdckit.struct import Struct
from cdckit_mysql.config import MySqlConfig


def context_headers(config: MySqlConfig) -> tuple[Header, ...]:
    """The headers `__debezium.context.*`, the same for all records of a run."""
    if not config.extended_headers_enabled:
        return ()
    return (
        Header("__debezium.context.connectorLogicalName", config.topic_prefix),
        Header("__debezium.context.taskId", "0"),
        Header("__debezium.context.connectorName", config.connector),
        Header("__debezium.context.runId", str(time_ordered_uuid())),
    )


def key_header(name: str, key: Struct) -> Header:
    """The header that tells the other key of a row whose key has changed."""
    return Header(name, key, key.schema)


def time_ordered_uuid() -> UUID:
    """A UUID of version 7: milliseconds since 1970, then random bits (RFC 9562, section 5.7)."""
    milliseconds = time.time_ns() // 1_000_000
    number = milliseconds << 80 | 0x7 << 76 | secrets.randbits(12) << 64 | 0b10 << 62 | secrets.randbits(62)
    return UUID(int=number)
