"""Pre- and post-images, which servers keep for the collections that have them enabled, and for no other."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from itertools import groupby

from pymongo.errors import PyMongoError

from cdckit import Finding, some_names
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.filters import Filters
from cdckit_mongodb.server.connection import Client
from cdckit_mongodb.snapshot.collections import captured

log = logging.getLogger("cdckit.mongodb")

Name = tuple[str, str]

_OPTION = "changeStreamPreAndPostImages"
NAMED = 10
"""How many collections a message names."""


def images_finding(client: Client, config: MongoDbConfig, collections: Sequence[Name]) -> Iterator[Finding]:
    """Whether the captured collections have images enabled, where the options ask for them.

    Args:
        client: where to.
        config: the source's options.
        collections: database and name of each.
    """
    if not (config.asks_for_pre_images or config.asks_for_post_images):
        return
    try:
        without = _without_images(client, collections)
    except PyMongoError:
        remedy = "grant it, or look at db.getCollectionInfos()"
        yield Finding(_OPTION, "warn", "cannot be told without the right listCollections", remedy, number="CDC1224")
        return
    if without:
        remedy = f"db.runCommand({{collMod: NAME, {_OPTION}: {{enabled: true}}}})"
        yield Finding(
            _OPTION, "fail" if config.requires_images else "warn", _lacking(config, without), remedy, number="CDC1224"
        )
    else:
        yield Finding(_OPTION, "ok", "enabled on every captured collection")


def warn_of_missing_images(client: Client, config: MongoDbConfig, filters: Filters) -> None:
    """Says in the log which captured collections lack the images that the options ask for, as far as it can be told."""
    if not (config.asks_for_pre_images or config.asks_for_post_images):
        return
    try:
        without = _without_images(client, list(captured(client, config, filters)))
    except PyMongoError as error:
        log.info("whether %s is enabled on the captured collections cannot be told: %s", _OPTION, error)
        return
    if without:
        log.warning("%s is %s", _OPTION, _lacking(config, without))


def _without_images(client: Client, collections: Sequence[Name]) -> list[str]:
    return [
        f"{database}.{name}"
        for database, names in groupby(sorted(collections), lambda collection: collection[0])
        for keep in [_keeping(client, database)]
        for _, name in names
        if name not in keep
    ]


def _keeping(client: Client, database: str) -> set[str]:
    """The collections of a database that have images enabled."""
    with client[database].list_collections() as found:
        return {one["name"] for one in found if one.get("options", {}).get(_OPTION, {}).get("enabled")}


def _lacking(config: MongoDbConfig, without: Sequence[str]) -> str:
    parts = {"before": config.asks_for_pre_images, "after": config.asks_for_post_images}
    empty = " and ".join(part for part, asked in parts.items() if asked)
    named = some_names(without, NAMED)
    if config.requires_images:
        return f"not enabled on {named}: the first update there ends the pipeline, since an image is required"
    return f"not enabled on {named}: {empty} of updates{' and deletes' if parts['before'] else ''} will be null there"
