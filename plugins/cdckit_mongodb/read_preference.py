"""`readPreference` of the connection string: snapshots follow it, the stream is always read from the primary."""

from __future__ import annotations

from collections.abc import Iterator

from cdckit.checks import Finding
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.connection import Client
from cdckit_mongodb.snapshot.modes import snapshot_mode

_LEADS_TO_THE_PRIMARY = frozenset({"primary", "primaryPreferred"})


def read_preference_findings(client: Client, config: MongoDbConfig) -> Iterator[Finding]:
    """Says that a preference for other members does not hold for the stream; nothing where none is asked for."""
    asked = client.read_preference.mongos_mode
    if asked in _LEADS_TO_THE_PRIMARY or not snapshot_mode(config).streams:
        return
    said = f"readPreference={asked}: snapshots follow it, the stream is read from the primary"
    message = f"mongodb.connection.string has {said}"
    yield Finding("readPreference", "warn", message, "expect the stream's load on the primary")
