"""Where definitions come from that a schema history lacks: the server, Debezium's records, the history's topic."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from cdckit import HistoryRecord
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.filters import Filters
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.schema_history.history import SchemaHistory
from cdckit_mysql.schema_history.topic import HistoryTopic
from cdckit_mysql.server.facts import LogFacts
from cdckit_mysql.snapshot.recovery import recover_history
from cdckit_mysql.takeover.schema_history import definitions_at

log = logging.getLogger("cdckit.mysql")


class HistoryRenewal:
    """Makes one source's history anew where that is due.

    Args:
        config: the source's options.
        filters: what is captured.
        facts: those of the log's server.
        history: gives the history.

    Attributes:
        topic: that of the history, or None where it has none.
    """

    def __init__(
        self, config: MySqlConfig, filters: Filters, facts: LogFacts, history: Callable[[], SchemaHistory]
    ) -> None:
        self._config = config
        self._filters = filters
        self._facts = facts
        self._history = history
        self._restored = False
        self.topic = HistoryTopic(config, filters) if config.schema_history_internal == "kafka" else None

    def reaches(self, at: LogOffset) -> bool:
        """Whether the history knows the definitions at an offset."""
        return self._history().reaches(at.position)

    def from_server(self, at: LogOffset) -> None:
        """Puts the server's definitions in the place of the whole history, as those in force at `at`.

        Raises:
            SourceError: a definition has changed since; the message says where and by what.
        """
        recover_history(self._config, self._filters, self._history(), self._facts.dialect, at)

    def from_records(self, records: Iterator[HistoryRecord], at: LogOffset) -> None:
        """Makes the definitions that Debezium's records give for `at` the history's."""
        tables = definitions_at(records, at, self._facts.dialect, fold=self._facts.lower_case_table_names)
        for table in [table for table in tables if not self._filters.tracks(*table.id)]:
            tables.remove(*table.id)
        self._history().rebuild(at.position, tables)

    def from_topic_once(self, at: LogOffset) -> None:
        """Takes the definitions from the topic where the state has lost them; looks for that once a run."""
        looked, self._restored = self._restored, True
        if looked or self.topic is None or at.snapshot_due or self.reaches(at):
            return
        log.warning("the state has no definitions at %s: they are taken from the history's topic", at.position)
        self.from_records(self.topic.records(), at)

    def close(self) -> None:
        """Lets the topic go."""
        if self.topic is not None:
            self.topic.close()
