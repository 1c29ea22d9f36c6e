"""The captured collections that there are now, as the servers list them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.filters import Filters
from cdckit_mongodb.server.connection import Client

IMAGES = "changeStreamPreAndPostImages"
"""The option of a collection that has the server keep pre- and post-images."""
_COLLECTION, _TIME_SERIES = "collection", "timeseries"


@dataclass(frozen=True, slots=True)
class CapturedCollection:
    """A collection that is captured.

    Attributes:
        database: its database.
        name: its name there.
        time_series: whether it is a time series, as far as the scope lets it be told.
        keeps_images: whether it has pre- and post-images enabled; None where the scope lists no collections.
    """

    database: str
    name: str
    time_series: bool = False
    keeps_images: bool | None = None

    @property
    def full_name(self) -> str:
        """`database.name`."""
        return f"{self.database}.{self.name}"


def captured_collections(
    client: Client, config: MongoDbConfig, filters: Filters, *, only_time_series: bool = False
) -> Iterator[CapturedCollection]:
    """Each of them; views have nothing to capture. A narrower scope needs no right to list the rest.

    Args:
        client: where to.
        config: the source's options.
        filters: what is captured.
        only_time_series: has the servers leave out all others.
    """
    database, _, collection = config.capture_target.partition(".")
    if config.capture_scope == "collection":
        if not only_time_series:
            yield CapturedCollection(database, collection)
        return
    kinds = [_TIME_SERIES] if only_time_series else [_COLLECTION, _TIME_SERIES]
    databases = [config.capture_target] if config.capture_scope == "database" else client.list_database_names()
    for one in filter(filters.database, databases):
        for listed in client[one].list_collections(filter={"type": {"$in": kinds}}):
            if filters.captures(one, listed["name"]):
                images = listed.get("options", {}).get(IMAGES, {})
                yield CapturedCollection(
                    one, listed["name"], listed["type"] == _TIME_SERIES, bool(images.get("enabled"))
                )


def captured_names(client: Client, config: MongoDbConfig, filters: Filters) -> Iterator[tuple[str, str]]:
    """The database and the name of each."""
    return ((one.database, one.name) for one in captured_collections(client, config, filters))
