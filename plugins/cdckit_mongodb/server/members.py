"""The servers behind a connection string, as the driver's monitoring sees them, and the wait for their primary."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

import pymongo
from pymongo.errors import ConfigurationError, ServerSelectionTimeoutError
from pymongo.monitoring import (
    ServerHeartbeatFailedEvent,
    ServerHeartbeatListener,
    ServerHeartbeatStartedEvent,
    ServerHeartbeatSucceededEvent,
)
from pymongo.server_description import ServerDescription

from cdckit import RetriableSourceError, SourceError
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.server.connection import Client, driver_errors, place, reason

log = logging.getLogger("cdckit.mongodb")

_SLICE = 0.2
"""After so many seconds without a primary, the wait looks whether the pipeline is to stop."""

_STATES = {
    "RSSecondary": "is a secondary",
    "RSArbiter": "is an arbiter",
    "RSGhost": "is not initiated as a member of a replica set: rs.initiate() does that",
    "RSOther": "is starting or recovering",
    "RSPrimary": "is a primary",
    "Unknown": "has not answered yet",
}


_HINTS = {
    "SSL handshake failed": "does it speak TLS (mongodb.ssl.enabled)?",
    "connection closed": "may it want TLS (mongodb.ssl.enabled)?",
}
"""What errors may mean that do not say it, from servers that were never reached."""

_Address = tuple[str, int | None]


class Members(ServerHeartbeatListener):
    """What each server last said it is; listens to one client, from its monitoring threads."""

    def __init__(self) -> None:
        self._heard: dict[_Address, ServerDescription] = {}
        self._said: set[str] = set()
        self._reached = False

    def started(self, event: ServerHeartbeatStartedEvent) -> None:
        """Nothing is known by that."""

    def succeeded(self, event: ServerHeartbeatSucceededEvent) -> None:
        """A server has answered, before the driver decides whether it watches it any more."""
        self._heard[event.connection_id] = ServerDescription(event.connection_id, event.reply)

    def failed(self, event: ServerHeartbeatFailedEvent) -> None:
        """The driver goes on to watch it, and knows why."""

    def await_primary(self, client: Client, config: MongoDbConfig, stopping: Callable[[], bool]) -> None:
        """Waits up to `mongodb.server.selection.timeout.ms` for a server that takes writes.

        Args:
            client: the one that is listened to.
            config: the source's options.
            stopping: asked whether the wait is to end.

        Raises:
            RetriableSourceError: there is none.
            SourceError: there can be none: the servers are not those that the options tell of.
        """
        seconds = config.mongodb_server_selection_timeout_ms / 1000
        until = time.monotonic() + seconds
        while not _has_primary(client, config):
            self._refuse(client, config)
            said = f"{place(config)}, connecting: no primary: {self._states(client)}"
            if stopping() or time.monotonic() >= until:
                raise RetriableSourceError(said)
            if said not in self._said:  # a server that hangs up gives several reasons in turn
                log.warning("%s; waiting for one, up to %g s", said, seconds)
            self._said.add(said)
        self._said.clear()
        self._reached = True

    def _refuse(self, client: Client, config: MongoDbConfig) -> None:
        """Raises where every server has said why it can never be the one."""
        faults = [_fault(server, client.options.replica_set_name) for server in self._known(client)]
        if faults and None not in faults:
            raise SourceError(f"{place(config)}: {'; '.join(filter(None, faults))}", number="CDC3201")

    def _states(self, client: Client) -> str:
        name = client.options.replica_set_name
        states = [_fault(server, name) or self._state(server) for server in self._known(client)]
        return "; ".join(states) or f"no server is a member of the replica set '{name}'"

    def _state(self, server: ServerDescription) -> str:
        if server.error is None:
            return f"{_name(server)} {_STATES.get(server.server_type_name, server.server_type_name)}"
        said = reason(server.error)
        hints = [] if self._reached else [hint for mark, hint in _HINTS.items() if mark in said]
        return "; ".join([said, *hints])

    def _known(self, client: Client) -> Iterable[ServerDescription]:
        """Every server as it is now; those that the driver has passed over as they were last."""
        return {**self._heard, **client.topology_description.server_descriptions()}.values()


def _has_primary(client: Client, config: MongoDbConfig) -> bool:
    with driver_errors(config, "connecting"), suppress(ServerSelectionTimeoutError), pymongo.timeout(_SLICE):
        _ = client.is_primary
        return True
    return False


def _fault(server: ServerDescription, name: str | None) -> str | None:
    """Why no waiting makes a server the primary of the set with that name."""
    if isinstance(server.error, ConfigurationError):
        return f"{_name(server)}: {server.error}; correct replicaSet in mongodb.connection.string"
    if server.error is not None:
        said = reason(server.error)
        hint = "check mongodb.ssl.truststore and mongodb.ssl.invalid.hostname.allowed"
        return f"{said}; {hint}" if "certificate verify failed" in said else None
    kind, found = server.server_type_name, server.replica_set_name
    if kind == "Standalone":
        return (
            f"{_name(server)} is a server alone, without an oplog, so it has no change stream: start it with "
            "--replSet and initiate a replica set of one member"
        )
    if name and kind == "Mongos":
        return f"{_name(server)} is a router of a sharded cluster: take replicaSet={name} out of the connection string"
    if name and found and name != found:
        return (
            f"{_name(server)} is a member of the replica set '{found}', not of '{name}': correct replicaSet in "
            "mongodb.connection.string, or the name in mongodb.hosts"
        )
    return None


def _name(server: ServerDescription) -> str:
    host, port = server.address
    return f"{host}:{port}"
