"""Ways for signals to come in beside the source's own table or collection."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections import defaultdict, deque
from pathlib import Path

from cdckit.connector.signals.signal import Signal, one_line, parse

log = logging.getLogger("cdckit.signals")


class SignalChannel(ABC):
    """Brings signals; asked between batches by the thread that reads."""

    @abstractmethod
    def poll(self) -> list[Signal]:
        """The signals that came since the last call."""

    def committed(self) -> None:
        """An offset is saved that knows of every signal that was given out. Nothing to do by default."""

    def close(self) -> None:
        """Lets go of everything. Nothing to do by default."""


class FileChannel(SignalChannel):
    """A file of JSON lines (`signal.file`); what has been read is taken out of it, as Debezium does.

    Args:
        path: the file; it need not be there yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def poll(self) -> list[Signal]:
        """Its lines; one that is no signal is logged and left out."""
        try:
            with self._path.open("r+", encoding="utf-8") as file:
                # A line that another process adds between reading and emptying is lost: `cdc signal` leaves files of
                # their own (`inbox.py`).
                lines = file.read().splitlines()
                file.truncate(0)
        except FileNotFoundError:
            return []
        return [signal for line in lines if line.strip() and (signal := self._signal(line)) is not None]

    def _signal(self, line: str) -> Signal | None:
        try:
            members = parse(line)
            return Signal.of(members.get("id", ""), members["type"], members.get("data"))
        except (ValueError, KeyError, AttributeError) as error:
            log.warning(
                '%s: a line is no signal such as {"id": …, "type": …, "data": …}: %s', self._path, one_line(error)
            )
            return None


_WAITING: defaultdict[str, deque[Signal]] = defaultdict(deque)


def send(topic_prefix: str, signal: Signal) -> None:
    """Hands a signal to the sources of this process that have this `topic.prefix` and the channel `in-process`."""
    _WAITING[topic_prefix].append(signal)


class InProcessChannel(SignalChannel):
    """Takes what `send` hands over.

    Args:
        topic_prefix: the source's.
    """

    def __init__(self, topic_prefix: str) -> None:
        self._waiting = _WAITING[topic_prefix]

    def poll(self) -> list[Signal]:
        """The signals that wait."""
        taken = []
        while self._waiting:
            taken.append(self._waiting.popleft())
        return taken
