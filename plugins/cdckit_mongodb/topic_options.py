"""Options: the names of topics."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator

from cdckit.connector.options import topics as topic_options

_DEBEZIUM: dict[str, topic_options.NamingName] = {
    "DefaultTopicNamingStrategy": "default",
    "SchemaTopicNamingStrategy": "unified",
    "TableTopicNamingStrategy": "table",
    "DefaultUnicodeTopicNamingStrategy": "default_unicode",
    "SchemaUnicodeTopicNamingStrategy": "unified_unicode",
    "DefaultRegexTopicNamingStrategy": "default_regex",
    "SchemaRegexTopicNamingStrategy": "unified_regex",
}
"""For Debezium a collection has no schema, and so no name in topics, where a table has one."""

TopicNaming = Annotated[topic_options.NamingName, BeforeValidator(topic_options.naming_of(_DEBEZIUM))]


class TopicOptions(topic_options.TopicOptions):
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
