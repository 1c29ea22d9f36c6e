"""What `cdc validate --connect` finds out about the servers: topology, rights, oplog, images, what is captured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cdckit import ConfigError, Finding, RetriableSourceError, SourceError, unmatched_findings
from cdckit_mongodb.captured_collections import captured_collections
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.filters import Filters
from cdckit_mongodb.images import images_finding
from cdckit_mongodb.server.clock import clock_finding
from cdckit_mongodb.server.connection import (
    Client,
    Cluster,
    connect,
    driver_errors,
    is_not_allowed,
    place,
    read_cluster,
)
from cdckit_mongodb.server.members import Members
from cdckit_mongodb.server.oplog_readiness import oplog_window
from cdckit_mongodb.server.rights import grant, needed_by_scope, rights_findings
from cdckit_mongodb.server.unmatched_lists import unmatched_entries
from cdckit_mongodb.server.versions import version_findings
from cdckit_mongodb.snapshot.whole import note_moment
from cdckit_mongodb.streaming.cursor import ChangeStream
from cdckit_mongodb.time_series import time_series_finding


def readiness(config: MongoDbConfig) -> Sequence[Finding]:
    """Whether servers, rights and settings are fit."""
    members = Members()
    try:
        client = connect(config, members)
    except ConfigError as error:
        return [Finding.of("connection", error, "correct that option")]
    except SourceError as error:
        return [Finding.of("connection", error, "check the name servers and mongodb.connection.string")]
    with client:
        try:
            members.await_primary(client, config, stopping=lambda: False)
            cluster = read_cluster(client, config)
        except SourceError as error:
            return [Finding.of("connection", error, "check the servers and mongodb.connection.string")]
        return list(_findings(client, config, cluster))


def _findings(client: Client, config: MongoDbConfig, cluster: Cluster) -> Iterator[Finding]:
    version = ".".join(map(str, cluster.version))
    named = f"{cluster.kind} {cluster.name}".strip()
    yield Finding("topology", "ok", f"{place(config)}: {named}, MongoDB {version}")
    yield from rights_findings(client, config)
    yield _stream(client, config)
    yield from _captured(client, config)
    yield oplog_window(client, cluster)
    yield from version_findings(config, cluster.version)
    with driver_errors(config, "asking for the time"):
        yield from clock_finding(client)


def _stream(client: Client, config: MongoDbConfig) -> Finding:
    """Opening the stream proves that its pipeline can be."""
    try:
        with ChangeStream(client, config, note_moment(client, config)) as stream:
            member = f", at {stream.member} by readPreference" if stream.member else ""
            return Finding("change stream", "ok", f"can be opened (capture.scope={config.capture_scope}){member}")
    except SourceError as error:
        return Finding.of("change stream", error, _remedy(error, config))


def _remedy(error: SourceError, config: MongoDbConfig) -> str:
    """Servers that are changing need time, users that are refused need rights."""
    if isinstance(error, RetriableSourceError):
        return "look again in a while: the primary is away, or is another one now"
    if is_not_allowed(error):
        return grant(needed_by_scope(config))
    return "correct what the server refuses"


def _captured(client: Client, config: MongoDbConfig) -> Iterator[Finding]:
    try:
        with driver_errors(config, "asking for the collections"):
            found = list(captured_collections(client, config, Filters(config)))
    except SourceError as error:
        yield Finding.of("collections", error, _remedy(error, config))
        return
    if found:
        yield Finding("collections", "ok", f"{len(found)} are captured")
    else:
        yield Finding(
            "collections", "warn", "none that there is now is captured", "check the include lists", number="CDC1210"
        )
    with driver_errors(config, "asking for the collections"):
        yield from unmatched_findings(unmatched_entries(client, config))
    yield from images_finding(client, config, found)
    yield from time_series_finding(found)
