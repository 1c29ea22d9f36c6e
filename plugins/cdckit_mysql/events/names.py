"""Names of topics, and what depends on them: names of schemas, and the mark in keys of tables that share a topic.

Debezium's `TopicNamingStrategy` and its implementations; Kafka allows letters, digits, `.`, `_` and `-`, 249 of them.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable

from cdckit.avro_names import code_units, unicode_escape
from cdckit.java_regex.topic_rewrite import TopicRewrite
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.table import TableId

log = logging.getLogger("cdckit.mysql")

_NOT_IN_TOPICS = re.compile(r"[^A-Za-z0-9._-]")
_NOT_IN_UNICODE_TOPICS = re.compile(r"[^A-Za-z0-9.-]")
_LONGEST = 249


class Topics:
    """The topics of one source."""

    def __init__(self, config: MySqlConfig) -> None:
        self._config = config
        self._prefix = config.topic_prefix
        self._delimiter = config.topic_delimiter
        self._naming = config.topic_naming_strategy
        self._sanitized = _with_codes if self._naming.endswith("_unicode") else _with_underscores
        self._rewrite = _rewriter(config.topic_regex, config.topic_replacement)
        self._mark = _rewriter(config.topic_key_field_regex, config.topic_key_field_replacement)
        self.schema_changes = _with_underscores(self._prefix)
        suffixed = f"{self._prefix}{self._delimiter}{config.topic_transaction}"
        self.transaction = _with_underscores(config.whole_transaction_topic(self._prefix) or suffixed)
        prefixed = f"{config.topic_heartbeat_prefix}{self._delimiter}{self._prefix}"
        self.heartbeat = _with_underscores(config.topic_heartbeat_name or prefixed)

    @property
    def shared(self) -> bool:
        """Whether tables are meant to share topics."""
        return self._naming == "unified" or self._naming.endswith("_regex")

    def data(self, table: TableId) -> str:
        """The topic of a table's changes."""
        if self._naming == "unified":
            return self._sanitized(self._prefix)
        name = self._sanitized(self._raw(table))
        if not self._naming.endswith("_regex"):
            return name
        rewritten = self._rewrite(name)
        if rewritten == "":
            log.warning("topic.replacement makes an empty name of %s: its changes stay there", name)
        return rewritten or name

    def schemas(self, table: TableId) -> str:
        """What the names of a table's schemas begin with."""
        return self._sanitized(self._raw(table)) if self._naming == "unified" else self.data(table)

    def key_mark(self, table: TableId) -> tuple[str, str] | None:
        """The field's name and value by which keys of tables that share a topic differ, or None."""
        if not self.shared or not self._config.topic_key_enforce_uniqueness:
            return None
        name = self._raw(table)
        rewritten = self._mark(name)
        return self._config.topic_key_field_name, name if rewritten is None else rewritten

    def _raw(self, table: TableId) -> str:
        parts = (self._prefix, *table) if not self._naming.startswith("table") else (self._prefix, table.name)
        return self._delimiter.join(parts)


def _rewriter(regex: str, replacement: str) -> Callable[[str], str | None]:
    return TopicRewrite(regex, replacement) if regex.strip() else lambda _name: None


def _with_underscores(name: str) -> str:
    """A name with `_` for what Kafka does not allow."""
    return _fitting(_NOT_IN_TOPICS.sub(lambda found: "_" * len(code_units(found[0])), name), "_")


def _with_codes(name: str) -> str:
    """A name with `_uXXXX` for `_` and for what Kafka does not allow."""
    replaced = _NOT_IN_UNICODE_TOPICS.sub(lambda found: "".join(map(unicode_escape, code_units(found[0]))), name)
    return _fitting(replaced, unicode_escape(ord(".")))


def _fitting(name: str, dot: str) -> str:
    """Kafka has no topics called `.` and `..`, and none that are longer."""
    return name.replace(".", dot) if name in (".", "..") else name[:_LONGEST]
