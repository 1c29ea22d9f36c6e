"""The ledger in the state store, together with the offset that it belongs to.

A store saves one value at a time. So each table keeps its last two states, each with a number, and the head says which
number belongs to which offset, to the next and to the one before. All of that is saved before the offset is: whichever
of the two a crash leaves there, the ledger that goes with it is there, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from cdckit.api.record import Offset
from cdckit.api.state_store import Json
from cdckit.connector.damage import DAMAGE, reason_of
from cdckit.engine.ledger.table import TableLedger
from cdckit.engine.state.ledger_file import HEAD
from cdckit.errors import StateError

FORMAT = 1
"""That of everything that is kept of a ledger; what earlier versions kept tells none, and is the same."""
_FORGOTTEN = "run once with 'ledger: false', which forgets it, and have the rows read again (cdc resnapshot)"


class Readable(Protocol):
    """A state store, a look at one, or what stands beside a checkpoint of Spark."""

    def get(self, key: str) -> Json:
        """A value kept under `key`, or None."""


class Writable(Readable, Protocol):
    """A state store that is held, or what stands beside a checkpoint."""

    def put(self, key: str, value: Json) -> None:
        """Keeps a value under `key`; None removes it."""


@dataclass(slots=True)
class Place:
    """Up to where the tables of one number tell.

    Attributes:
        number: the number.
        offset: the offset.
        reached: by lane the position of the last record before it.
        application: of a sink of tables, by what name its batches are known there.
        batch: the number of the last batch before it.
        window: where rows are known by their keys, what tells these from others, and until which offset; ("", None):
            none are.
    """

    number: int
    offset: Offset | None
    reached: dict[str, str] = field(default_factory=dict)
    application: str = ""
    batch: int = 0
    window: tuple[str, Offset | None] = ("", None)


@dataclass(slots=True)
class Head:
    """What the tables have in common.

    Attributes:
        places: the one that was saved last, and the one before.
        topics: the topics that have a table.
        whole: whether a table that was never told of has no rows.
        lists: which tables were captured then.
    """

    places: list[Place]
    topics: list[str]
    whole: bool
    lists: Mapping[str, str]

    def place(self, offset: Offset | None) -> Place | None:
        """The one of an offset."""
        return next((place for place in self.places if place.offset == offset), None)

    def save(self, state: Writable) -> None:
        """Keeps it."""
        places = [[one.number, one.offset, one.reached, one.application, one.batch, one.window] for one in self.places]
        kept = {"places": places, "topics": self.topics, "whole": self.whole, "lists": dict(self.lists)}
        state.put(HEAD, {"format": FORMAT, **kept})


def read_head(state: Readable) -> Head | None:
    """The head; None where there is no ledger.

    Raises:
        StateError: it is damaged, or another version's.
    """
    kept = state.get(HEAD)
    if kept is None:
        return None
    try:
        if (found := kept.get("format", FORMAT)) != FORMAT:
            raise StateError(
                f"what the state keeps of the ledger has format {found}, this version of cdckit reads format {FORMAT}: "
                f"run the version that wrote it, or {_FORGOTTEN}"
            )
        places = [_place(*one) for one in kept["places"]]
        return Head(places, list(kept["topics"]), bool(kept["whole"]), dict(kept["lists"]))
    except DAMAGE as error:
        raise _damaged(kept, error) from error


def _place(
    number: Any,
    offset: Offset | None,
    reached: Mapping[str, str],
    application: Any = "",
    batch: Any = 0,
    window: Any = ("", None),
) -> Place:
    token, until = window
    return Place(int(number), offset, dict(reached), str(application), int(batch), (str(token), until))


def read_tables(state: Readable, topics: list[str], number: int) -> dict[str, TableLedger]:
    """The tables as they were saved last up to a number.

    Raises:
        StateError: one is damaged.
    """
    found = {}
    for topic in topics:
        states = _states(state, topic)
        newest = states[0][0] if states else 0
        for of, kept in states:
            if of <= number:
                found[topic] = _table(kept)
                found[topic].changed = of != newest
                break
    return found


def save_table(state: Writable, topic: str, table: TableLedger, number: int, before: int) -> None:
    """Keeps a table's state of a number, and the last one up to the number before, where that is not 0."""
    older = [[of, kept] for of, kept in _states(state, topic) if of <= before][:1]
    state.put(f"{HEAD}/{topic}", [[number, table.to_json()], *older])


def _states(state: Readable, topic: str) -> list[tuple[int, Any]]:
    """A table's states, the newest first."""
    kept = state.get(f"{HEAD}/{topic}") or []
    try:
        return [(int(number), one) for number, one in kept]
    except DAMAGE as error:
        raise _damaged(kept, error) from error


def _table(kept: Any) -> TableLedger:
    try:
        return TableLedger.from_json(kept)
    except DAMAGE as error:
        raise _damaged(kept, error) from error


def _damaged(kept: Any, error: Exception) -> StateError:
    return StateError(
        f"what the state keeps of the ledger is damaged ({reason_of(error)}): {str(kept)[:200]}; restore the state "
        "from a copy, or run once with 'ledger: false', which forgets it"
    )
