"""Time series, of which change streams have no events: https://www.mongodb.com/docs/manual/core/timeseries/timeseries-limitations/."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

from pymongo.errors import PyMongoError

from cdckit import Finding, some_names
from cdckit_mongodb.captured_collections import CapturedCollection, captured_collections
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.filters import Filters
from cdckit_mongodb.images import NAMED
from cdckit_mongodb.server.connection import Client

log = logging.getLogger("cdckit.mongodb")

_REMEDY = "name them in collection.exclude.list, or read them anew from time to time (cdc resnapshot)"


def time_series_finding(collections: Sequence[CapturedCollection]) -> Iterator[Finding]:
    """Whether some of the captured collections are time series."""
    found = [one for one in collections if one.time_series]
    if found:
        yield Finding("time series", "warn", _told(found), _REMEDY, number="CDC1226")


def warn_of_time_series(client: Client, config: MongoDbConfig, filters: Filters) -> None:
    """Says in the log which captured collections are time series, as far as it can be told."""
    try:
        found = list(captured_collections(client, config, filters, only_time_series=True))
    except PyMongoError as error:
        log.info("whether time series are captured cannot be told: %s", error)
        return
    if found:
        log.warning("%s: %s", _told(found), _REMEDY)


def _told(found: Sequence[CapturedCollection]) -> str:
    named = some_names([one.full_name for one in found], NAMED)
    return f"{named}: of time series snapshots have the documents, and the change stream has no events"
