"""Topics rewritten by a regular expression, as Kafka's RegexRouter and Debezium's routers do it."""

from __future__ import annotations

from cdckit.java_regex.replacement import Replacement
from cdckit.java_regex.translate import compile_java


class TopicRewrite:
    """Rewrites the topics that a pattern matches as a whole.

    What is replaced is the first place that the pattern finds, which need not be the whole topic: `a|ab` matches all
    of `ab`, and finds `a` in it.

    Raises:
        JavaRegexError: the pattern or the replacement is wrong.
    """

    def __init__(self, regex: str, replacement: str) -> None:
        self._pattern = compile_java(regex)
        self._replacement = Replacement(replacement, self._pattern)

    def __call__(self, topic: str) -> str | None:
        """What the topic becomes, or None where the pattern does not match it."""
        if not self._pattern.fullmatch(topic):
            return None
        return self._pattern.sub(self._replacement, topic, count=1)
