"""ScriptFilter: keeps the records that a condition of Groovy or JavaScript is true for (Debezium's Filter)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator

from cdckit import Record, TransformError
from cdckit_transforms.scripting.language import kind
from cdckit_transforms.scripting.transform import ScriptConfig, ScriptTransform, checked_expression


class ScriptFilterConfig(ScriptConfig):
    """Which records stay."""

    condition: Annotated[str, AfterValidator(checked_expression)]
    """An expression that is true for the records that stay; those for which it is false are dropped."""


class ScriptFilter(ScriptTransform):
    """Drops the records for which the condition is false."""

    def __init__(self, config: ScriptFilterConfig) -> None:
        super().__init__(config, "condition", config.condition)

    def changed(self, record: Record, result: Any) -> Record | None:
        """The record, or None."""
        if result is True:
            return record
        if result is False:
            return None
        raise TransformError(f"condition: it gives {kind(result)}, which is neither true nor false")
