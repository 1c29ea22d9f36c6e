"""Protobuf schemas as they stand in a registry: their messages, by a reading that passes over all else.

Source: Protocol Buffers' language specification, "proto3".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from cdckit.engine.serializers.protobuf.messages import Message, MessageField

_COMMENT = re.compile(r'("(?:\\.|[^"\\])*"?)|//[^\n]*|/\*[^*]*(?:\*+[^*/][^*]*)*(?:\*+/)?', re.DOTALL)
_WORD = re.compile(r'"(?:\\.|[^"\\])*"?|[{}\[\];]|map\s*<[^>]*>?|[^\s{}\[\];"]+', re.DOTALL)
_FIELD = re.compile(r"(?:(optional|repeated|required) )?(\S+|map\s*<.*>) (\w+) = (\d+)")


class Read(NamedTuple):
    """What a schema holds.

    Attributes:
        package: that of its messages; "" where there is none.
        messages: in their order.
    """

    package: str
    messages: list[Message]


def read(text: str) -> Read:
    """The package and messages of a schema's text."""
    whole = Message("")
    package = ""
    inside = [whole]
    for statement, end in _statements(text):
        found = _FIELD.fullmatch(" ".join(statement)) if end == ";" else None
        if statement[:1] == ["package"]:
            package = statement[1]
        elif found is not None and found[2] != "option":
            label, kind, name, number = found.groups()
            inside[-1].fields.append(MessageField(name, int(number), kind, label or ""))
        elif end == "{" and statement[0] == "message":
            inside[-1].nested.append(Message(statement[1]))
            inside.append(inside[-1].nested[-1])
        elif end == "{":  # a `oneof` has the message's own fields, and what else there is has none
            inside.append(inside[-1] if statement[0] == "oneof" else Message(""))
        elif end == "}":
            inside.pop()
    return Read(package, whole.nested)


def _statements(text: str) -> Iterator[tuple[list[str], str]]:
    """The words of each statement without its options, and what ends it."""
    statement: list[str] = []
    options = 0
    for word in _WORD.findall(_COMMENT.sub(lambda found: found[1] or " ", text)):
        if word in "[]":
            options += 1 if word == "[" else -1
        elif options:
            continue
        elif word not in "{};":
            statement.append(word)
        elif statement or word == "}":
            yield statement, word
            statement = []
