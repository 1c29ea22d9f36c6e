"""Messages held back until the watermark passes them: in memory up to a limit, beyond it in sorted runs on disk."""

from __future__ import annotations

import heapq
import pickle
import tempfile
from collections.abc import Iterator
from typing import IO, NamedTuple

from cdckit_ticdc.message import Message
from cdckit_ticdc.offsets import Partition


class Held(NamedTuple):
    """One message; `number` keeps those of one time in the order in which they came."""

    time: int
    number: int
    partition: Partition
    message: Message


class Buffer:
    """Gives messages back sorted by time, those of one time in the order of their arrival.

    Args:
        limit: how many messages memory holds.
        limit_bytes: how many bytes of keys and values memory holds.
    """

    def __init__(self, limit: int, limit_bytes: int) -> None:
        self._limit, self._limit_bytes = limit, limit_bytes
        self._held: list[Held] = []
        self._bytes = 0
        self._number = 0
        self._runs: list[_Run] = []
        self._first: dict[Partition, int] = {}

    def __len__(self) -> int:
        return len(self._held) + sum(run.left for run in self._runs)

    def add(self, time: int, partition: Partition, message: Message) -> None:
        """Takes a message."""
        self._number += 1
        self._held.append(Held(time, self._number, partition, message))
        self._bytes += _size(message)
        self._first.setdefault(partition, message.offset)
        if len(self._held) > self._limit or self._bytes > self._limit_bytes:
            self._spill()

    def take(self, up_to: int | None) -> Iterator[Held]:
        """Removes and gives the messages up to and with a time; None: all."""
        self._held.sort()
        at = len(self._held)
        if up_to is not None:
            while at and self._held[at - 1].time > up_to:
                at -= 1
        taken, self._held = self._held[:at], self._held[at:]
        self._bytes = sum(_size(held.message) for held in self._held)
        self._first = _first_offsets(self._held)
        # Runs are sorted files: what a slow watermark has piled up is merged from disk, a message of each run in
        # memory.
        yield from heapq.merge(taken, *(run.take(up_to) for run in self._runs))
        for run in [run for run in self._runs if not run.left]:
            run.close()
            self._runs.remove(run)

    def first_offsets(self) -> dict[Partition, int]:
        """The lowest offset of each partition that is still held, or a lower one."""
        found = dict(self._first)
        for run in self._runs:
            for partition, offset in run.first_offsets.items():
                found[partition] = min(offset, found.get(partition, offset))
        return found

    def close(self) -> None:
        """Removes the files. May be called twice."""
        for run in self._runs:
            run.close()
        self._runs.clear()
        self._held.clear()

    def _spill(self) -> None:
        self._held.sort()
        self._runs.append(_Run(self._held))
        self._held, self._bytes, self._first = [], 0, {}


class _Run:
    """A sorted file of held messages."""

    def __init__(self, held: list[Held]) -> None:
        self.left = len(held)
        self.first_offsets = _first_offsets(held)
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="cdckit-held-")  # noqa: SIM115 - closed by `close`
        write = pickle.Pickler(self._file, pickle.HIGHEST_PROTOCOL)
        for one in held:
            write.dump((one.time, one.number, tuple(one.partition), tuple(one.message)))
            write.clear_memo()
        self._file.seek(0)
        self._next = self._read()

    def take(self, up_to: int | None) -> Iterator[Held]:
        while self._next is not None and (up_to is None or self._next.time <= up_to):
            self.left -= 1
            yield self._next
            self._next = self._read()

    def close(self) -> None:
        self._file.close()

    def _read(self) -> Held | None:
        try:
            # Written by this process a moment ago, into a file that has no name.
            time, number, partition, message = pickle.load(self._file)  # noqa: S301
        except EOFError:
            return None
        return Held(time, number, Partition(*partition), Message(*message))


def _size(message: Message) -> int:
    return len(message.key or b"") + len(message.value or b"")


def _first_offsets(held: list[Held]) -> dict[Partition, int]:
    found: dict[Partition, int] = {}
    for _, _, partition, message in held:
        if message.offset < found.get(partition, message.offset + 1):
            found[partition] = message.offset
    return found
