"""Time series, of which change streams have no events: https://www.mongodb.com/docs/manual/core/timeseries/timeseries-limitations/."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

from pymongo.errors import PyMongoError

from cdckit import Finding, some_names
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.filters import Filters
from cdckit_mongodb.images import NAMED
from cdckit_mongodb.server.connection import Client
from cdckit_mongodb.snapshot.collections import captured_time_series

log = logging.getLogger("cdckit.mongodb")

_REMEDY = "name them in collection.exclude.list, or read them anew from time to time (cdc resnapshot)"


def time_series_finding(client: Client, config: MongoDbConfig) -> Iterator[Finding]:
    """Whether time series are captured."""
    found = list(captured_time_series(client, config, Filters(config)))
    if found:
        yield Finding("time series", "warn", _told(found), _REMEDY, number="CDC1226")


def warn_of_time_series(client: Client, config: MongoDbConfig, filters: Filters) -> None:
    """Says in the log which captured collections are time series, as far as it can be told."""
    try:
        found = list(captured_time_series(client, config, filters))
    except PyMongoError as error:
        log.info("whether time series are captured cannot be told: %s", error)
        return
    if found:
        log.warning("%s: %s", _told(found), _REMEDY)


def _told(names: Sequence[tuple[str, str]]) -> str:
    named = some_names([*map(".".join, names)], NAMED)
    return f"{named}: of time series snapshots have the documents, and the change stream has no events"
