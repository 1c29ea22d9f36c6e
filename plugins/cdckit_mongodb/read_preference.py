"""`readPreference` of the connection string: snapshots follow it, the stream is always read from the primary."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from cdckit.checks import Finding
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.connection import Client
from cdckit_mongodb.snapshot.modes import snapshot_mode

log = logging.getLogger("cdckit.mongodb")

_LEADS_TO_THE_PRIMARY = frozenset({"primary", "primaryPreferred"})


def warn_of_read_preference(client: Client, config: MongoDbConfig) -> None:
    """Says in the log that a preference for other members does not hold for the stream."""
    if message := _unfollowed(client, config):
        log.warning("%s", message)


def read_preference_findings(client: Client, config: MongoDbConfig) -> Iterator[Finding]:
    """The same for `cdc validate --connect`; nothing where there is nothing to say."""
    if message := _unfollowed(client, config):
        yield Finding("readPreference", "warn", message, "expect the stream's load on the primary")


def _unfollowed(client: Client, config: MongoDbConfig) -> str:
    asked = client.read_preference.mongos_mode
    if asked in _LEADS_TO_THE_PRIMARY or not snapshot_mode(config).streams:
        return ""
    said = f"readPreference={asked}: snapshots follow it, the stream is read from the primary"
    return f"mongodb.connection.string has {said}"
