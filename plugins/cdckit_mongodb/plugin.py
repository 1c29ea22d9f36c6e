"""Registers the source `mongodb`."""

from __future__ import annotations

from collections.abc import Sequence

from cdckit import EventTraits, Registration, hookimpl

_PLACE = (("ts", "ts_ms"), ("ord", "ord"))
"""What tells events of the oplog apart."""


@hookimpl
def cdckit_sources() -> Sequence[Registration]:
    """The source for replica sets and sharded clusters."""
    return [
        Registration(
            name="mongodb",
            factory="cdckit_mongodb.source:MongoDbSource",
            config="cdckit_mongodb.config:MongoDbConfig",
            summary="document changes from the change stream of MongoDB, after a snapshot",
            extra="mongodb",
            requires=("pymongo", "bson", "cryptography"),
            aliases=("io.debezium.connector.mongodb.MongoDbConnector",),
            events=(
                EventTraits("mongodb", (("ts", "ts_ms"), ("ord", "ord")), ("before", "after", "updateDescription")),
            ),
        ),
    ]
