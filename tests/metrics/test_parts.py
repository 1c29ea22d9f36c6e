"""Parts of tables, told by their readers, put together."""

from __future__ import annotations

from cdckit.api.notices import Notices
from cdckit.connector.snapshot_progress import PartProgress, PartsProgress

Told = tuple[str, int, int | None, bool]


class Tables(Notices):
    """Keeps what is told of tables."""

    def __init__(self) -> None:
        self.told: list[Told] = []

    def snapshot_progress(self, data_collection: str, rows: int, estimate: int | None, finished: bool) -> None:
        self.told.append((data_collection, rows, estimate, finished))


class Parts(Notices):
    """Hands what is told of parts to whoever adds them up."""

    def __init__(self, progress: PartsProgress) -> None:
        self.progress = progress

    def snapshot_part(self, data_collection: str, part: int, parts: int, rows: int, finished: bool) -> None:
        self.progress.part(data_collection, part, parts, rows, finished)


def test_a_table_is_finished_when_all_its_parts_are() -> None:
    tables = Tables()
    parts = PartsProgress(tables)
    parts.begin({"db.a": 50, "db.b": None})
    told = Parts(parts)
    first, second, other = (
        PartProgress(told, "db.a", 0, 2),
        PartProgress(told, "db.a", 1, 2),
        PartProgress(told, "db.b", 2, 1),
    )
    first.read(10)
    second.read(20)
    other.read(1)
    first.finished()
    other.finished()
    second.finished()
    assert tables.told == [
        ("db.a", 10, 50, False),
        ("db.a", 30, 50, False),
        ("db.b", 1, None, False),
        ("db.a", 30, 50, False),
        ("db.b", 1, None, True),
        ("db.a", 30, 50, True),
    ]


def test_a_table_is_not_finished_before_all_its_parts_are_planned() -> None:
    """How many there are is told with the last one, in a later batch."""
    tables = Tables()
    parts = PartsProgress(tables)
    for part in (0, 1):
        parts.part("db.a", part, 0, 0, finished=False)
    for part in (0, 1):
        parts.part("db.a", part, 0, 10, finished=True)
    for rows in (0, 5):
        parts.part("db.a", 2, 3, rows, finished=bool(rows))
    assert [(rows, finished) for _, rows, _, finished in tables.told] == [
        *[(0, False), (0, False)],
        *[(10, False), (20, False)],
        *[(20, False), (25, True)],
    ]


def test_a_part_that_is_read_again_begins_anew() -> None:
    tables = Tables()
    parts = PartsProgress(tables)
    parts.part("db.a", 0, 1, 10, finished=True)
    parts.part("db.a", 0, 1, 3, finished=False)
    assert tables.told == [("db.a", 10, None, True), ("db.a", 3, None, False)]
