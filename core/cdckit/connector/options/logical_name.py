"""The option `topic.prefix`: what a source is called, and all its topics begin with."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from cdckit.api.source_config import SourceConfig

NamePart = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")]
"""What Kafka allows in a topic's name."""


class LogicalName(SourceConfig):
    """The source's name."""

    named_by: ClassVar[str | None] = "topic_prefix"

    topic_prefix: NamePart
    """The logical name of the server or cluster: the first part of every topic's name. Letters, digits, `.`, `_` and
    `-`.
    """
