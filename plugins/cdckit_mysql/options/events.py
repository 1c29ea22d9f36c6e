"""Options: what records look like and what topics they go to, which there are beside the changes, and failures."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator

from cdckit import PluginConfig
from cdckit.connector.options import event_format, events, processing, topics
from cdckit.connector.options.event_format import AS_TEXT
from cdckit.connector.options.processing import FailureHandling

EventFormatName = Annotated[Literal["3", "1.9", "1.1"], AS_TEXT]
SchemaChangeFormatName = Annotated[Literal["3", "1.9", "1.1", "history"], AS_TEXT]
NamingName = Literal[
    "default", "table", "unified", "default_unicode", "table_unicode", "default_regex", "table_regex"
]  # fmt: skip
_DEBEZIUM: dict[str, NamingName] = {
    "DefaultTopicNamingStrategy": "default",
    "SchemaTopicNamingStrategy": "table",
    "TableTopicNamingStrategy": "table",
    "DefaultUnicodeTopicNamingStrategy": "default_unicode",
    "SchemaUnicodeTopicNamingStrategy": "table_unicode",
    "DefaultRegexTopicNamingStrategy": "default_regex",
    "SchemaRegexTopicNamingStrategy": "table_regex",
}

TopicNaming = Annotated[NamingName, BeforeValidator(topics.naming_of(_DEBEZIUM))]


class FormatOptions(event_format.EventFormatDefaults):
    """The format of events."""

    shaping: ClassVar[tuple[str, ...]] = ("event_format",)

    event_format: EventFormatName = "3"
    """Which Debezium's events to send: `3`, `1.9` or `1.1`. The old ones bring their defaults with them:
    `schema.name.adjustment.mode=avro`, `skipped.operations=none`.
    """

    @property
    def debezium_format(self) -> str:
        """What `event.format` says."""
        return self.event_format


class EventOptions(events.EventOptions):
    """Records."""

    include_query: bool = False
    """Whether `source.query` holds the statement; the server must log it (`binlog_rows_query_log_events`)."""
    heartbeat_action_query: str = ""
    """A statement that is run at each heartbeat, such as one that writes to a table, so that the log of a quiet
    database moves; the user needs the privilege.
    """


class TopicOptions(topics.TopicOptions):
    """What topics of tables are called."""

    topic_naming_strategy: TopicNaming = "default"
    """What topics of changes are called: `default` (`PREFIX.DATABASE.TABLE`), `table` (`PREFIX.TABLE`), `unified` (all
    in one, `PREFIX`), `default_regex` and `table_regex` (that name as `topic.regex` rewrites it), `default_unicode` and
    `table_unicode` (`_uXXXX` for `_` and for what Kafka does not allow). Debezium's classes mean the same:
    `DefaultTopicNamingStrategy`, `SchemaTopicNamingStrategy` (`table`), `DefaultRegexTopicNamingStrategy`, ….
    """


class SchemaChangeOptions(PluginConfig):
    """The schema-change topic."""

    include_schema_changes: bool = True
    """Whether changes of definitions are records, too, in the topic `topic.prefix`."""
    include_schema_comments: bool = False
    """Whether these records show the comments of tables and columns, and the schemas of rows those of columns."""
    schema_change_format: SchemaChangeFormatName | None = None
    """What these records look like: as those of Debezium `3`, `1.9` or `1.1`, or as the documents of its schema
    `history`; by default what `event.format` says.
    """


class ProcessingOptions(processing.ProcessingOptions):
    """Failures."""

    event_deserialization_failure_handling_mode: FailureHandling = "fail"
    """What becomes of an event that cannot be decoded: `fail` stops; `warn`, `skip` and `ignore` leave it out,
    count it, and log the first of each table (`warn`: every one). With these a date that does not exist, such as
    31 February, is shown as 1970-01-01, and logged.
    """
    inconsistent_schema_handling_mode: FailureHandling = "fail"
    """The same for an event of a table whose definition is not known, or is not the one that the log announces."""
    event_converting_failure_handling_mode: Literal["fail", "warn", "skip"] = "fail"
    """What becomes of a value that does not fit its column: `fail` stops; `warn` and `skip` show
    null in its place (the default or zero in a column that forbids NULL), count it, and log the first of each column
    (`warn`: every one).
    """
