"""Sees to it that captured tables do not share a topic by accident."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cdckit.connector.topic_owners import TopicOwners
from cdckit.connector.topics import Topics
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.filters import Filters
from cdckit_mysql.table import TableId, Tables


class TableTopics:
    """The topics of the captured tables among some definitions.

    Args:
        config: the source's options.
        filters: what is captured.
        tables: the definitions; they may change later.
    """

    def __init__(self, config: MySqlConfig, filters: Filters, tables: Tables) -> None:
        self._topics = Topics(config, config.topic_prefix)
        self._filters = filters
        self._tables = tables
        merges = self._topics.shared or config.topic_collisions == "merge"
        self._known = False
        self._owners = None if merges else TopicOwners(config.topic_collisions)

    def check(self) -> None:
        """Looks at all of the definitions.

        Raises:
            ConfigError: two of them have one topic.
        """
        self._known = True
        self._take(table.id for table in self._tables)

    def arrived(self, tables: Sequence[TableId | None]) -> None:
        """Looks at tables that have come, or have another name; raises as `check`."""
        present = [table for table in tables if table is not None and table in self._tables]
        if present and not self._known:
            self.check()
        self._take(present)

    def _take(self, tables: Iterable[TableId]) -> None:
        if self._owners is None:
            return
        for table in tables:
            if self._filters.captures(*table):
                self._owners.take(self._topics.data(table), table, self._exists)

    def _exists(self, table: object) -> bool:
        return isinstance(table, TableId) and table in self._tables


def check_topics(config: MySqlConfig, filters: Filters, tables: Tables) -> None:
    """Looks whether two captured tables have one topic.

    Raises:
        ConfigError: they have.
    """
    TableTopics(config, filters, tables).check()
