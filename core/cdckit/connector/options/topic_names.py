"""Options that are parts of topics' names."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

NamePart = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")]
"""What Kafka allows in a topic's name."""
