"""Options: what records look like and what topics they go to, and failures."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator

from cdckit.connector.options import event_format, processing, topics
from cdckit.connector.options.event_format import AS_TEXT
from cdckit.connector.options.processing import FailureHandling

_DEBEZIUM: dict[str, topics.NamingName] = {
    "DefaultTopicNamingStrategy": "default",
    "SchemaTopicNamingStrategy": "unified",
    "TableTopicNamingStrategy": "table",
    "DefaultUnicodeTopicNamingStrategy": "default_unicode",
    "SchemaUnicodeTopicNamingStrategy": "unified_unicode",
    "DefaultRegexTopicNamingStrategy": "default_regex",
    "SchemaRegexTopicNamingStrategy": "unified_regex",
}
"""For Debezium a collection has no schema, and so no name in topics, where a table has one."""

TopicNaming = Annotated[topics.NamingName, BeforeValidator(topics.naming_of(_DEBEZIUM))]


class FormatOptions(event_format.EventFormatDefaults):
    """The format of events."""

    shaping: ClassVar[tuple[str, ...]] = ("event_format",)

    event_format: Annotated[Literal["3", "1.9"], AS_TEXT] = "3"
    """Which Debezium's events to send: `3` or `1.9`, which brings its defaults with it:
    `schema.name.adjustment.mode=avro`, `skipped.operations=none`.
    """

    @property
    def debezium_format(self) -> str:
        """What `event.format` says."""
        return self.event_format


class TopicOptions(topics.TopicOptions):
    """What topics of collections are called."""

    topic_naming_strategy: TopicNaming = "default"
    """What topics of changes are called: `default` (`PREFIX.DATABASE.COLLECTION`), `table` (`PREFIX.COLLECTION`),
    `unified` (all in one, `PREFIX`); with `_regex` that name as `topic.regex` rewrites it, with `_unicode` it has
    `_uXXXX` for `_` and for what Kafka does not allow. Debezium's classes mean the same: `DefaultTopicNamingStrategy`,
    `SchemaTopicNamingStrategy` (`unified`: for Debezium a collection has no schema), `DefaultRegexTopicNamingStrategy`,
    ….
    """
    topic_key_enforce_uniqueness: bool = False
    """Where collections share a topic (`…_regex`, `unified…`): whether keys get one more field, which tells the
    collection. Debezium's have none; without it equal `_id`s of two collections are one key.
    """


class ProcessingOptions(processing.ProcessingOptions):
    """Failures."""

    event_processing_failure_handling_mode: FailureHandling = "fail"
    """What becomes of an event that cannot be decoded: `fail` stops; `warn`, `skip` and `ignore` leave it out and count
    it; `warn` logs each of them, the others the first of each collection.
    """
