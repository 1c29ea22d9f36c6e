"""The fields of a Protobuf schema, by their paths."""

from __future__ import annotations

from collections.abc import Iterator

from cdckit.engine.serializers.field_changes import Fields
from cdckit.engine.serializers.protobuf.messages import Message
from cdckit.engine.serializers.protobuf.reading import read


def protobuf_fields(text: str) -> Fields:
    """What each field is: its label, its type and its number; of a message within another, behind that one's name."""
    return dict(field for message in read(text).messages for field in _within(message, ""))


def _within(message: Message, path: str) -> Iterator[tuple[str, str]]:
    for field in message.fields:
        yield f"{path}{field.name}", f"{field.label} {field.type} = {field.number}".strip()
    for inner in message.nested:
        yield from _within(inner, f"{path}{inner.name}.")
