"""Topics rewritten by a regular expression, as Kafka's RegexRouter and Debezium's routers do it."""

from __future__ import annotations

from cdckit.java.regex.replacement import Replacement
from cdckit.java.regex.translate import compile_java

_TOPICS_KEPT = 4096


class TopicRewrite:
    """Rewrites the topics that a pattern matches as a whole.

    What is replaced is the first place that the pattern finds, which need not be the whole topic: `a|ab` matches all
    of `ab`, and finds `a` in it.

    Args:
        regex: the pattern.
        replacement: what takes the place of what it finds.
        option: the pattern's option, for messages.

    Raises:
        JavaRegexError: the pattern or the replacement is wrong.
    """

    def __init__(self, regex: str, replacement: str, option: str = "") -> None:
        self._pattern = compile_java(regex, option=option)
        self._replacement = Replacement(replacement, self._pattern)
        self._known: dict[str, str | None] = {}
        self.matched: bool | None = None
        """Whether a topic has matched; None while it has seen none."""

    def __call__(self, topic: str) -> str | None:
        """What the topic becomes, or None where the pattern does not match it.

        Raises:
            ConfigError: the pattern takes too long.
        """
        try:
            return self._known[topic]
        except KeyError:
            if len(self._known) >= _TOPICS_KEPT:
                self._known.clear()
            return self._known.setdefault(topic, self._rewritten(topic))

    def _rewritten(self, topic: str) -> str | None:
        if not self._pattern.fullmatch(topic):
            self.matched = self.matched or False
            return None
        self.matched = True
        return self._pattern.replace_first(self._replacement, topic)
