"""Entries of the include lists that match nothing on the servers."""

from __future__ import annotations

from collections.abc import Iterator

from cdckit import Unmatched
from cdckit.connector.include_lists import unmatched
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.filters import Filters
from cdckit_mongodb.server.connection import Client


def unmatched_entries(client: Client, config: MongoDbConfig) -> Iterator[Unmatched]:
    """Each of them. A collection counts where its database may be captured.

    With `capture.scope=collection` there is nothing to choose from.
    """
    if config.capture_scope == "collection" or not (config.database_include_list or config.collection_include_list):
        return
    every = [config.capture_target] if config.capture_scope == "database" else client.list_database_names()
    literal = config.filters_match_mode == "literal"
    yield from unmatched(config.database_include_list, every, "database.include.list", literal=literal)
    if config.collection_include_list:
        chosen = filter(Filters(config).database, every)
        names = [f"{database}.{name}" for database in chosen for name in client[database].list_collection_names()]
        yield from unmatched(config.collection_include_list, names, "collection.include.list", literal=literal)
