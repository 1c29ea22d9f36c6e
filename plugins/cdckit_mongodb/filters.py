"""Which databases and collections are captured."""

from __future__ import annotations

from functools import cache

from cdckit import split_names
from cdckit.connector.include_lists import Choice
from cdckit_mongodb.config import MongoDbConfig

BUILTIN_DATABASES = frozenset({"admin", "config", "local"})


class Names:
    """An include list or an exclude list of names as they are; made as a `Choice` is."""

    def __init__(self, include: str, exclude: str, _options: str = "") -> None:
        self._include, self._exclude = frozenset(split_names(include)), frozenset(split_names(exclude))

    def __call__(self, name: str) -> bool:
        """Whether a name is chosen."""
        return name in self._include if self._include else name not in self._exclude


class Filters:
    """The capture lists of a configuration, and the scope of its stream.

    Args:
        config: the source's options.
        group: the number of the group of collections (`capture.collection.groups`) that is captured; None: all of them.
    """

    def __init__(self, config: MongoDbConfig, group: int | None = None) -> None:
        chosen = Choice if config.filters_match_mode == "regex" else Names
        self._databases = chosen(config.database_include_list, config.database_exclude_list, "database")
        self._collections = chosen(config.collection_include_list, config.collection_exclude_list, "collection")
        self._snapshot = Choice(config.snapshot_include_collection_list, "")
        self._scope = config.capture_scope
        self._target = config.capture_target
        self._groups = [chosen(group, "") for group in config.capture_collection_groups]
        self._group = group
        self.captures = cache(self._captures)

    def database(self, name: str) -> bool:
        """Whether collections of the database may be captured."""
        if name in BUILTIN_DATABASES or (self._scope == "database" and name != self._target):
            return False
        if self._scope == "collection" and name != self._target.partition(".")[0]:
            return False
        return self._databases(name)

    def _captures(self, database: str, collection: str) -> bool:
        """Whether a collection is captured."""
        name = f"{database}.{collection}"
        if collection.startswith("system.") or (self._scope == "collection" and name != self._target):
            return False
        return self.database(database) and self._collections(name) and self._group in (None, self._group_of(name))

    def _group_of(self, name: str) -> int:
        """The number of the first group that a collection belongs to; that of the rest comes last."""
        found = (number for number, chosen in enumerate(self._groups) if chosen(name))
        return next(found, len(self._groups))

    def snapshot(self, database: str, collection: str) -> bool:
        """Whether a captured collection's documents are read by the snapshot."""
        return self._snapshot(f"{database}.{collection}")
