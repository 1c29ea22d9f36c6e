"""How topics are created, configured as Kafka Connect has it.

The options are those of Kafka Connect's manual, section "Configuring Auto Topic Creation for Source Connectors"
(KIP-158): the first group whose `include` and not its `exclude` matches the whole name counts; partitions and
replication factor fall back to the default group's, other settings do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from cdckit import did_you_mean
from cdckit.java.regex import UserPattern, compile_java

BROKER_DEFAULT = -1
"""As a count of partitions or replicas: what the broker is configured to give (KIP-464)."""

_DEFAULT = "default"
_OWN = ("include", "exclude", "partitions", "replication.factor")


def split_list(text: str) -> tuple[str, ...]:
    """The trimmed items of a comma-separated list."""
    return tuple(item for item in (part.strip() for part in text.split(",")) if item)


def partition_count(value: Any) -> int:
    """A count of partitions or replicas.

    Raises:
        ValueError: it is neither positive nor -1.
    """
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = 0
    if number < 1 and number != BROKER_DEFAULT:
        raise ValueError("should be 1 or more, or -1 for the broker's default")
    return number


@dataclass(frozen=True, slots=True)
class TopicRule:
    """How the topics of one group are created.

    Attributes:
        include: matches the whole names of the group's topics.
        exclude: matches the whole names of topics that are left to later groups.
        partitions: how many, or `BROKER_DEFAULT`.
        replication_factor: how many replicas, or `BROKER_DEFAULT`.
        settings: the topic's own configuration.
    """

    include: UserPattern
    exclude: UserPattern
    partitions: int
    replication_factor: int
    settings: Mapping[str, str]

    def matches(self, topic: str) -> bool:
        """Whether the group has the topic."""
        return not self.exclude.fullmatch(topic) and bool(self.include.fullmatch(topic))


@dataclass(frozen=True, slots=True)
class TopicRules:
    """The rules of all groups, the default group's last.

    Attributes:
        rules: in the order in which they are tried.
        strays: options, without their prefix `topic.creation.`, of groups that are not listed.
    """

    rules: tuple[TopicRule, ...]
    strays: tuple[str, ...] = ()

    @classmethod
    def configured(
        cls, groups: Sequence[str], options: Mapping[str, str], partitions: int, replication_factor: int
    ) -> Self:
        """The rules out of the options `topic.creation.*`, given without that prefix.

        Raises:
            ValueError: an option's value cannot be; the message names the option.
        """
        for name in options:
            if "." not in name:
                raise ValueError(f"topic.creation.{name}: unknown option{did_you_mean(name, ('enable', 'groups'))}")
        named = [group for group in groups if group != _DEFAULT]
        rules = [_group_rule(group, _of_group(group, options), partitions, replication_factor) for group in named]
        settings = _of_group(_DEFAULT, options)
        everything, nothing = _any_of(".*"), _any_of("")
        rules.append(TopicRule(everything, nothing, partitions, replication_factor, settings))
        prefixes = tuple(f"{group}." for group in (*groups, _DEFAULT))
        return cls(tuple(rules), tuple(name for name in options if not name.startswith(prefixes)))

    def rule(self, topic: str) -> TopicRule:
        """The rule of the first group that has the topic."""
        return next(rule for rule in self.rules if rule.matches(topic))


def _of_group(group: str, options: Mapping[str, str]) -> dict[str, str]:
    prefix = f"{group}."
    return {name.removeprefix(prefix): value for name, value in options.items() if name.startswith(prefix)}


def _group_rule(group: str, options: Mapping[str, str], partitions: int, replication_factor: int) -> TopicRule:
    if "include" not in options:
        raise ValueError(f"topic.creation.{group}.include is missing: say which topics the group has")
    return TopicRule(
        include=_checked(group, "include", options, _any_of),
        exclude=_checked(group, "exclude", {"exclude": "", **options}, _any_of),
        partitions=_checked(group, "partitions", {"partitions": partitions, **options}, partition_count),
        replication_factor=_checked(
            group, "replication.factor", {"replication.factor": replication_factor, **options}, partition_count
        ),
        settings={name: value for name, value in options.items() if name not in _OWN},
    )


def _checked(group: str, name: str, options: Mapping[str, Any], check: Any) -> Any:
    try:
        return check(options[name])
    except ValueError as error:
        raise ValueError(f"topic.creation.{group}.{name}: {error}") from None


def _any_of(patterns: str) -> UserPattern:
    """Matches what any of the comma-separated Java expressions matches; nothing where there is none."""
    return compile_java("|".join(split_list(patterns)) or "(?!)", option="topic.creation.*")
