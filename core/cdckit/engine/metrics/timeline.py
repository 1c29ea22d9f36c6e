"""What has happened to a pipeline lately: starts, ends, errors, lost connections, changes of definitions, snapshots."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple, get_args

from cdckit.engine.metrics.snapshot_figures import now

ENTRIES = 200
"""So many are kept; the oldest go first."""
_LONGEST = 600
_SAID_TWICE_SECONDS = 60.0
"""An error that comes again within this time is counted, not told anew."""
_SECRET = re.compile(
    r"((?:IDENTIFIED\s+(?:WITH\s+\S+\s+)?(?:BY|AS)(?:\s+PASSWORD)?|PASSWORD\s*=?|CONNECTION\s*=?)\s*\(?\s*)"
    r"('(?:[^'\\]|\\.|'')*(?:'|\\?\Z)|\"(?:[^\"\\]|\\.)*(?:\"|\\?\Z))",
    re.IGNORECASE,
)

Kind = Literal["started", "stopped", "failed", "lost", "back", "schema", "snapshot"]


class Entry(NamedTuple):
    """One thing that happened.

    Attributes:
        at: when, in seconds since 1970; when it happened last, where it happened several times.
        kind: what: the run `started`, `stopped` or `failed`; the source's connection was `lost` or is `back`; a
            definition changed (`schema`); a `snapshot` began or ended.
        text: what was said.
        about: the tables that it is about, or the class of the error.
        times: how often in a row.
    """

    at: float
    kind: Kind
    text: str
    about: str = ""
    times: int = 1


class Timeline:
    """The newest entries.

    Args:
        kept: what an earlier run has written; what is none is left out.
    """

    def __init__(self, kept: Iterable[Any] = ()) -> None:
        found = [entry for each in kept if (entry := _entry(each)) is not None]
        self.entries: deque[Entry] = deque(found, maxlen=ENTRIES)

    def add(self, kind: Kind, text: str, about: str = "") -> None:
        """Something has happened; the same again within a minute is counted."""
        made = Entry(now(), kind, _short(text), _short(about))
        last = self.entries[-1] if self.entries else None
        if last is not None and last[1:4] == made[1:4] and made.at - last.at < _SAID_TWICE_SECONDS:
            self.entries[-1] = made._replace(times=last.times + 1)
        else:
            self.entries.append(made)

    def schema_changed(self, ddl: str, tables: Sequence[str]) -> None:
        """A definition has changed, by a statement, which is shown without passwords."""
        # Of a statement of any length so much is looked at as is shown; what is cut off shows no password either.
        shown = _SECRET.sub(r"\1'***'", ddl[: _LONGEST + 1])
        self.add("schema", shown if len(ddl) <= _LONGEST else f"{shown}…", ", ".join(tables))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _entry(kept: Any) -> Entry | None:
    if not isinstance(kept, list) or len(kept) != len(Entry._fields) or kept[1] not in get_args(Kind):
        return None
    return Entry(*kept)
