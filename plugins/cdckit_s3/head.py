"""The object `state.json` of a pipeline: its offset and values, who holds it, and which other objects belong to it.

All that a save changes becomes true with one conditional write of this object. Other objects are written before, under
names of their own, and never changed; once no version of this object names them any more they are deleted.
"""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any, Self

from cdckit import StateError
from cdckit.connector.damage import DAMAGE, reason_of

NAME = "state.json"
FORMAT = 1
"""The version of what is below, which a state has of itself."""


class Head:
    """What the object has.

    Attributes:
        holder: who holds the state, None where nobody does: `id`, `by`, `since`, and `timeout.ms`.
        serial: the number of this version, so that no two have the same ETag.
        offset: the saved offset, or None.
        values: values by name.
        large: the objects of values that are too large for this one, by the values' names.
        histories: of each history its objects with their sizes in bytes, later ones before earlier ones in force.
    """

    def __init__(self, found: dict[str, Any] | None = None) -> None:
        given = found or {}
        self.holder: dict[str, Any] | None = given.get("holder")
        self.serial: int = given.get("serial", 0)
        self.offset: dict[str, Any] | None = given.get("offset")
        self.values: dict[str, Any] = given.get("values", {})
        self.large: dict[str, str] = given.get("large", {})
        self.histories: dict[str, list[tuple[str, int]]] = {
            name: [(str(part), int(size)) for part, size in parts] for name, parts in given.get("histories", {}).items()
        }

    @classmethod
    def read(cls, body: bytes, place: str) -> Self:
        """What an object has.

        Raises:
            StateError: it is damaged, or another version wrote it.
        """
        try:
            found = json.loads(body)
            version = found["format"]
            head = cls(found) if version == FORMAT else None
            if head is not None:
                head.require_sound()
        except DAMAGE as error:
            raise damaged(place, NAME, error, body) from error
        if head is None:
            raise StateError(
                f"state store, {place}: the state has format {version}, this version of cdckit reads format {FORMAT}: "
                "run the version that wrote it, or name other objects by s3.object.name",
                number="CDC7303",
            )
        return head

    def require_sound(self) -> None:
        """Makes sure that the parts are what others take them for.

        Raises:
            ValueError, LookupError, TypeError: one is not.
        """
        if self.holder is not None:
            _ = str(self.holder["id"]), float(self.holder["timeout.ms"])
        if not isinstance(self.offset, dict | None):
            raise TypeError("the offset is no JSON object")
        if not all(isinstance(part, dict) for part in (self.values, self.large)):
            raise TypeError("the values are no JSON object")

    def text(self) -> bytes:
        """The object's body."""
        return json.dumps({"format": FORMAT, **vars(self)}, separators=(",", ":")).encode()

    def next(self) -> Self:
        """A copy for the next version."""
        following = deepcopy(self)
        following.serial += 1
        return following

    def parts(self) -> set[str]:
        """The names of all objects that belong to it."""
        return {*self.large.values(), *(part for parts in self.histories.values() for part, _ in parts)}


def damaged(place: str, name: str, error: Exception, body: bytes) -> StateError:
    """What to tell of an object that is not what it should be."""
    begin = body[:80].decode(errors="replace")
    return StateError(
        f"state store, {place}: {name} is damaged ({reason_of(error)}): {begin}; restore it from a copy, or delete the "
        "pipeline's objects to start anew (with a new snapshot)",
        number="CDC7106",
    )
