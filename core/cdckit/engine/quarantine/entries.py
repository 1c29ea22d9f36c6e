"""What is kept of each record that cannot be delivered, and what tells it from all others."""

from __future__ import annotations

import hashlib
import time
import uuid
from collections import Counter

from cdckit.api.messages import Messages
from cdckit.api.record import Record
from cdckit.api.undecoded import Undecoded
from cdckit.engine.chain import TransformChain
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.quarantine.concealment import Concealment
from cdckit.engine.quarantine.contents import (
    content_of,
    content_of_message,
    content_of_piece,
    content_withheld,
    key_of,
    key_of_message,
)
from cdckit.engine.quarantine.store import Quarantined, Stage


class Entries:
    """Makes entries of the quarantine.

    Args:
        source: what the source is called.
        sink: what the sink is called.
        chain: whose masks apply before anything is kept; None: there are none.
    """

    def __init__(self, source: str, sink: str, chain: TransformChain | None = None) -> None:
        self._source = source
        self._sink = sink
        self._concealment = Concealment(chain if chain is not None else TransformChain([]))
        self._same: Counter[str] = Counter()

    @classmethod
    def of(cls, pipeline: ResolvedPipeline, chain: TransformChain | None = None) -> Entries:
        """Those of a pipeline; records want its chain."""
        return cls(pipeline.source.registration.name, pipeline.sink.registration.name, chain)

    def begin(self) -> None:
        """What comes next may have come before."""
        self._same.clear()

    def of_record(self, record: Record, stage: Stage, by: str, reason: str) -> list[Quarantined]:
        """Those of a record as the source gave it.

        Where the chain conceals something, it is kept as the transforms have made it that do so: one, none or several.
        """
        place, key, now = self._place(record), self.key_of(record), time.time()
        concealed = self._concealment.by
        kept = self._concealment.behind(record)
        if kept is None:
            where = f"transform '{by}' failed on a record" if by else "it waits, and a transform failed on it, a record"
            reason = self._concealment.withheld(where, record.topic, record.position)
            contents = [content_withheld(record.topic, concealed)]
        else:
            contents = [content_of(one, concealed) for one in kept]
        return [
            Quarantined(self._name(place), now, stage, by, reason, record.topic, record.position, key, content)
            for content in contents
        ]

    def key_of(self, record: Record) -> str:
        """What is the same for all changes of the record's key; where something is concealed it does not show it."""
        key = key_of(record)
        return digest_of(key) if self._concealment.by else key

    def _place(self, record: Record) -> str:
        return f"{record.position} {record.topic} {_digest(key_of(record))}" if record.position else ""

    def _name(self, place: str) -> str:
        return self._identity(place) if place else _unknown()

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
        now, by, reason, content = time.time(), self._source, piece.reason, content_of_piece(piece)
        if concealed := self._concealment.by:
            what = "what cannot be decoded, an event or a message"
            reason = self._concealment.withheld(what, piece.topic, piece.position)
            content = content_withheld(piece.topic, concealed)
        return Quarantined(identity, now, "decode", by, reason, piece.topic, piece.position, "", content)

    def _identity(self, place: str) -> str:
        """Of several records at one place, as a transform before the log may have made them, the order tells which."""
        number, self._same[place] = self._same[place], self._same[place] + 1
        return f"{place} {number}"


def digest_of(key: str) -> str:
    """A key that does not show what it is of; "" stays so."""
    return f"digest {_digest(key)}" if key else ""


def _unknown() -> str:
    return uuid.uuid4().hex


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:32]
