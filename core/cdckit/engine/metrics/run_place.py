"""What a run was started from, for those who look at its state folder alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class RunPlace:
    """The pipeline's file, and where else it keeps things.

    Attributes:
        file: the pipeline file; None: not known.
        as_written: whether the command line changed nothing of it, so that commands may be called with the file alone.
        store: the state store's type.
        quarantine: the folder of its quarantine; None: it has none.
        quarantine_topic: the topic of Kafka that has it instead; None: none has.
        signals: the types of signals that it takes from `cdc signal`; empty: none.
        sink: the sink's type.
    """

    file: Path | None = None
    as_written: bool = True
    store: str = "file"
    quarantine: Path | None = None
    signals: Sequence[str] = ()
    sink: str = ""
    quarantine_topic: str | None = None

    def to_json(self) -> dict[str, Any]:
        """What is written of it."""
        return {
            "file": None if self.file is None else str(self.file),
            "as_written": self.as_written,
            "store": self.store,
            "quarantine_folder": None if self.quarantine is None else str(self.quarantine),
            "quarantine_topic": self.quarantine_topic,
            "signals": list(self.signals),
            "sink": self.sink,
        }
