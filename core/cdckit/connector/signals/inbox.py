"""Signals for a running pipeline: files in its state folder, which `cdc signal` leaves and the pipeline takes."""

from __future__ import annotations

import json
import logging
import time
import uuid
from pathlib import Path

from cdckit.connector.signals.channels import SignalChannel
from cdckit.connector.signals.signal import Signal, one_line, parse

log = logging.getLogger("cdckit.signals")

FOLDER = "signals"
"""Where they lie in a pipeline's state folder."""


def leave(state: Path, signal: Signal) -> Path:
    """Leaves a signal for the pipeline that has this state folder; it is whole from the moment that it is there.

    Raises:
        OSError: it cannot be written.
    """
    folder = state / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{time.time_ns():020d}-{uuid.uuid4()}"
    draft, final = folder / f".{name}", folder / f"{name}.json"
    # Names that begin with a dot are not looked at: a signal is renamed to its own once it is written, and is never
    # read in part. Names sort by time, so signals keep their order.
    draft.touch(0o600)
    draft.write_text(json.dumps({"id": signal.id, "type": signal.type, "data": dict(signal.data)}), encoding="utf-8")
    return draft.rename(final)


class InboxChannel(SignalChannel):
    """Takes what `leave` left; a file is deleted once an offset is saved that knows of its signal.

    Args:
        folder: the folder of signals.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._taken: list[Path] = []

    def poll(self) -> list[Signal]:
        """The signals that were left, the oldest first."""
        found = []
        for path in sorted(self._folder.glob("*.json")):
            if path not in self._taken:
                self._taken.append(path)
                found += self._signals(path)
        return found

    def _signals(self, path: Path) -> list[Signal]:
        try:
            members = parse(path.read_text(encoding="utf-8"))
            return [Signal.of(members["id"], members["type"], members["data"])]
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.warning("%s is no signal: %s", path, one_line(error))
            return []

    def committed(self) -> None:
        """What was taken need not be taken again."""
        for path in self._taken:
            path.unlink(missing_ok=True)
        self._taken.clear()
