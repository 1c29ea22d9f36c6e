"""What a source can tell from the rest of its log, and not decode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Undecoded:
    """One event or message that a source has passed over.

    Attributes:
        position: where it stands; the same whenever it is read again, and no other's of its topic.
        topic: that of its records, or of the message itself; "" where it cannot be told.
        reason: what is wrong, in a sentence that names the place.
        raw: its bytes, by name, such as `key` and `value`; None for what it lacks.
        facts: what else `Source.decoded` needs, as JSON: the definition or schema version in force, its place.
    """

    position: str
    topic: str
    reason: str
    raw: Mapping[str, bytes | None]
    facts: Mapping[str, Any] = field(default_factory=dict)
