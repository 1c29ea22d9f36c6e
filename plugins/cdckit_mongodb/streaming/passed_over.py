"""Change events that cannot be decoded, as they are given away and come back."""

from __future__ import annotations

from typing import Any

import bson
from bson.errors import BSONError

from cdckit import DecodeError, Record, Undecoded
from cdckit.connector.damage import DAMAGE, reason_of
from cdckit_mongodb.events.collection_events import CollectionEvents, Collections, Session
from cdckit_mongodb.extended_json import COMPACT
from cdckit_mongodb.filters import Filters
from cdckit_mongodb.server.connection import CODEC

Event = dict[str, Any]

OPERATIONS = {"insert": "c", "update": "u", "replace": "u", "delete": "d"}
"""What kinds of events that change documents are in records."""
_EVENT = "event"
"""What the raw bytes are called: the change event in BSON."""
_LOST: tuple[type[Exception], ...] = (*DAMAGE, BSONError, DecodeError)


def undecoded(event: Event, made: CollectionEvents, prefix: str, reason: str) -> Undecoded:
    """An event as it is given away.

    Args:
        event: the event.
        made: its collection's.
        prefix: what the positions of its records begin with.
        reason: what is wrong.
    """
    raw = bson.encode(event, codec_options=CODEC)
    return Undecoded(prefix, made.topic, reason, {_EVENT: raw})


def records_of(piece: Undecoded, filters: Filters, collections: Collections) -> list[Record]:
    """The records of an event that was given away, outside of its transaction's block; none where it is not captured.

    Raises:
        DecodeError: it still cannot be decoded, or was none of this source's.
    """
    try:
        event: Event = bson.decode(piece.raw[_EVENT] or b"", CODEC)
        name = (event["ns"]["db"], event["ns"]["coll"])
        if not filters.captures(*name):
            return []
        session = Session(COMPACT.document(event["lsid"]), int(event["txnNumber"])) if "lsid" in event else None
        made = collections.of(*name)
        return made.change(event, OPERATIONS[event["operationType"]], piece.position, session, None)
    except _LOST as error:
        raise DecodeError(str(error) if isinstance(error, DecodeError) else reason_of(error)) from error
