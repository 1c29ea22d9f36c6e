"""cdckit's own pipelines, run as their users run them: `cdc run FILE`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from cdckit_faults.drivers.driver import Driver, Folders, Refusal, Start, Systems
from cdckit_faults.drivers.lines import Lines
from cdckit_faults.history.gtids import GtidSet
from cdckit_faults.history.record import Record
from cdckit_faults.tables import POISON, PREFIX, topics_of
from testkit.states import offset_in

_PATIENCE_MS = 2000
_FLUSH_MS = 100


class Cdckit(Driver):
    """MySQL to a file, on the direct runner."""

    name: ClassVar[str] = "cdckit"
    refusals: ClassVar[Mapping[str, Refusal]] = {
        "purge": Refusal(frozenset({3}), r"error CDC3\d{3}: .*changes are lost; snapshot.mode=when_needed takes a new"),
        "disk-full": Refusal(frozenset({4, 7}), r"error CDC[47]\d{3}: .*([Nn]o space left|[Ff]ile too large|is full)"),
        "poison": Refusal(frozenset({6}), rf"error CDC6\d{{3}}: .*a record of topic \S+\.{POISON} at position \d"),
        "corrupt": Refusal(frozenset({3, 5}), r"error CDC[35]\d{3}: .+"),
    }

    def __init__(self, folders: Folders, systems: Systems) -> None:
        super().__init__(folders, systems)
        self._state = folders.data / "state"
        self._lines = Lines(folders.data / "out.jsonl", topics_of(systems.database))

    def command(self, how: Start) -> Sequence[str | Path]:
        """`cdc run`, after the pipeline file was written."""
        path = self.folders.own / "pipeline.json"
        path.write_text(json.dumps(self._pipeline(how)))
        return [sys.executable, "-m", "cdckit", "run", path]

    def saved(self) -> GtidSet:
        """By its state."""
        offset = offset_in(self._state) or {}
        return GtidSet.read(str(offset.get("gtids") or ""))

    def delivered(self) -> Iterator[Record]:
        """By its file."""
        return self._lines.new()

    def sink(self) -> Mapping[str, Any]:
        """The sink's section."""
        return {"type": "file", "path": str(self._lines.path)}

    def runner(self) -> Mapping[str, Any]:
        """The runner, and its options."""
        return {"runner": "direct"}

    def _pipeline(self, how: Start) -> dict[str, Any]:
        tolerated = {"errors.tolerance": "quarantine"} if how.poison_passes else {}
        return {
            "name": "faults",
            "state": str(self._state),
            "source": self._source(how),
            "transforms": [{"type": "ExtractField$Value", "field": "nothing", "predicate": "poisoned"}],
            "predicates": {"poisoned": {"type": "TopicNameMatches", "pattern": rf".*\.{POISON}"}},
            "serializer": {"schemas.enable": False},
            "offset.flush.interval.ms": _FLUSH_MS,
            "sink": self.sink(),
            **tolerated,
            **self.runner(),
        }

    def _source(self, how: Start) -> dict[str, Any]:
        return {
            "type": "mysql",
            "topic.prefix": PREFIX,
            "database.hostname": self.systems.host,
            "database.port": self.systems.port,
            "database.user": self.systems.user,
            "database.password": self.systems.password,
            "database.include.list": self.systems.database,
            "database.ssl.mode": "disabled",
            "include.schema.changes": False,
            "snapshot.mode": "when_needed" if how.new_snapshot else "initial",
            "connect.timeout.ms": _PATIENCE_MS,
            "connect.keep.alive.interval.ms": _PATIENCE_MS,
            "database.query.timeout.ms": 2 * _PATIENCE_MS,
            "retriable.restart.connector.wait.ms": 100,
        }
