"""What transforms look for among the topics' names and have not found: a pattern with a mistake changes nothing."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping

log = logging.getLogger("cdckit.runner")

PATIENCE_SECONDS = 10.0
"""For how long records must have come, in a run that goes on, before it is said what no topic has matched."""


class SoughtTopics:
    """Says it once."""

    def __init__(self) -> None:
        self.said = False
        self._found: dict[str, bool] = {}
        self._begun: float | None = None

    def add(self, found: Mapping[str, bool]) -> None:
        """Takes what a chain has found so far (`TransformChain.found`); several may tell."""
        if found and self._begun is None:
            self._begun = time.monotonic()
        for pattern, matched in found.items():
            self._found[pattern] = matched or self._found.get(pattern, False)

    def look(self, found: Callable[[], Mapping[str, bool]]) -> None:
        """Says it once records have come for long enough."""
        if not self.said:
            self.add(found())
            if self._begun is not None and time.monotonic() - self._begun >= PATIENCE_SECONDS:
                self.say()

    def say(self) -> None:
        """Names the patterns that matched nothing, the first time."""
        if self.said or self._begun is None:
            return
        self.said = True
        for pattern, matched in self._found.items():
            if not matched:
                log.warning("%s has matched no topic so far", pattern)
