"""RegexRouter: sends records to another topic (Kafka Connect's transform of that name)."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from cdckit import Group, PluginConfig, Record, Sought, Transform
from cdckit.java.regex import JavaRegex
from cdckit.java.regex.topic_rewrite import TopicRewrite


class RegexRouterConfig(PluginConfig):
    """Which topics are renamed, and how."""

    regex: JavaRegex
    """A Java regular expression that the whole topic must match; other records are left as they are."""
    replacement: str
    """The new topic; `$1` and `${name}` stand for what the regex's groups matched."""

    @model_validator(mode="after")
    def _replacement_fits(self) -> Self:
        TopicRewrite(self.regex, self.replacement)
        return self


class RegexRouter(Transform):
    """Renames topics; key, value and headers stay."""

    def __init__(self, config: RegexRouterConfig) -> None:
        self._regex = config.regex
        self._rewrite = TopicRewrite(config.regex, config.replacement, "regex")
        self._topics: dict[str, str] = {}

    def apply(self, record: Record) -> Record:
        """The record under its new topic."""
        topic = self._topic(record.topic)
        if topic is record.topic:
            return record
        return Record(
            topic, record.key, record.value, record.headers, record.position, record.timestamp, record.partition
        )

    def of_group(self, group: Group) -> Group:
        """The group under its new topic."""
        return group._replace(topic=self._topic(group.topic))

    def sought(self) -> Sought:
        """Topics to rename."""
        return Sought(f"regex '{self._regex}'", self._rewrite.matched)

    def _topic(self, old: str) -> str:
        topic = self._topics.get(old)
        if topic is None:
            rewritten = self._rewrite(old)
            topic = self._topics[old] = old if rewritten is None else rewritten
        return topic
