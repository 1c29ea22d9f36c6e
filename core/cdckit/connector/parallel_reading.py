"""Reads pieces of work in several threads at the same time; what they have read waits in a short queue."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

from cdckit.waiting import ended_by_stop

_NAP = 0.1
"""After so many seconds a thread that waits for room in the queue looks whether it is to end."""
_LONGEST_END = 0.3
"""So many seconds they may take to end; those that cannot be interrupted are left behind."""

Piece = TypeVar("Piece")
Part = TypeVar("Part")


class ParallelReading(Generic[Piece, Part]):
    """A thread for each reader.

    Args:
        readers: each gives the parts of one piece of work at a time, in order.
        pieces: what to read; each goes to the first reader that is free, in order.
        room: how many parts may wait for whoever takes them; each reader may have one more in hand.
        interrupt: ends the wait of a reader, told by its number, for its server.
    """

    def __init__(
        self,
        readers: Sequence[Callable[[Piece], Iterator[Part]]],
        pieces: Iterator[Piece],
        room: int,
        interrupt: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._readers = readers
        self._pieces = pieces
        self._interrupt = interrupt
        self._choosing = threading.Lock()
        self._queue: queue.Queue[tuple[Part] | BaseException | None] = queue.Queue(room)
        self._ending = threading.Event()

    def parts(self) -> Iterator[Part]:
        """The parts, as they come; those of one piece in order.

        Raises:
            CdcError: a reader's error; the others end.
        """
        threads = [
            threading.Thread(target=self._read, args=(each,), name=f"snapshot-{number}", daemon=True)
            for number, each in enumerate(self._readers)
        ]
        for thread in threads:
            thread.start()
        try:
            yield from self._arriving(len(threads))
        finally:
            self._end(threads)

    def _arriving(self, threads: int) -> Iterator[Part]:
        while threads:
            with ended_by_stop():
                found = self._queue.get()
            if isinstance(found, BaseException):
                raise found
            if found is None:
                threads -= 1
            else:
                yield found[0]

    def _read(self, reader: Callable[[Piece], Iterator[Part]]) -> None:
        try:
            while (piece := self._next()) is not None:
                for part in reader(piece):
                    if not self._put((part,)):
                        return
            self._put(None)
        except BaseException as error:  # noqa: BLE001 - raised again by who takes the parts
            self._put(error)

    def _next(self) -> Piece | None:
        with self._choosing:
            return next(self._pieces, None)

    def _put(self, found: tuple[Part] | BaseException | None) -> bool:
        """Whether it was taken; not where the reading ends."""
        while not self._ending.is_set():
            with suppress(queue.Full):
                self._queue.put(found, timeout=_NAP)
                return True
        return False

    def _end(self, threads: Sequence[threading.Thread]) -> None:
        """Ends the threads, those too that wait for the server."""
        self._ending.set()
        for number, thread in enumerate(threads):
            if thread.is_alive():
                self._interrupt(number)
        until = time.monotonic() + _LONGEST_END
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
