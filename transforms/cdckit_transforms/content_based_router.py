"""ContentBasedRouter: names topics by an expression of Groovy or JavaScript (Debezium's transform of that name)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator

from cdckit import Record, TransformError
from cdckit_transforms.scripting.language import kind
from cdckit_transforms.scripting.transform import ScriptConfig, ScriptTransform, checked_expression


class ContentBasedRouterConfig(ScriptConfig):
    """Where records go."""

    topic_expression: Annotated[str, AfterValidator(checked_expression)]
    """An expression that gives the record's topic; null leaves it as it is."""


class ContentBasedRouter(ScriptTransform):
    """Sends records to the topic that the expression gives."""

    def __init__(self, config: ContentBasedRouterConfig) -> None:
        super().__init__(config, "topic.expression", config.topic_expression)

    def changed(self, record: Record, result: Any) -> Record:
        """The record under its new topic."""
        if result is None:
            return record
        if not isinstance(result, str):
            raise TransformError(f"topic.expression: it gives {kind(result)}, which is no topic")
        return Record(
            result, record.key, record.value, record.headers, record.position, record.timestamp, record.partition
        )
