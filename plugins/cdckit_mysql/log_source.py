"""Which source a configuration asks for: a server's, or that of log files."""

from __future__ import annotations

from collections.abc import Sequence

from cdckit import Finding, Source
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.files.source import LogFileSource
from cdckit_mysql.source import MySqlSource


class SourceChoice:
    """Makes the source of a configuration, and checks for it."""

    def __call__(self, config: MySqlConfig) -> Source:
        """The source, not yet opened."""
        return self._kind(config)(config)

    def check(self, config: MySqlConfig) -> Sequence[Finding]:
        """Whether the server, or the files, are fit."""
        return self._kind(config).check(config)

    @staticmethod
    def _kind(config: MySqlConfig) -> type[MySqlSource | LogFileSource]:
        return LogFileSource if config.binlog_files else MySqlSource


mysql_source = SourceChoice()
"""The factory of the sources `mysql` and `mariadb`."""
