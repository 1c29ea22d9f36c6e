"""Pre- and post-images, which servers keep for the collections that have them enabled, and for no other."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence

from pymongo.errors import PyMongoError

from cdckit import Finding, some_names
from cdckit_mongodb.captured_collections import IMAGES, CapturedCollection, captured_collections
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.filters import Filters
from cdckit_mongodb.server.connection import Client

log = logging.getLogger("cdckit.mongodb")

NAMED = 10
"""How many collections a message names."""


def images_finding(client: Client, config: MongoDbConfig, found: Sequence[CapturedCollection]) -> Iterator[Finding]:
    """Whether the captured collections have images enabled, where the options ask for them.

    Args:
        client: where to.
        config: the source's options.
        found: the captured collections.
    """
    if not (config.asks_for_pre_images or config.asks_for_post_images):
        return
    try:
        without = _without_images(client, found)
    except PyMongoError:
        remedy = "grant it, or look at db.getCollectionInfos()"
        yield Finding(IMAGES, "warn", "cannot be told without the right listCollections", remedy, number="CDC1224")
        return
    if without:
        remedy = f"db.runCommand({{collMod: NAME, {IMAGES}: {{enabled: true}}}})"
        yield Finding(
            IMAGES, "fail" if config.requires_images else "warn", _lacking(config, without), remedy, number="CDC1224"
        )
    else:
        yield Finding(IMAGES, "ok", "enabled on every captured collection")


def warn_of_missing_images(client: Client, config: MongoDbConfig, filters: Filters) -> None:
    """Says in the log which captured collections lack the images that the options ask for, as far as it can be told."""
    if not (config.asks_for_pre_images or config.asks_for_post_images):
        return
    try:
        without = _without_images(client, captured_collections(client, config, filters))
    except PyMongoError as error:
        log.info("whether %s is enabled on the captured collections cannot be told: %s", IMAGES, error)
        return
    if without:
        log.warning("%s is %s", IMAGES, _lacking(config, without))


def _without_images(client: Client, collections: Iterable[CapturedCollection]) -> list[str]:
    return sorted(one.full_name for one in collections if not _keeps_images(client, one))


def _keeps_images(client: Client, collection: CapturedCollection) -> bool:
    if collection.keeps_images is not None:
        return collection.keeps_images
    with client[collection.database].list_collections(filter={"name": collection.name}) as found:
        return any(one.get("options", {}).get(IMAGES, {}).get("enabled") for one in found)


def _lacking(config: MongoDbConfig, without: Sequence[str]) -> str:
    parts = {"before": config.asks_for_pre_images, "after": config.asks_for_post_images}
    empty = " and ".join(part for part, asked in parts.items() if asked)
    named = some_names(without, NAMED)
    if config.requires_images:
        return f"not enabled on {named}: the first update there ends the pipeline, since an image is required"
    return f"not enabled on {named}: {empty} of updates{' and deletes' if parts['before'] else ''} will be null there"
