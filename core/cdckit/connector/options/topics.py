"""Options: the names of topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from cdckit.api.plugin_config import PluginConfig
from cdckit.connector.options.logical_name import NamePart
from cdckit.connector.topic_owners import TopicCollisions
from cdckit.java.regex import JavaRegex
from cdckit.java.regex.topic_rewrite import TopicRewrite

NamingName = Literal[
    "default",
    "table",
    "unified",
    "default_unicode",
    "table_unicode",
    "unified_unicode",
    "default_regex",
    "table_regex",
    "unified_regex",
]
_PLACEHOLDERS = ("${database.server.name}", "${topic.prefix}")


def naming_of(classes: Mapping[str, str]) -> Callable[[object], object]:
    """Gives Debezium's class, with or without its package, as the name here.

    Args:
        classes: the names here by those of the classes.
    """
    return lambda value: classes.get(value.rpartition(".")[2], value) if isinstance(value, str) else value


class TopicOptions(PluginConfig):
    """What topics are called. A source names the strategies that it has."""

    renamed: ClassVar[Mapping[str, str]] = {"heartbeat.topics.prefix": "topic.heartbeat.prefix"}

    topic_naming_strategy: NamingName = "default"
    """What topics of changes are called."""
    topic_delimiter: NamePart = "."
    """What stands between the parts of a topic's name."""
    topic_regex: JavaRegex = ""
    """For `…_regex`: a Java regular expression; names that it matches as a whole are rewritten."""
    topic_replacement: str = ""
    """What they become; `$1` and `${name}` stand for what the groups of `topic.regex` matched."""
    topic_collisions: TopicCollisions = "fail"
    """What happens where the names of two tables or collections make the same topic (`a b`, `a+b` and `a_b` do, and
    very long ones that end differently): the pipeline ends and names both (`fail`), or they share it (`merge`). With
    `unified` and `…_regex` they may: see `topic.key.enforce.uniqueness`.
    """
    topic_key_enforce_uniqueness: bool = True
    """Where tables share a topic (`…_regex`, `unified`): whether keys get one more field, which tells the table."""
    topic_key_field_name: str = "__dbz__physicalTableIdentifier"
    """The name of that field."""
    topic_key_field_regex: JavaRegex = ""
    """A Java regular expression over the name that `default` or `table` gives, to make that field's value from; by
    default the value is that name.
    """
    topic_key_field_replacement: str = ""
    """That field's value; `$1` and `${name}` stand for what the groups of `topic.key.field.regex` matched."""
    topic_transaction: NamePart = "transaction"
    """The last part of the name of the topic for begin and end of transactions."""
    transaction_topic: str = ""
    """Its whole name, as Debezium 1.9 has it; `${database.server.name}` stands for `topic.prefix`."""
    topic_heartbeat_prefix: NamePart = "__debezium-heartbeat"
    """The first part of the name of the heartbeats' topic."""
    topic_heartbeat_name: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]*$")] = ""
    """Its whole name, so that several pipelines may share it."""

    @model_validator(mode="after")
    def _regex_and_replacement(self) -> Self:
        for option, regex, replacement in (
            ("topic", self.topic_regex, self.topic_replacement),
            ("topic.key.field", self.topic_key_field_regex, self.topic_key_field_replacement),
        ):
            if regex.strip() and not replacement.strip():
                raise ValueError(f"{option}.replacement: required with {option}.regex, but not given")
            TopicRewrite(regex, replacement)
        if self.topic_naming_strategy.endswith("_regex") and not self.topic_regex:
            raise ValueError(f"topic.regex: required with topic.naming.strategy={self.topic_naming_strategy}")
        return self

    @model_validator(mode="after")
    def _one_transaction_topic(self) -> Self:
        if self.transaction_topic and self.topic_transaction != "transaction":
            raise ValueError(
                "transaction.topic is the whole name of the topic, topic.transaction its last part: keep one"
            )
        return self

    def whole_transaction_topic(self, prefix: str) -> str:
        """What `transaction.topic` says, or "" where it says nothing."""
        name = self.transaction_topic
        for placeholder in _PLACEHOLDERS:
            name = name.replace(placeholder, prefix)
        return name
