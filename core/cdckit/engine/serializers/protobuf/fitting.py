"""Whether a message may bear the id of another schema than its own: what is read by that one is what was written.

Numbers, types on the wire and labels have to agree; names may differ, and fields be more or fewer, as Protobuf has it.
"""

from __future__ import annotations

from collections.abc import Sequence

from cdckit.engine.serializers.protobuf.messages import Message, MessageField, ProtobufFile
from cdckit.engine.serializers.protobuf.reading import Read

_ALIKE = (
    frozenset({"int32", "int64", "uint32", "uint64", "bool"}),
    frozenset({"sint32", "sint64"}),
    frozenset({"string", "bytes"}),
    frozenset({"fixed32", "sfixed32"}),
    frozenset({"fixed64", "sfixed64"}),
)
"""Types whose bytes are alike (Protocol Buffers' documentation, "Updating a message type")."""


def place(own: ProtobufFile, latest: Read) -> int:
    """Where a record's message stands among those of another schema.

    Raises:
        ValueError: it is not there, or cannot be read by that one; the error names the field.
    """
    names = [message.name for message in latest.messages]
    if (own.package or "") != latest.package or own.message.name not in names:
        raise ValueError(f"the registered schema has no message {own.name}")
    found = names.index(own.message.name)
    _compare(own.message, latest.messages[found], [Message("", nested=latest.messages)], "")
    return found


def _compare(own: Message, latest: Message, around: Sequence[Message], path: str) -> None:
    numbered = {field.number: field for field in latest.fields}
    for field in own.fields:
        at = f"{path}{field.name}"
        other = latest.field(field.name)
        if other is not None and other.number != field.number:
            raise ValueError(f"{at}: has the number {field.number}, and {other.number} in the registered schema")
        other = numbered.get(field.number)
        if other is not None:
            _compare_field(field, other, [*around, latest], at)


def _compare_field(own: MessageField, latest: MessageField, around: Sequence[Message], at: str) -> None:
    fewer = own.label == "repeated" and latest.label != "repeated"
    inner = _message(latest.type, around) if own.message is not None else None
    if own.message is not None and inner is not None and not fewer:
        _compare(own.message, inner, around, f"{at}.")
        return
    alike = own.type == latest.type.removeprefix(".") or any({own.type, latest.type} <= kinds for kinds in _ALIKE)
    if own.message is not None or fewer or not alike:
        shown = (f"{one.label} {one.type} {one.name}".strip() for one in (own, latest))
        raise ValueError(f"{at}: {' cannot be read as the registered '.join(shown)}")


def _message(name: str, around: Sequence[Message]) -> Message | None:
    """The message that a type's name means, from the innermost one around on."""
    first, *more = name.rpartition(".")[2:] if name.startswith(".") else name.split(".")
    for message in reversed(around):
        found = next((one for one in message.nested if one.name == first), None)
        for part in more:
            found = found and next((one for one in found.nested if one.name == part), None)
        if found is not None:
            return found
    return None
