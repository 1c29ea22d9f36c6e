"""The fields of a Protobuf schema, by their paths."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cdckit.engine.serializers.field_changes import Fields

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_WORDS = re.compile(r'"(?:\\.|[^"\\])*"|[{}\[\];]|map\s*<[^>]*>|[^\s{}\[\];"]+')
_FIELD = re.compile(r"(?P<type>.+) (?P<name>\w+) = (?P<number>\d+)")


def protobuf_fields(text: str) -> Fields:
    """What each field is: its label, its type and its number; of fields of several messages each with the message."""
    return dict(_fields(_WORDS.findall(_COMMENT.sub(" ", text))))


def _fields(words: list[str]) -> Iterator[tuple[str, str]]:
    messages: list[str] = []
    statement: list[str] = []
    options = 0
    for word in words:
        if word in "[]":
            options += 1 if word == "[" else -1
        elif options:
            continue
        elif word == "{":
            messages.append(statement[1] if statement[:1] == ["message"] else "")
            statement = []
        elif word in "};":
            found = _FIELD.fullmatch(" ".join(statement))
            if found is not None and word == ";":
                yield ".".join(filter(None, (*messages[1:], found["name"]))), f"{found['type']} = {found['number']}"
            statement = []
            if word == "}":
                messages.pop()
        else:
            statement.append(word)
