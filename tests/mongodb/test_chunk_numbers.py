"""The numbers that documents of a snapshot have in their positions."""

from __future__ import annotations

import pytest

from cdckit_mongodb.offsets import SNAPSHOT_NUMBERS, SnapshotPlace
from cdckit_mongodb.snapshot.chunk_walk import numbered, place_behind
from cdckit_mongodb.splits import Chunk


def test_numbers_of_documents_never_meet_and_never_end() -> None:
    """Of however many batches and chunks; and a batch that is planned anew in other chunks keeps to its own."""
    start: SnapshotPlace | None = None
    found: list[tuple[int, int]] = []
    for batch in range(3000):
        some = [Chunk("d", "a", "00", "00", 10)] * (batch % 40 + 1)
        place = place_behind(some, start)
        for planned in (some, some * 3):
            firsts = [chunk.first_row for chunk in numbered(planned, start, place)]
            assert firsts == sorted(set(firsts))
            assert firsts[0] >= (0 if start is None else start.rows)
            assert firsts[-1] < place.rows < SNAPSHOT_NUMBERS
        found += [(chunk.first_row, chunk.first_row) for chunk in numbered(some, start, place)]
        if len(found) == 50_000:
            break
        start = place


@pytest.mark.parametrize("given", [50_000, 90_000])
def test_so_many_chunks_have_numbers_for_ten_billion_documents_each(given: int) -> None:
    firsts = [chunk.first_row for chunk in numbered([Chunk("d", "a")] * given, None, None)]
    assert firsts[1] - firsts[0] == 10**7
    assert firsts[-1] < SNAPSHOT_NUMBERS
