"""How far an incremental snapshot is by a saved offset and by a later one, of which only chunks count."""

from __future__ import annotations

from typing import Any

import pytest

from cdckit.connector.incremental import IncrementalState, Wanted
from cdckit.connector.offset import with_chunks

A, B, C = Wanted("d.a"), Wanted("d.b"), Wanted("d.c")


def at(*wanted: Wanted, after: Any = None, **others: Any) -> IncrementalState:
    last = None if after is None else [99]
    return IncrementalState(wanted, after and [after], **{"last": last, "columns": ("id",) if last else (), **others})


@pytest.mark.parametrize(
    ("saved", "later", "behind"),
    [
        (at(A, B, after=5, rows=5, total=5), at(A, B, after=9, rows=9, total=8), at(A, B, after=9, rows=9, total=8)),
        (at(A, B, last=[99], columns=("id",)), at(A, B, after=9, rows=9), at(A, B, after=9, rows=9)),
        (at(A, B, after=5, total=5), at(B, last=[7], total=9), at(B, total=9)),
        (at(A, B, after=5), at(), at(B)),
        (at(A, after=5), at(), at()),
        (at(A, after=5), at(A, B, after=9), at(A, after=9)),
        (at(A, after=5), at(A, after=9, paused=True), at(A, after=9)),
        (at(A, after=5), at(A, last=[99]), at(A, after=5)),
        (at(A, after=5), at(B, A), at(A, after=5)),
        (at(), at(C, after=5), at()),
    ],
    ids=[
        "further",
        "the first chunk",
        "the next table",
        "all tables",
        "the only table",
        "a signal asks for more",
        "a signal pauses it",
        "begun anew",
        "asked for again",
        "not known of",
    ],
)
def test_only_chunks_count(saved: IncrementalState, later: IncrementalState, behind: IncrementalState) -> None:
    offsets = [{"pos": place, "cdckit_incremental": state.to_json()} for place, state in enumerate((saved, later))]
    found = with_chunks(*offsets)
    assert found["pos"] == 0
    assert IncrementalState.from_json(found.get("cdckit_incremental")) == IncrementalState.from_json(behind.to_json())
