"""Several readers at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from functools import partial
from typing import cast

import pytest

from cdckit.connector.parallel_reading import ParallelReading
from cdckit.errors import SourceError


class Readers:
    """Each piece has a hundred parts; it is counted how many were read."""

    def __init__(self) -> None:
        self.read = 0
        self._counting = threading.Lock()

    def __call__(self, piece: int) -> Iterator[tuple[int, int]]:
        for part in range(100):
            with self._counting:
                self.read += 1
            yield piece, part


def _threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("snapshot-")]


def test_every_part_comes_once_and_those_of_one_piece_in_order() -> None:
    parts = list(ParallelReading([Readers()] * 3, iter(range(20)), 4).parts())
    assert len(parts) == 2000
    for piece in range(20):
        assert [part for found, part in parts if found == piece] == list(range(100))


def test_no_more_is_read_ahead_than_there_is_room_for() -> None:
    readers = Readers()
    taken = 0
    for _ in ParallelReading([readers] * 3, iter(range(10)), 2).parts():
        taken += 1
        assert readers.read - taken <= 2 + 3
    assert taken == 1000


def test_an_error_of_one_reader_ends_all() -> None:
    def failing(piece: int) -> Iterator[tuple[int, int]]:
        yield piece, 0
        raise SourceError("refused")

    readers: list[Callable[[int], Iterator[tuple[int, int]]]] = [Readers(), Readers(), failing]
    with pytest.raises(SourceError, match="refused"):
        list(ParallelReading(readers, iter(range(1000)), 1).parts())
    assert _threads() == []


def test_readers_that_wait_are_interrupted_when_nobody_takes_more() -> None:
    answers = [threading.Event(), threading.Event()]

    def waiting(number: int, piece: int) -> Iterator[int]:
        yield piece
        answers[number].wait()

    readers = [partial(waiting, number) for number in range(2)]
    reading = ParallelReading(readers, iter(range(2)), 2, lambda number: answers[number].set())
    with closing(cast(Generator[int], reading.parts())) as parts:
        assert next(parts) in (0, 1)
    assert _threads() == []
