"""What is known of the ends of planned ranges besides their offsets, which a runner keeps as they were planned.

A server that is asked for its log's end names the transactions first, then the place: some before the place may not be
named. And a range whose end was planned at one server may have been read at another, where its place means nothing.
"""

from __future__ import annotations

from cdckit import StateError, StateStore
from cdckit_mysql.offsets import LogOffset

KEY = "mysql range ends"
"""What they are kept under in the state store."""
_KEPT = 3
"""A range that is planned again needs its begin and its end."""


class RangeEnds:
    """The ends of the last ranges of one pipeline.

    Args:
        state: where they are kept.
    """

    def __init__(self, state: StateStore) -> None:
        self._state = state
        self._known: dict[str, dict[str, object]] | None = None

    def known(self, offset: LogOffset) -> LogOffset:
        """`offset`, with what is known of it better: by which transactions to go on, and from which server's epoch."""
        found = self._ends().get(_name(offset))
        return offset if found is None else LogOffset.kept(found)

    def note(self, end: LogOffset, known: LogOffset) -> None:
        """Keeps what is known of an end, durably."""
        if self.known(end) == known:
            return
        ends = {name: known for name, known in self._ends().items() if name != _name(end)}
        last = [*ends.items(), (_name(end), known.to_json())][-_KEPT:]
        self._known = dict(last)
        self._state.put(KEY, self._known)

    def _ends(self) -> dict[str, dict[str, object]]:
        if self._known is None:
            self._known = _read(self._state.get(KEY))
        return self._known


def _read(kept: object) -> dict[str, dict[str, object]]:
    if not isinstance(kept, dict | None) or not all(isinstance(end, dict) for end in (kept or {}).values()):
        raise StateError(
            f"what the state keeps as '{KEY}' is damaged: {str(kept)[:200]}; restore it from a copy", number="CDC7106"
        )
    return dict(kept or {})


def _name(offset: LogOffset) -> str:
    return f"{offset.server} {offset.position.prefix}"
