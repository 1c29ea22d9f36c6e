"""The option `event.format`: what an old format brings with it, and what only old formats have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import BeforeValidator, model_validator

from cdckit.api.source_config import SourceConfig

AS_TEXT = BeforeValidator(lambda value: str(value) if isinstance(value, int | float) else value)
"""YAML takes an unquoted `1.9` for a number."""

_OLD = ("1.9", "1.1")
_OLD_DEFAULTS: Mapping[str, str] = {"schema.name.adjustment.mode": "avro", "skipped.operations": "none"}


class EventFormatDefaults(SourceConfig):
    """Gives the options of a source with an old `event.format` the defaults that Debezium 1 had."""

    source_struct_version: Literal["v1", "v2"] = "v2"
    """Which source block the events of Debezium 1 have: `v2`, or `v1`, that of Debezium before 0.10 (`ts_sec`, `sec`);
    with an older `event.format` than `3`.
    """

    @property
    def debezium_format(self) -> str:
        """The version of Debezium whose events these are; a source that has the option `event.format` gives that."""
        return "3"

    @model_validator(mode="before")
    @classmethod
    def _defaults_of_the_format(cls, given: Any) -> Any:
        return {**_OLD_DEFAULTS, **given} if str(given.get("event.format")) in _OLD else given

    @classmethod
    def advice(cls, given: Mapping[str, str]) -> list[str]:
        """A configuration that was written for Debezium 1 should say whose events are wanted."""
        name = given.get("topic.prefix", "topic.prefix")
        if name == "topic.prefix" or "event.format" in given:
            return super().advice(given)
        return [
            *super().advice(given),
            f"'{name}' is Debezium 1's name of 'topic.prefix', but events will be in Debezium 3's format: set "
            "event.format=1.9 for those of Debezium 1.9, or event.format=3 to say that the new ones are right",
        ]

    @model_validator(mode="after")
    def _oldest_block_of_an_old_format(self) -> Self:
        if self.source_struct_version == "v1" and self.debezium_format not in _OLD:
            raise ValueError(
                "source.struct.version=v1 is the source block of Debezium before 0.10, which version 1 could still "
                "send: set event.format to 1.9, or 1.1 where the source knows it, or remove the option"
            )
        return self
