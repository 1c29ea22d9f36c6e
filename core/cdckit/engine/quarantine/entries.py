"""What is kept of each record that cannot be delivered, and what tells it from all others."""

from __future__ import annotations

import hashlib
import time
import uuid
from collections import Counter

from cdckit.api.messages import Messages
from cdckit.api.record import Record
from cdckit.api.undecoded import Undecoded
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.quarantine.contents import (
    content_of,
    content_of_message,
    content_of_piece,
    key_of,
    key_of_message,
)
from cdckit.engine.quarantine.store import Quarantined, Stage


class Entries:
    """Makes entries of the quarantine.

    Args:
        source: what the source is called.
        sink: what the sink is called.
    """

    def __init__(self, source: str, sink: str) -> None:
        self._source = source
        self._sink = sink
        self._same: Counter[str] = Counter()

    @classmethod
    def of(cls, pipeline: ResolvedPipeline) -> Entries:
        """Those of a pipeline."""
        return cls(pipeline.source.registration.name, pipeline.sink.registration.name)

    def begin(self) -> None:
        """What comes next may have come before."""
        self._same.clear()

    def of_record(self, record: Record, stage: Stage, by: str, reason: str) -> Quarantined:
        """That of a record as the source gave it."""
        key = key_of(record)
        identity = self._identity(f"{record.position} {record.topic} {_digest(key)}") if record.position else _unknown()
        content = content_of(record)
        return Quarantined(identity, time.time(), stage, by, reason, record.topic, record.position, key, content)

    def of_message(self, message: Messages, stage: Stage, reason: str) -> Quarantined:
        """That of one message."""
        topic, position = message.topics[0], message.positions[0]
        key = key_of_message(topic, message.keys[0])
        identity = self._identity(f"{position} {topic} {_digest(key)} message") if position else _unknown()
        content = content_of_message(message)
        return Quarantined(identity, time.time(), stage, self._sink, reason, topic, position, key, content)

    def of_piece(self, piece: Undecoded) -> Quarantined:
        """That of what the source could not decode."""
        identity = f"{piece.position} {piece.topic} undecoded"
        content = content_of_piece(piece)
        now, by = time.time(), self._source
        return Quarantined(identity, now, "decode", by, piece.reason, piece.topic, piece.position, "", content)

    def _identity(self, place: str) -> str:
        """Of several records at one place, as a transform before the log may have made them, the order tells which."""
        number, self._same[place] = self._same[place], self._same[place] + 1
        return f"{place} {number}"


def _unknown() -> str:
    return uuid.uuid4().hex


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:32]
