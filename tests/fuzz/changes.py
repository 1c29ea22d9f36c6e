"""Answers of a MongoDB server that differ a little from recorded ones, the same ones for the same seed."""

from __future__ import annotations

import copy
import lzma
import struct
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import bson
from bson.raw_bson import RawBSONDocument
from pymongo.read_preferences import Primary

from cdckit_mongodb.server.connection import CODEC
from fuzz.documents import changed, mutated_bytes

RECORDED = Path(__file__).parent / "recorded" / "mongodb.xz"
"""Answers to a change stream's commands, one behind the other; `record_changes` has made it."""


def recorded() -> list[bytes]:
    """The recorded answers that hold events."""
    return [answer for answer in _answers(lzma.decompress(RECORDED.read_bytes())) if len(answer) > 500]


def _answers(content: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(content):
        (size,) = struct.unpack_from("<i", content, at)
        yield content[at : at + size]
        at += size


def damaged_answer(answer: bytes, random: Random) -> bytes:
    """An answer with other bytes, or with members that are others; of those an event may have."""
    if random.random() < 0.5:
        return mutated_bytes(answer, random, as_long=random.random() < 0.8)
    document: Any = bson.decode(answer, CODEC)
    while True:
        for _ in range(random.choice((1, 1, 3))):
            document = changed(copy.deepcopy(document), random)
        try:
            return bson.encode(document, codec_options=CODEC)
        except (bson.errors.BSONError, OverflowError, UnicodeError, TypeError):  # nothing that BSON can say
            document = bson.decode(answer, CODEC)


class Servers:
    """A client of servers that give one answer, whatever they are asked; then they have nothing more to say."""

    read_preference = Primary()

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        self.nothing = bson.encode({"cursor": {**bson.decode(recorded()[0])["cursor"], "nextBatch": [], "id": 0}})

    def start_session(self, **_options: object) -> Servers:
        return self

    def end_session(self) -> None:
        pass

    def get_database(self, *_names: object, **_options: object) -> Servers:
        return self

    def command(self, _command: dict[str, Any], **_options: object) -> RawBSONDocument:
        """As the driver gives it, which looks at the answer's first and last bytes."""
        answer, self.answer = self.answer, self.nothing
        return RawBSONDocument(answer)
