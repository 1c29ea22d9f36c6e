"""Which tables a pipeline has made: what the state remembers of them, and what is kept beside a Spark checkpoint."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import pytest

from cdckit.api.marks import MarkKind
from cdckit.api.state_store import HistoryEntry
from cdckit.engine.state.generation import NOTE, Generation
from cdckit.engine.state.made_for import keep_offset
from cdckit.engine.state.made_tables import FOLDER, HISTORY, beside, remembered, tables_in, take_into
from cdckit.engine.state.runner_handover import open_state
from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit.errors import StateError
from cdckit.tables.made_tables import MadeTable, MadeTables, TablesGoneError
from cdckit.tables.marks import Mark
from testkit.states import state_in

OFFSET = {"at": 1}
ONE, TWO = MadeTable("t", "shop.a", "shop.a"), MadeTable("t", "s.shop.b.Value")


def mark(kind: MarkKind, source: str) -> Mark:
    return Mark(kind, "1", source, source)


def lacks(made: MadeTables, *marks: Mark, asked: tuple[str, ...] = ()) -> list[str]:
    try:
        made.require_told("lake/t", "t", marks, asked)
    except TablesGoneError as error:
        return error.sources
    return []


def test_what_is_told_or_asked_for_is_not_lacking() -> None:
    made = MadeTables([ONE, TWO])
    assert lacks(made) == ["s.shop.b.Value", "shop.a"]
    assert lacks(made, mark(MarkKind.SNAPSHOT_BEGIN, "shop.a")) == ["s.shop.b.Value"]
    assert lacks(made, mark(MarkKind.RENAME, "shop.a"), asked=("shop.b",)) == ["shop.a"]
    assert lacks(made, asked=("shop.a", "shop.b")) == []
    assert lacks(made, asked=("op.a", "hop.b")) == ["s.shop.b.Value", "shop.a"]


def test_the_state_remembers_what_was_written(tmp_path: Path) -> None:
    with closing(SqliteStateStore(tmp_path)) as state:
        state.save_offset(OFFSET)
        made = tables_in(state)
        made.wrote("t", {"shop.a", "shop.c"}, [mark(MarkKind.CREATE, "shop.a")], before=False, there=True)
        assert not remembered(state, OFFSET)
        made.save()
        before = state.changes
        made.wrote("t", {"shop.a"}, (), before=True, there=True)
        made.save()
        assert state.changes == before
        assert remembered(state, OFFSET) == [ONE, MadeTable("t", "shop.c")]
        made.wrote("t", {"shop.c"}, (), before=False, there=True)
        made.save()
        assert len(list(state.read_history(HISTORY))) == 2
        assert remembered(state, OFFSET) == [MadeTable("t", "shop.c")]
        assert len(list(state.read_history(HISTORY))) == 1
        keep_offset(state)
        assert not remembered(state, OFFSET)


def test_another_table_in_the_place_of_one_is_known(tmp_path: Path) -> None:
    """Where an older version has remembered a table, from its next change on."""
    with closing(SqliteStateStore(tmp_path)) as state:
        state.save_offset(OFFSET)
        state.append_history(HISTORY, [HistoryEntry('["t", "shop.a"]', {"table": "shop.a", "made": True})])
        made = tables_in(state)
        assert not made.is_another("t", "1")
        made.wrote("t", {"shop.a"}, (), before=True, there=True, identity="1")
        made.save()
        made = tables_in(state)
        assert [made.is_another("t", each) for each in ("1", "2", None)] == [False, True, False]
        with pytest.raises(TablesGoneError, match="lake/t: is gone, with another one in its place, and this"):
            made.require_told("lake/t", "t", (), (), replaced=True)
        made.wrote("t", {"shop.a", "shop.c"}, (), before=False, there=True, identity="2")
        made.save()
        kept = [MadeTable("t", "shop.a", "shop.a", identity="2"), MadeTable("t", "shop.c", identity="2")]
        assert remembered(state, OFFSET) == kept


def test_each_table_that_has_another_in_its_place_is_named() -> None:
    errors = [TablesGoneError(["b"], ["s.b"], ["b"]), TablesGoneError(["a"], ["s.a"])]
    assert "tables a, b: are gone, with another one in the place of b, and" in str(TablesGoneError.of(errors))


def test_changes_that_wait_beside_a_table_are_remembered_until_none_does(tmp_path: Path) -> None:
    with closing(SqliteStateStore(tmp_path)) as state:
        state.save_offset(OFFSET)
        made = tables_in(state)
        made.waits("t~changes", {"shop.a"}, [mark(MarkKind.CREATE, "shop.a")], waiting=True)
        made.save()
        assert remembered(state, OFFSET) == [MadeTable("t~changes", "shop.a", "shop.a")]
        made.waits("t~changes", set(), waiting=False)
        made.save()
        assert not remembered(state, OFFSET)


def test_without_an_offset_nothing_can_lack(tmp_path: Path) -> None:
    with closing(SqliteStateStore(tmp_path)) as state:
        made = tables_in(state)
        made.wrote("t", {"shop.a"}, (), before=False, there=True)
        made.save()
        assert not remembered(state, None)
        assert not remembered(state, OFFSET)


def test_what_is_damaged_is_told(tmp_path: Path) -> None:
    with closing(SqliteStateStore(tmp_path)) as state:
        state.append_history(HISTORY, [HistoryEntry('["t"]', {"table": None, "made": True})])
        with pytest.raises(StateError, match="tables that were made is damaged"):
            remembered(state, OFFSET)


def test_whoever_opens_the_state_takes_what_stands_beside_a_checkpoint(tmp_path: Path) -> None:
    generation = Generation("g", OFFSET, authority=True)
    checkpoint = generation.checkpoint(tmp_path)
    with closing(SqliteStateStore(tmp_path)) as state:
        state.save_offset(OFFSET)
        state.put(NOTE, asdict(generation))
    keep = beside(checkpoint, None)
    keep([ONE, TWO])
    keep([MadeTable("t", "s.shop.b.Value", made=False)])
    assert len(list((checkpoint / FOLDER).iterdir())) == 2
    with closing(open_state(state_in(tmp_path))) as state:
        assert remembered(state, OFFSET) == [ONE]
    assert not list((checkpoint / FOLDER).iterdir())
    keep([TWO])
    (checkpoint / FOLDER / "000000000002").write_text("[")
    with closing(SqliteStateStore(tmp_path)) as state, pytest.raises(StateError, match="remove that folder"):
        take_into(state, checkpoint)
