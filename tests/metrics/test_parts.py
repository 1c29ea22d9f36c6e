"""Parts of tables, told by their readers, put together."""

from __future__ import annotations

from typing import Any

from cdckit.connector.snapshot_progress import PartProgress, PartsProgress

Told = tuple[str, int, int | None, bool]


class Hooks:
    """Keeps what the hooks are told of tables."""

    def __init__(self) -> None:
        self.told: list[Told] = []

    def __call__(self, notice: str, /, **facts: Any) -> None:
        assert notice == "snapshot_progress"
        self.told.append((facts["data_collection"], facts["rows"], facts["estimate"], facts["finished"]))


def test_a_table_is_finished_when_all_its_parts_are() -> None:
    hooks = Hooks()
    parts = PartsProgress(hooks)
    parts.begin({"db.a": 50, "db.b": None})

    def told(_notice: str, /, **facts: Any) -> None:
        parts.part(**facts)

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
    assert hooks.told == [
        ("db.a", 10, 50, False),
        ("db.a", 30, 50, False),
        ("db.b", 1, None, False),
        ("db.a", 30, 50, False),
        ("db.b", 1, None, True),
        ("db.a", 30, 50, True),
    ]


def test_a_part_that_is_read_again_begins_anew() -> None:
    hooks = Hooks()
    parts = PartsProgress(hooks)
    parts.part("db.a", 0, 1, 10, finished=True)
    parts.part("db.a", 0, 1, 3, finished=False)
    assert hooks.told == [("db.a", 10, None, True), ("db.a", 3, None, False)]
