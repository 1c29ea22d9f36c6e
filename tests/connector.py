"""A connector of a live Debezium, whose offsets and history a pipeline takes over."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from benchmarks import debezium


class Connector:
    """A connector's configuration and what it leaves behind.

    Attributes:
        folder: of all its files.
        file: its configuration.
        log: what it says.
        offsets: where it stores its offsets.
        history: where it stores its schema history, if it has one.
    """

    def __init__(self, folder: Path, options: Mapping[str, object]) -> None:
        self.folder = folder
        self.file = folder / "connector.properties"
        self.log = folder / "engine.log"
        self.offsets, self.history = folder / "offsets.dat", folder / "history.dat"
        self.file.write_text("".join(f"{name}={value}\n" for name, value in options.items()))

    def write(self) -> Path:
        """The configuration's file."""
        return self.file

    def captures(self, events: int) -> int:
        """Lets the connector run until it has given so many events, and tells how many it gave."""
        debezium.Debezium("Debezium", ()).capture(self, events)
        return int(re.findall(r"^(\d+) events", self.log.read_text(encoding="utf-8"), re.MULTILINE)[-1])
