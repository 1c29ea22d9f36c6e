"""Databases of MongoDB whose collections a sink keeps."""

from __future__ import annotations

from testkit.servers.mongodb import MongoReplicaSet


def source_of(mongo: MongoReplicaSet, database: str) -> dict[str, str]:
    """The options of a source that captures one database."""
    return {
        "type": "mongodb",
        "topic.prefix": "p",
        "mongodb.connection.string": mongo.uri,
        "database.include.list": database,
    }
