"""One signal: its identifier, its type and what goes with it (Debezium's documentation, "Sending signals")."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

EXECUTE_SNAPSHOT = "execute-snapshot"
STOP_SNAPSHOT = "stop-snapshot"
PAUSE_SNAPSHOT = "pause-snapshot"
RESUME_SNAPSHOT = "resume-snapshot"
WINDOW_OPEN = "snapshot-window-open"
WINDOW_CLOSE = "snapshot-window-close"
LOG = "log"

OF_EVERY_SOURCE = (EXECUTE_SNAPSHOT, STOP_SNAPSHOT, PAUSE_SNAPSHOT, RESUME_SNAPSHOT, LOG)
"""What every source that takes signals can be told to do."""

_LONGEST_LINE = 10_000


def parse(text: str | bytes) -> Any:
    """A JSON text of a signal's.

    Raises:
        ValueError: it is none, or is nested too deeply.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def one_line(said: object) -> str:
    """What came with a signal, for the log: in one line, without characters that a terminal obeys."""
    text = str(said)
    if len(text) > _LONGEST_LINE:
        text = f"{text[:_LONGEST_LINE]}…"
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


@dataclass(frozen=True, slots=True)
class Signal:
    """What a source is told to do.

    Attributes:
        id: chosen by who sends it.
        type: such as `execute-snapshot`.
        data: what goes with it.
    """

    id: str
    type: str
    data: Mapping[str, Any]

    @classmethod
    def of(cls, identifier: Any, kind: Any, data: Any) -> Self:
        """A signal out of a row, a document or a message; `data` may be JSON text.

        Raises:
            ValueError: the type is no text, or the data no JSON object.
        """
        name = kind if isinstance(kind, str) else ""
        if not name:
            raise ValueError(f"the type of signal '{identifier}' should be a text, not {kind!r}")
        parsed = parse(data) if isinstance(data, str) and data.strip() else data or {}
        members = parsed if isinstance(parsed, Mapping) else None
        if members is None:
            raise ValueError(f"the data of signal '{identifier}' should be a JSON object, not {data!r}")
        return cls(str(identifier), name, members)
