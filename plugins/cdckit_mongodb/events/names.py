"""Names of topics."""

from __future__ import annotations

import re

from cdckit_mongodb.config import MongoDbConfig

_NOT_IN_TOPICS = re.compile(r"[^A-Za-z0-9._-]")


class Topics:
    """The topics of one source."""

    def __init__(self, config: MongoDbConfig) -> None:
        self._prefix = config.topic_prefix
        self._delimiter = config.topic_delimiter
        self.transaction = _topic_name(f"{self._prefix}{self._delimiter}{config.topic_transaction}")
        prefixed = f"{config.topic_heartbeat_prefix}{self._delimiter}{self._prefix}"
        self.heartbeat = _topic_name(config.topic_heartbeat_name or prefixed)

    def data(self, database: str, collection: str) -> str:
        """The topic of a collection's changes, which is also what its schemas' names begin with."""
        return _topic_name(self._delimiter.join((self._prefix, database, collection)))


def _topic_name(name: str) -> str:
    """A name with what Kafka does not allow replaced by `_`."""
    return _NOT_IN_TOPICS.sub("_", name)
