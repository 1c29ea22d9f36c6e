"""What changes, told to each page that listens: one reader for all of them, which rests while nobody does."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from cdckit.errors import CdcError
from cdckit.ui.details import details
from cdckit.ui.fleet import Fleet, Member, row

LOOK_SECONDS = 1.0
MOST_LISTENERS = 64
_ALIVE_SECONDS = 15.0
"""A word at least so often, so that what stands between does not hang up."""


class Live:
    """Follows a fleet.

    Args:
        fleet: what is read.
    """

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._listeners: set[asyncio.Event] = set()
        self._members: list[Member] = []
        self._read_at = float("-inf")
        self._reading = asyncio.Lock()
        self._ended = False

    @property
    def full(self) -> bool:
        """Whether nobody else can listen."""
        return len(self._listeners) >= MOST_LISTENERS

    def end(self) -> None:
        """Every stream ends."""
        self._ended = True
        for listener in self._listeners:
            listener.set()

    async def members(self) -> list[Member]:
        """The fleet, at most a second old."""
        async with self._reading:
            if time.monotonic() - self._read_at >= LOOK_SECONDS * 0.9:
                self._members = await asyncio.to_thread(self._fleet.members)
                self._read_at = time.monotonic()
            return self._members

    async def member(self, identifier: str) -> Member | None:
        """One of the fleet as it is now, or None."""
        return await asyncio.to_thread(self._fleet.member, identifier)

    async def details(self, identifier: str) -> dict[str, Any] | None:
        """All of a pipeline; None where there is none of that id."""
        member = await self.member(identifier)
        if member is None:
            return None
        try:
            return await asyncio.to_thread(details, member, self._fleet.stale_after)
        except CdcError as error:
            return {**row(member), "problem": str(error), "tables": [], "timeline": [], "trend": {}}

    async def stream(self, watched: str | None) -> AsyncIterator[bytes]:
        """Server-sent events: the whole fleet, then what changes of it, and of the pipeline that is watched."""
        ended = asyncio.Event()
        self._listeners.add(ended)
        try:
            rows: dict[str, dict[str, Any]] = {}
            pipeline, said = "", time.monotonic()
            while not self._ended:
                events = [*self._of_fleet(await self.members(), rows)]
                if watched is not None:
                    told = json.dumps(await self.details(watched))
                    events += [("pipeline", told)] if told != pipeline else []
                    pipeline = told
                if events or time.monotonic() - said > _ALIVE_SECONDS:
                    said = time.monotonic()
                    yield "".join(_event(*each) for each in events).encode() or b": alive\n\n"
                with suppress(TimeoutError):
                    await asyncio.wait_for(ended.wait(), LOOK_SECONDS)
        finally:
            self._listeners.discard(ended)

    def _of_fleet(self, members: list[Member], before: dict[str, dict[str, Any]]) -> list[tuple[str, str]]:
        """What to tell a page that knows the rows of `before`, which then holds those of now."""
        rows = {member.id: row(member) for member in members}
        first = not before
        changed = [_changes(before.get(each), told) for each, told in rows.items() if before.get(each) != told]
        gone = [each for each in before if each not in rows]
        before.clear()
        before.update(rows)
        if first:
            return [("fleet", json.dumps(list(rows.values())))]
        return [("rows", json.dumps({"rows": changed, "gone": gone}))] if changed or gone else []


def _changes(before: dict[str, Any] | None, now: dict[str, Any]) -> dict[str, Any]:
    """The members of a row that are new, with its id."""
    known = before or {}
    return {name: value for name, value in now.items() if name == "id" or name not in known or known[name] != value}


def _event(name: str, data: str) -> str:
    return f"event: {name}\ndata: {data}\n\n"
