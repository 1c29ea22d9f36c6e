"""The headers that every change event carries: who made it, and in which run."""

from __future__ import annotations

import secrets
import time
from uuid import UUID

from cdckit.api.record import Header


def context_headers(logical_name: str, connector: str, run_id: str | None = None) -> tuple[Header, ...]:
    """The headers `__debezium.context.*`, the same for all records of a run.

    Args:
        logical_name: `topic.prefix`.
        connector: what `source.connector` says.
        run_id: the run's id, where several processes have one in common; by default a new one.
    """
    return (
        Header("__debezium.context.connectorLogicalName", logical_name),
        Header("__debezium.context.taskId", "0"),
        Header("__debezium.context.connectorName", connector),
        Header("__debezium.context.runId", run_id or str(time_ordered_uuid())),
    )


def time_ordered_uuid() -> UUID:
    """A UUID of version 7: milliseconds since 1970, then random bits (RFC 9562, section 5.7)."""
    milliseconds = time.time_ns() // 1_000_000
    number = milliseconds << 80 | 0x7 << 76 | secrets.randbits(12) << 64 | 0b10 << 62 | secrets.randbits(62)
    return UUID(int=number)
