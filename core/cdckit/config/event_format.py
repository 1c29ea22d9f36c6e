"""The option `event.format`: what an old format brings with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BeforeValidator, model_validator

from cdckit.config.model import PluginConfig

AS_TEXT = BeforeValidator(lambda value: str(value) if isinstance(value, int | float) else value)
"""YAML takes an unquoted `1.9` for a number."""

_OLD = ("1.9", "1.1")
_OLD_DEFAULTS: Mapping[str, str] = {"schema.name.adjustment.mode": "avro", "skipped.operations": "none"}


class EventFormatDefaults(PluginConfig):
    """Gives the options of a source with an old `event.format` the defaults that Debezium 1 had."""

    @model_validator(mode="before")
    @classmethod
    def _defaults_of_the_format(cls, given: Any) -> Any:
        return {**_OLD_DEFAULTS, **given} if str(given.get("event.format")) in _OLD else given
