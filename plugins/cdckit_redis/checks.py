"""What `cdc validate --connect` finds of the state store `redis`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cdckit import Finding, StateError
from cdckit_redis.connection import Execute, RedisConnection

_SUBJECT = "state store"


def findings(connection: RedisConnection) -> list[Finding]:
    """Whether the server answers, and whether it keeps what it is told, as far as it says.

    Raises:
        StateError: it does not answer, or refuses.
    """
    connection.run("asking for an answer", lambda execute: execute("PING"), attempts=1)
    told = Finding(_SUBJECT, "ok", f"Redis at {connection.place}: its keys are made at first use")
    try:
        facts = connection.run("asking for its settings", _facts, attempts=1)
    except StateError:
        return [told]
    return [told, *_doubts(connection.place, facts)]


def _facts(execute: Execute) -> dict[str, Any]:
    sections: list[dict[str, Any]] = [execute("INFO", name) for name in ("persistence", "memory", "replication")]
    return {name: value for section in sections for name, value in section.items()}


def _doubts(place: str, facts: dict[str, Any]) -> Iterator[Finding]:
    """What may cost a state."""
    if facts.get("role") == "slave":
        said = f"Redis at {place} is a replica, which takes no saves"
        yield Finding(_SUBJECT, "fail", said, "name the primary server", number="CDC1303")
    if facts.get("aof_enabled") == 0:
        said = f"Redis at {place} writes no append-only file: a restart of it may cost the last saves, or all of them"
        yield Finding(_SUBJECT, "warn", said, "set appendonly to yes", number="CDC1304")
    policy = str(facts.get("maxmemory_policy", ""))
    if facts.get("maxmemory") and policy.startswith("allkeys"):
        said = (
            f"Redis at {place} drops keys, those of states among them, where its memory is full (maxmemory-policy "
            f"{policy})"
        )
        remedy = "set maxmemory-policy to noeviction, or use another server"
        yield Finding(_SUBJECT, "warn", said, remedy, number="CDC1304")
