"""Queries that users write: whether the server understands them."""

from __future__ import annotations

from cdckit import RetriableSourceError, SourceError
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.options.stream import Stage
from cdckit_mongodb.server.connection import Client, driver_errors


def why_refused(client: Client, config: MongoDbConfig, collection: str, query: Stage) -> SourceError | None:
    """Has the server plan a query, which reads nothing; why it refuses, or None.

    Args:
        client: where to.
        config: the source's options.
        collection: what is to be read, `database.name`.
        query: a query document.

    Raises:
        RetriableSourceError: the server is away.
    """
    database, _, name = collection.partition(".")
    try:
        with driver_errors(config, f"planning to read {collection}"):
            client[database].command("explain", {"find": name, "filter": query}, verbosity="queryPlanner")
    except RetriableSourceError:
        raise
    except SourceError as error:
        return error
    return None
