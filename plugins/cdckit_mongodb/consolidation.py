"""The one offset of a stream out of those that a Debezium connector left.

After the manual of Debezium's MongoDB connector, "How the connector performs offset consolidation". From 2.6 on there
is one offset; before, there was one for each replica set, which the partition names (`rs`), and in 2.2 to 2.5 one of
the name `cluster` where the connector read through a cluster's routers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence, Set

from cdckit import ConnectOffset, StateError
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.offsets import StreamOffset
from cdckit_mongodb.server.connection import Client, driver_errors, read_cluster

log = logging.getLogger("cdckit.mongodb")

OF_ALL_SHARDS = "cluster"
"""What stands in the place of a replica set's name where a connector read through routers."""
_NEW_SNAPSHOT = "start without its offset, with a new snapshot"


def consolidated(offsets: Sequence[ConnectOffset], config: MongoDbConfig, client: Callable[[], Client]) -> StreamOffset:
    """Where the stream goes on.

    Args:
        offsets: the connector's, each of another partition.
        config: the source's options.
        client: connects; called only where there are nothing but offsets of older versions.

    Raises:
        StateError: they do not say, or the connector's snapshot was not finished.
        SourceError: the servers cannot be asked.
    """
    found = {each.partition.get("rs"): StreamOffset.from_json(each.offset or {}) for each in offsets}
    for whole in (None, OF_ALL_SHARDS):
        if whole in found:
            return _begun(found[whole])
    by_set = {str(name): offset for name, offset in found.items()}
    cluster = read_cluster(client(), config)
    if cluster.kind == "replica set":
        return _begun(_of_set(by_set, cluster.name))
    return _of_shards(by_set, _shards(client(), config), incomplete=config.internal_mongodb_allow_offset_invalidation)


def _begun(offset: StreamOffset) -> StreamOffset:
    if offset.snapshot_due:
        raise StateError(f"the connector's snapshot was not finished: {_NEW_SNAPSHOT}")
    return offset


def _of_set(by_set: Mapping[str, StreamOffset], name: str) -> StreamOffset:
    if name in by_set:
        return by_set[name]
    raise StateError(
        f"the connector's offsets are of the replica set {', '.join(sorted(by_set))}, the servers are of {name}: "
        f"check mongodb.connection.string, or {_NEW_SNAPSHOT}"
    )


def _shards(client: Client, config: MongoDbConfig) -> Set[str]:
    """The names of the replica sets that are the cluster's shards."""
    with driver_errors(config, "reading config.shards"):
        return {shard["host"].partition("/")[0] for shard in client.config.shards.find()}


def _of_shards(by_shard: Mapping[str, StreamOffset], shards: Set[str], *, incomplete: bool) -> StreamOffset:
    """The time of the shard that is furthest behind: what the others had already told of comes once more.

    A shard that has left the cluster counts no more: the cluster's stream does not show it.
    """
    missing = ", ".join(sorted(shards - by_shard.keys()))
    present = [_begun(offset) for name, offset in by_shard.items() if name in shards]
    if not present or (missing and not incomplete):
        raise StateError(
            f"the connector's offsets know nothing of shard {missing}: {_NEW_SNAPSHOT}; where it has no changes that "
            "are missing, internal.mongodb.allow.offset.invalidation=true goes on from the other shards' offsets"
        )
    if missing:
        log.warning("the connector had no offset of shard %s: it is read from where the others are", missing)
    oldest = min(present, key=lambda offset: offset.time)
    return StreamOffset(sec=oldest.sec, ord=oldest.ord)
