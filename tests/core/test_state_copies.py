"""Copies of the state beside a checkpoint, from which a lost state is made anew."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cdckit.api.state_store import HistoryEntry
from cdckit.engine.state.copies import copy_state, number_copy, restore_state
from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit.errors import StateError
from testkit.asked_folder import AskedFolder


def note(state: Path, kept: AskedFolder, line: int) -> None:
    """Saves something, and copies it while the state is held."""
    store = SqliteStateStore(state)
    store.save_offset({"line": line})
    store.append_history("ddl", [HistoryEntry(f"{line:09d}", {"line": line})])
    number_copy(store)
    copy_state(state, kept)
    store.close()


def noted(state: Path) -> tuple[object, list[object]]:
    store = SqliteStateStore(state)
    try:
        return store.load_offset(), [entry for _, entry in store.read_history("ddl")]
    finally:
        store.close()


def test_a_lost_state_is_restored(tmp_path: Path) -> None:
    state, kept = tmp_path / "state", AskedFolder(tmp_path / "kept")
    for line in range(5):
        note(state, kept, line)
    expected = noted(state)
    shutil.rmtree(state)
    restore_state(state, kept)
    assert noted(state) == expected
    assert (state / "state.db").stat().st_mode & 0o77 == 0
    assert len(list(kept.iterdir())) == 2
    note(state, kept, 5)
    shutil.rmtree(state)
    restore_state(state, kept)
    assert noted(state)[0] == {"line": 5}


def test_the_newer_of_state_and_copy_counts(tmp_path: Path) -> None:
    state, kept = tmp_path / "state", AskedFolder(tmp_path / "kept")
    note(state, kept, 0)
    shutil.copytree(state, tmp_path / "elsewhere")
    note(tmp_path / "elsewhere", kept, 1)
    restore_state(state, kept)
    assert noted(state)[0] == {"line": 1}
    store = SqliteStateStore(state)
    store.save_offset({"line": 2})
    store.close()
    restore_state(state, kept)
    assert noted(state)[0] == {"line": 2}


def test_a_damaged_copy_gives_way_to_the_one_before(tmp_path: Path) -> None:
    state, kept = tmp_path / "state", AskedFolder(tmp_path / "kept")
    for line in range(2):
        note(state, kept, line)
    newest = max(tmp_path.glob("kept/state-*"))
    newest.write_bytes(newest.read_bytes()[:40])
    shutil.rmtree(state)
    restore_state(state, kept)
    assert noted(state)[0] == {"line": 0}
    for path in tmp_path.glob("kept/state-*"):
        path.write_bytes(b"x")
    shutil.rmtree(state)
    with pytest.raises(StateError, match="no copy of the state in"):
        restore_state(state, kept)


def test_without_copies_nothing_is_restored(tmp_path: Path) -> None:
    restore_state(tmp_path / "state", AskedFolder(tmp_path / "kept"))
    assert not (tmp_path / "state").exists()
