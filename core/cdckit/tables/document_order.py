"""The order of a document's fields: a collection of MongoDB stores `_id` first, wherever a change shows it."""

from __future__ import annotations

import re

FIRST = '{"_id"'
"""What a document's JSON begins with where `_id` is first."""
_ANYWHERE = '"_id"'
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"?|[{}\[\],]', re.DOTALL)
"""Texts, in which the other marks mean nothing; one that is not closed goes to the end."""


def identifier_first(text: str) -> str:
    """A document's JSON with the member `_id` before the others, which keep their order.

    Args:
        text: the JSON; what is no object, or has no such member behind others, stays as it is.
    """
    if text.startswith(FIRST) or not text.startswith("{") or _ANYWHERE not in text:
        return text
    members = _members(text)
    at = next((number for number, member in enumerate(members) if member.lstrip().startswith(_ANYWHERE)), 0)
    if not at:
        return text
    comma = ", " if members[1].startswith(" ") else ","
    inside = [member.strip() for member in (members[at], *members[:at], *members[at + 1 :])]
    return f"{{{comma.join(inside)}}}"


def _members(text: str) -> list[str]:
    """What stands between the outermost braces and commas; nothing where the last brace is not the text's end."""
    found, depth, begin = [], 0, 1
    for token in _TOKENS.finditer(text):
        mark = token[0]
        depth += (mark in "{[") - (mark in "}]")
        if depth == 1 and mark == ",":
            found.append(text[begin : token.start()])
            begin = token.end()
        elif not depth:
            return [*found, text[begin : token.start()]] if token.end() == len(text) else []
    return []
