"""What `cdc validate --connect` finds of the state store `redis`."""

from __future__ import annotations

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


def _doubts(place: str, facts: dict[str, Any]) -> list[Finding]:
    """What may cost a state."""
    found = []
    if facts.get("role") == "slave":
        found.append(
            Finding(
                _SUBJECT,
                "fail",
                f"Redis at {place} is a replica, which takes no saves",
                "name the primary server",
                number="CDC1303",
            )
        )
    if facts.get("aof_enabled") == 0:
        found.append(
            Finding(
                _SUBJECT,
                "warn",
                f"Redis at {place} writes no append-only file: a restart of it may cost the last saves, or all of them",
                "set appendonly to yes",
                number="CDC1304",
            )
        )
    policy = str(facts.get("maxmemory_policy", ""))
    if facts.get("maxmemory") and policy.startswith("allkeys"):
        found.append(
            Finding(
                _SUBJECT,
                "warn",
                f"Redis at {place} drops keys, those of states among them, where its memory is full (maxmemory-policy "
                f"{policy})",
                "set maxmemory-policy to noeviction, or use another server",
                number="CDC1304",
            )
        )
    return found
