"""A capture that listens to signals in a collection."""

from __future__ import annotations

from typing import Any

from pymongo.database import Database

from cdckit.api.record import Record
from mongodb.capture import Capture, shown
from testkit.servers.mongodb import MongoReplicaSet


class Signalled(Capture):
    """A capture of collections `a` and `b` of a database, and of signals in its `signals`, in chunks of seven."""

    def __init__(self, mongo: MongoReplicaSet, database: Database[dict[str, Any]], **options: Any) -> None:
        self.database = database
        own = {
            "collection_include_list": rf"{database.name}\.(a|b)",
            "signal_data_collection": f"{database.name}.signals",
            "signal_poll_interval_ms": 10,
            "incremental_snapshot_chunk_size": 7,
            "snapshot_mode": "no_data",
        }
        super().__init__(mongo.uri, **{**own, **options})

    def name(self, collection: str) -> str:
        """The full name of one of the collections."""
        return f"{self.database.name}.{collection}"

    def signal(self, kind: str = "execute-snapshot", *, key: Any = None, **data: Any) -> None:
        """Writes a signal into the collection, with an `_id` of its own or the given one."""
        names = {name.replace("_", "-"): value for name, value in data.items()}
        own = {} if key is None else {"_id": key}
        self.database.signals.insert_one({**own, "type": kind, "data": names})

    def reads(self, *collections: str) -> list[Record]:
        """The documents that snapshots gave out: of these collections, or of both."""
        topics = {f"{self.options['topic.prefix']}.{self.name(one)}" for one in collections or ("a", "b")}
        return [record for record in self.records if record.topic in topics and shown(record)[0] == "r"]

    def told(self, aggregate: str = "Incremental Snapshot") -> list[str]:
        """The types of the notifications of one kind of snapshot."""
        return [one.type for one in self.notifications if one.aggregate_type == aggregate]
