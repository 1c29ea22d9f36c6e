"""Options of the scripted components."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, PositiveInt, SecretStr

from cdckit.api.plugin_config import PluginConfig
from cdckit.api.source_config import SourceConfig


class NoOptions(PluginConfig):
    """No options."""


class FailingConfig(PluginConfig):
    """Options of the sink `failing`."""

    bootstrap_servers: str = ""
    """Where it would write."""
    producer: dict[str, str] = Field(default_factory=dict)
    """Options of its producer."""


class AwayConfig(PluginConfig):
    """Options of the state store `away`."""

    address: str
    """Where it would be."""
    password: SecretStr = SecretStr("")
    """A secret."""


class ScriptedConfig(SourceConfig):
    """Options of the source `scripted`."""

    named_by: ClassVar[str] = "topic_prefix"

    topic_prefix: str = "scripted"
    """The pipeline's name."""
    script: Path
    """The file of JSON lines to play."""
    password: SecretStr = SecretStr("")
    """A secret."""
    port: PositiveInt = 3306
    """A number."""
    mode: Literal["fast", "slow"] = "fast"
    """A choice."""
    tags: list[str] = Field(default_factory=list)
    """A list."""
    statements: dict[str, str] = Field(default_factory=dict)
    """Statements by table."""

    renamed: ClassVar[Mapping[str, str]] = {"server.name": "topic.prefix"}
    patterns: ClassVar[Mapping[str, str]] = {r"statement\..+": "statements"}
    passed_over: ClassVar[tuple[str, ...]] = (r"driver\..+",)
    not_yet: ClassVar[Mapping[str, str | None]] = {"signal": None, "level": "low"}

    def script_lines(self) -> list[dict[str, Any]]:
        """The script as it is now."""
        import json

        return [json.loads(line) for line in self.script.read_text().splitlines()]


class RenameConfig(PluginConfig):
    """Options of the transform `Rename`."""

    topic: str
    """The new topic."""


class TopicIsConfig(PluginConfig):
    """Options of the predicate `TopicIs`."""

    topic: str
    """The topic."""
