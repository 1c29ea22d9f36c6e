"""Messages that cannot be understood, as they are given away and come back."""

from __future__ import annotations

import base64
from typing import Any

from cdckit import DecodeError, Undecoded
from cdckit_ticdc.message import Message

_REGISTERED = b"\0"
"""What a value begins with whose schema's id follows, in four bytes."""


def undecoded(message: Message, reason: str) -> Undecoded:
    """A message as it is given away."""
    headers = [[name, None if value is None else base64.b64encode(value).decode()] for name, value in message.headers]
    facts: dict[str, Any] = {
        "partition": message.partition,
        "offset": message.offset,
        "timestamp": message.timestamp,
        "headers": headers,
        "file": message.file,
    }
    value = message.value or b""
    if value[:1] == _REGISTERED and len(value) >= 5:
        facts["schema.id"] = int.from_bytes(value[1:5])
    position = f"{message.partition:05d}-{message.offset:019d}"
    return Undecoded(position, message.topic, reason, {"key": message.key, "value": message.value}, facts)


def message_of(piece: Undecoded) -> Message:
    """The message that was given away.

    Raises:
        DecodeError: it was none of this source's.
    """
    facts = piece.facts
    try:
        headers = tuple(
            (str(name), None if text is None else base64.b64decode(text)) for name, text in facts["headers"]
        )
        return Message(
            piece.topic,
            facts["partition"],
            facts["offset"],
            piece.raw["key"],
            piece.raw["value"],
            facts["timestamp"],
            headers,
            facts["file"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DecodeError(f"what was kept is no message of a topic or file: {error}") from error
