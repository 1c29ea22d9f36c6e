"""Names of topics, and what depends on them: names of schemas, and the mark in keys of what shares a topic.

Debezium's `TopicNamingStrategy` and its implementations; Kafka allows letters, digits, `.`, `_` and `-`, 249 of them.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable

from cdckit.connector.avro_names import code_units, unicode_escape
from cdckit.connector.options.topics import TopicOptions
from cdckit.java.regex.topic_rewrite import TopicRewrite

log = logging.getLogger("cdckit.topics")

_NOT_IN_TOPICS = re.compile(r"[^A-Za-z0-9._-]")
_NOT_IN_UNICODE_TOPICS = re.compile(r"[^A-Za-z0-9.-]")
_LONGEST = 249

Name = tuple[str, str]
"""A database, and a table or collection in it."""


class Topics:
    """The topics of one source.

    Args:
        options: how they are named.
        prefix: what names begin with.
    """

    def __init__(self, options: TopicOptions, prefix: str) -> None:
        self._options = options
        self._prefix = prefix
        self._delimiter = options.topic_delimiter
        self._naming, _, style = options.topic_naming_strategy.partition("_")
        self._sanitized = _with_codes if style == "unicode" else _with_underscores
        self._rewrite = _rewriter(options.topic_regex if style == "regex" else "", options.topic_replacement)
        self._mark = _rewriter(options.topic_key_field_regex, options.topic_key_field_replacement)
        self.shared = self._naming == "unified" or style == "regex"
        """Whether tables or collections are meant to share topics."""
        self.schema_changes = _with_underscores(prefix)
        suffixed = f"{prefix}{self._delimiter}{options.topic_transaction}"
        self.transaction = _with_underscores(options.whole_transaction_topic(prefix) or suffixed)
        prefixed = f"{options.topic_heartbeat_prefix}{self._delimiter}{prefix}"
        self.heartbeat = _with_underscores(options.topic_heartbeat_name or prefixed)

    def data(self, name: Name) -> str:
        """The topic of a table's or collection's changes."""
        topic = self._sanitized(self._prefix if self._naming == "unified" else self._raw(name))
        rewritten = self._rewrite(topic)
        if rewritten == "":
            log.warning("topic.replacement makes an empty name of %s: its changes stay there", topic)
        return rewritten or topic

    def schemas(self, name: Name) -> str:
        """What the names of a table's schemas begin with: each has its own, also where all share one topic."""
        return self._sanitized(self._raw(name)) if self._naming == "unified" else self.data(name)

    def key_mark(self, name: Name) -> tuple[str, str] | None:
        """The field's name and value by which keys of what shares a topic differ, or None."""
        if not self.shared or not self._options.topic_key_enforce_uniqueness:
            return None
        raw = self._raw(name)
        rewritten = self._mark(raw)
        return self._options.topic_key_field_name, raw if rewritten is None else rewritten

    def _raw(self, name: Name) -> str:
        return self._delimiter.join((self._prefix, name[1]) if self._naming == "table" else (self._prefix, *name))


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
