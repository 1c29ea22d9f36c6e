"""What servers of older versions cannot do."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from cdckit import Finding, SourceError
from cdckit_mongodb.config import MongoDbConfig

log = logging.getLogger("cdckit.mongodb")

Version = tuple[int, ...]

_TESTED_FROM = (6, 0)
_IMAGES_FROM = (6, 0)
"""Of pre- and post-images (MongoDB's manual, "Change Streams with Document Pre- and Post-Images")."""
_SPLITS_FROM = (6, 0, 9)
"""Of `$changeStreamSplitLargeEvent` (MongoDB's manual)."""


def check_version(config: MongoDbConfig, version: Version) -> None:
    """Says what to expect of a server's version.

    Raises:
        SourceError: an option needs a newer one.
    """
    for finding in version_findings(config, version):
        if finding.status == "fail":
            raise SourceError(f"{finding.name}: {finding.message}; {finding.remedy}", number="CDC3304")
        log.warning("%s", finding.message)


def version_findings(config: MongoDbConfig, version: Version) -> Iterator[Finding]:
    """What is to be said of a server's version; nothing where all is well."""
    text = ".".join(map(str, version))
    if version < _TESTED_FROM:
        message = f"MongoDB {text} is older than 6.0, the oldest that this source is tested with"
        yield Finding("version", "warn", message, "use MongoDB 6.0 or newer", number="CDC1222")
    if config.cursor_oversize_handling_mode == "split" and version < _SPLITS_FROM:
        message = f"MongoDB {text} has no $changeStreamSplitLargeEvent"
        yield Finding(
            "cursor.oversize.handling.mode",
            "fail",
            message,
            "use MongoDB 6.0.9 or newer, or another mode",
            number="CDC1222",
        )
    if (config.asks_for_pre_images or config.asks_for_post_images) and version < _IMAGES_FROM:
        message = f"MongoDB {text} keeps no pre- and post-images"
        remedy = "use MongoDB 6.0 or newer, or another mode and lookup for capture.mode.full.update.type"
        yield Finding("capture.mode", "fail", message, remedy, number="CDC1222")
