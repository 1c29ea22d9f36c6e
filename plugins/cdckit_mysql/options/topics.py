"""Options: the names of topics."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator

from cdckit.connector.options import topics as topic_options

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

TopicNaming = Annotated[NamingName, BeforeValidator(topic_options.naming_of(_DEBEZIUM))]


class TopicOptions(topic_options.TopicOptions):
    """What topics of tables are called."""

    topic_naming_strategy: TopicNaming = "default"
    """What topics of changes are called: `default` (`PREFIX.DATABASE.TABLE`), `table` (`PREFIX.TABLE`), `unified` (all
    in one, `PREFIX`), `default_regex` and `table_regex` (that name as `topic.regex` rewrites it), `default_unicode` and
    `table_unicode` (`_uXXXX` for `_` and for what Kafka does not allow). Debezium's classes mean the same:
    `DefaultTopicNamingStrategy`, `SchemaTopicNamingStrategy` (`table`), `DefaultRegexTopicNamingStrategy`, ….
    """
