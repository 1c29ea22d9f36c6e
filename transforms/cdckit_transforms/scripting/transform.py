"""What Debezium's transforms have in common that evaluate an expression for each record."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ValidationInfo

from cdckit import PluginConfig, Record, Sought, Transform, TransformError
from cdckit.java.regex import JavaRegex, compile_java
from cdckit_transforms.envelope import is_null
from cdckit_transforms.folding import folded
from cdckit_transforms.scripting.compiler import compiled
from cdckit_transforms.scripting.fields import Evaluate
from cdckit_transforms.scripting.groovy import Groovy
from cdckit_transforms.scripting.javascript import JavaScript
from cdckit_transforms.scripting.language import UNDEFINED, Language

ScriptLanguage = Literal["jsr223.groovy", "groovy", "jsr223.graal.js", "graal.js"]
LANGUAGES: dict[ScriptLanguage, Language] = {
    "jsr223.groovy": Groovy(),
    "groovy": Groovy(),
    "jsr223.graal.js": JavaScript(),
    "graal.js": JavaScript(),
}
_TOPICS_KEPT = 4096


class ScriptConfig(PluginConfig):
    """What is common to the options."""

    topic_regex: JavaRegex = ""
    """A Java regular expression that the whole topic must match; records of other topics pass unchanged. Empty: all."""
    language: ScriptLanguage
    """What the expression is written in."""
    null_handling_mode: Annotated[Literal["keep", "drop", "evaluate"], BeforeValidator(folded)] = "keep"
    """What is done with records without a value, such as tombstones: `keep` passes them, `drop` drops them, `evaluate`
    evaluates the expression, whose `value` is null."""


def checked_expression(text: str, info: ValidationInfo) -> str:
    """The text of an option, if it is an expression of the language that is given."""
    if language := info.data.get("language"):
        compiled(text, LANGUAGES[language])
    return text


class ScriptTransform(Transform):
    """Evaluates an expression for each record of the topics that are meant.

    Args:
        config: its options.
        option: the name of the option that holds the expression.
        expression: the expression.
    """

    def __init__(self, config: ScriptConfig, option: str, expression: str) -> None:
        self._option = option
        self._evaluate: Evaluate = compiled(expression, LANGUAGES[config.language])
        self._nulls = config.null_handling_mode
        self._regex = config.topic_regex
        self._pattern = compile_java(config.topic_regex, option="topic.regex") if config.topic_regex else None
        self._topics: dict[str, bool] = {}

    @abstractmethod
    def changed(self, record: Record, result: Any) -> Record | None:
        """What becomes of a record for which the expression gives `result`."""

    def apply(self, record: Record) -> Record | None:
        """The record, another one in its place, or None to drop it."""
        if self._pattern is not None and not self._meant(record.topic):
            return record
        if self._nulls != "evaluate" and is_null(record.value):
            return record if self._nulls == "keep" else None
        try:
            result = self._evaluate(record)
        except TransformError as error:
            raise TransformError(f"{self._option}: {error}") from error
        return self.changed(record, None if result is UNDEFINED else result)

    def sought(self) -> Sought | None:
        """Topics that are meant, where a pattern says which."""
        return Sought(f"topic.regex '{self._regex}'", self._found()) if self._pattern else None

    def _found(self) -> bool | None:
        return any(self._topics.values()) if self._topics else None

    def _meant(self, topic: str) -> bool:
        if topic not in self._topics:
            if len(self._topics) >= _TOPICS_KEPT:
                self._topics.clear()
            self._topics[topic] = self._pattern is None or self._pattern.fullmatch(topic)
        return self._topics[topic]
