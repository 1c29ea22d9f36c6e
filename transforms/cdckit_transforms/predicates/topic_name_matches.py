"""TopicNameMatches: is the record's topic one of those that are meant?"""

from __future__ import annotations

from pydantic import field_validator

from cdckit import PluginConfig, Predicate, Record, Sought
from cdckit.java.regex import JavaRegex, compile_java


class TopicNameMatchesConfig(PluginConfig):
    """Which topics are meant."""

    pattern: JavaRegex
    """A Java regular expression that the whole topic must match."""

    @field_validator("pattern")
    @classmethod
    def _not_empty(cls, pattern: str) -> str:
        if not pattern:
            raise ValueError("must not be empty; '.*' means every topic")
        return pattern


class TopicNameMatches(Predicate):
    """Whether the topic matches a pattern; each topic is asked once."""

    def __init__(self, config: TopicNameMatchesConfig) -> None:
        self._pattern = compile_java(config.pattern, option="pattern")
        self._text = config.pattern
        self._answers: dict[str, bool] = {}

    def test(self, record: Record) -> bool:
        """Whether the record's topic matches."""
        answer = self._answers.get(record.topic)
        if answer is None:
            answer = self._answers[record.topic] = self._pattern.fullmatch(record.topic)
        return answer

    def sought(self) -> Sought:
        """The topics that are meant."""
        return Sought(f"predicate's pattern '{self._text}'", any(self._answers.values()) if self._answers else None)
