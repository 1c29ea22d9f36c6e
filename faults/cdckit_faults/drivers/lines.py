"""Files of events, a JSON line each, read while they grow."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path

from cdckit_faults.history.record import Record, record_of


class Lines:
    """A file of events in Debezium's format, without schemas: `topic`, `key`, `value`.

    Args:
        path: the file, which need not be there yet.
        topics: events of others are passed over.
    """

    def __init__(self, path: Path, topics: Collection[str]) -> None:
        self.path = path
        self._topics = frozenset(topics)
        self._read = 0

    def new(self) -> Iterator[Record]:
        """The whole lines that have come since the last call; one that is torn is none yet."""
        if not self.path.exists():
            return
        with self.path.open("rb") as lines:
            lines.seek(self._read)
            for line in lines:
                if not line.endswith(b"\n"):
                    return
                self._read += len(line)
                event = json.loads(line)
                if event["topic"] in self._topics:
                    yield record_of(event["topic"], event["key"], event["value"])
