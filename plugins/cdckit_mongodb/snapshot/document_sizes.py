"""How large the documents of a collection are, on the average."""

from __future__ import annotations

from typing import Any

from pymongo.errors import OperationFailure

from cdckit_mongodb.server.connection import Client
from cdckit_mongodb.snapshot.collections import ChosenCollection

_UNKNOWN = 500
"""What a document is taken for where the server does not tell."""
_MEASURED = 100
"""So many are looked at where the user may not ask for a collection's statistics."""


class DocumentSizes:
    """Asks once for each collection."""

    def __init__(self) -> None:
        self._bytes: dict[str, int] = {}

    def of(self, client: Client, collection: ChosenCollection) -> int:
        """About how many bytes a document takes, at least 1.

        Raises:
            PyMongoError: the server does not answer.
        """
        name = collection.full_name
        if name not in self._bytes:
            self._bytes[name] = max(1, int(_told(client, collection) or _measured(client, collection) or _UNKNOWN))
        return self._bytes[name]


def _told(client: Client, collection: ChosenCollection) -> float | None:
    """By `collStats`, for which there is a right of its own; of a time series it tells what its buckets take."""
    if not collection.indexed:
        return None
    try:
        size = client[collection.database].command({"collStats": collection.name}).get("avgObjSize")
    except OperationFailure:
        return None
    return None if size is None else float(size)


def _measured(client: Client, collection: ChosenCollection) -> float | None:
    """By its first documents."""
    stages: list[dict[str, Any]] = [
        {"$limit": _MEASURED},
        {"$group": {"_id": None, "bytes": {"$avg": {"$bsonSize": "$$ROOT"}}}},
    ]
    try:
        found = next(client[collection.database][collection.name].aggregate(stages), None)
    except OperationFailure:
        return None
    return None if found is None else float(found["bytes"])
