"""A message as it was read, before anything is known about it."""

from __future__ import annotations

from typing import NamedTuple

RawHeaders = tuple[tuple[str, bytes | None], ...]


class Message(NamedTuple):
    """One message of a topic, or of a file that recorded one."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: int | None = None
    headers: RawHeaders = ()
    file: str | None = None

    @property
    def place(self) -> str:
        """Where it was, for errors."""
        if self.file is not None:
            return f"{self.file}, byte {self.offset}"
        return f"topic {self.topic}, partition {self.partition}, offset {self.offset}"


_SHOWN = 60


def shown(message: Message) -> str:
    """The beginning of what it holds, for errors."""
    parts = (("key", message.key), ("value", message.value))
    return ", ".join(f"{name} {part[:_SHOWN]!r} ({len(part)} bytes)" for name, part in parts if part is not None)
