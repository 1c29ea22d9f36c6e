"""Messages and documents that differ a little from recorded ones, the same ones for the same seed."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 2**31, 2**63, -(2**63) - 1, 10**40, "", "x", "\0", "é", "\ud800", "-", "9" * 5000,
    "0x", "2026-13-45", "-838:59:59.9999999", "AAAA", "A", [], [1], [[[]]], [None], {}, {"": None}, {"a": {"b": 1}},
)  # fmt: skip


def mutated_bytes(data: bytes, random: Random, *, as_long: bool = False) -> bytes:
    """The bytes with one to four changes: others, fewer, more; `as_long`: only others."""
    found = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(len(found) + 1)
        match random.choice((0, 3, 4)) if as_long else random.randrange(5):
            case 0:
                found[at : at + 1] = bytes([random.randrange(256)])
            case 1:
                del found[at : at + random.choice((1, 2, 8, len(found)))]
            case 2:
                found[at:at] = random.randbytes(random.choice((1, 4, 64)))
            case 3:
                found[at : at + 4] = random.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x7f\xff\xff\xff"))
            case _:
                found[at : at + 1] = bytes([found[at] ^ 1 << random.randrange(8)]) if at < len(found) else b""
    return bytes(found)


def mutated_document(text: bytes, random: Random) -> bytes:
    """A JSON text with one to three members that are others, gone, doubled or of another type."""
    document = json.loads(text)
    for _ in range(random.choice((1, 1, 2, 3))):
        document = changed(copy.deepcopy(document), random)
    return json.dumps(document, ensure_ascii=random.random() < 0.5).encode("utf-8", "surrogatepass")


def changed(document: Any, random: Random) -> Any:
    """One member somewhere in the document, found by going down at random."""
    if not isinstance(document, dict | list) or not document or random.random() < 0.1:
        return random.choice(_VALUES)
    place: Any = random.choice(list(document)) if isinstance(document, dict) else random.randrange(len(document))
    choice = random.randrange(8)
    if choice == 0:
        del document[place]
    elif choice > 1:
        document[place] = changed(document[place], random)
    elif isinstance(document, dict):
        document[random.choice(("", "x", place.upper(), place[:-1]))] = document.pop(place)
    else:
        document.insert(place, document[place])
    return document
