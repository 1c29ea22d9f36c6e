"""Two tables in one topic by accident: names that differ in what a topic cannot hold, or only far behind."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Literal

from cdckit.errors import ConfigError

TopicCollisions = Literal["fail", "merge"]
"""What becomes of tables or collections whose names make the same topic."""


class TopicOwners:
    """Which table or collection each topic of a source is for.

    Args:
        collisions: `merge` lets several have one.
    """

    def __init__(self, collisions: TopicCollisions) -> None:
        self._merges = collisions == "merge"
        self._owners: dict[str, Hashable] = {}

    def take(self, topic: str, owner: Hashable, exists: Callable[[Hashable], bool] = lambda _owner: True) -> None:
        """Gives a topic to a table or collection, which `str` names.

        Args:
            topic: the topic's name.
            owner: the table or collection.
            exists: whether the one that had the topic is still there: a name may pass on.

        Raises:
            ConfigError: another one has it.
        """
        other = self._owners.setdefault(topic, owner)
        if other == owner or self._merges:
            return
        if not exists(other):
            self._owners[topic] = owner
            return
        raise ConfigError(
            f"source.topic.collisions: '{other}' and '{owner}' would both go to topic '{topic}', where equal keys of "
            "both could not be told apart: leave one out by the include and exclude lists, have topics named otherwise "
            "(topic.naming.strategy, where there is one), or set topic.collisions=merge",
            number="CDC2604",
        )
