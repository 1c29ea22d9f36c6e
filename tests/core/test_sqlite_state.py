"""The SQLite state store: durable, held by one, and clear about what is wrong."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cdckit.api.state_store import HistoryEntry
from cdckit.connector.signals import Signal
from cdckit.connector.signals.inbox import leave
from cdckit.engine.metrics.figures import Figures
from cdckit.engine.metrics.listener import FiguresListener
from cdckit.engine.metrics.status_file import StatusFile, read_status
from cdckit.engine.state.sqlite import SqliteStateStore, SqliteStateView
from cdckit.errors import StateError


def test_offset_history_and_values_survive_a_restart(tmp_path: Path) -> None:
    store = SqliteStateStore(tmp_path / "s")
    assert store.load_offset() is None
    store.save_offset({"file": "binlog.000001", "pos": 4})
    store.append_history("ddl", [HistoryEntry("002", {"b": 1}), HistoryEntry("001", {"a": 1})])
    store.append_history("ddl", [HistoryEntry("002", {"b": 2})])
    store.put("epoch", 3)
    store.close()
    again = SqliteStateStore(tmp_path / "s")
    assert again.load_offset() == {"file": "binlog.000001", "pos": 4}
    assert list(again.read_history("ddl")) == [("001", {"a": 1}), ("002", {"b": 2})]
    assert list(again.read_history("ddl", up_to="001")) == [("001", {"a": 1})]
    assert again.get("epoch") == 3
    again.replace_history("ddl", [HistoryEntry("009", {})])
    again.save_offset(None)
    assert list(again.read_history("ddl")) == [("009", {})]
    assert again.load_offset() is None
    again.close()


def test_only_the_owner_may_read_its_files(tmp_path: Path) -> None:
    """Offsets, definitions and statements tell of data; whatever the umask."""
    umask = os.umask(0)
    try:
        store = SqliteStateStore(tmp_path)
        store.put("epoch", 3)
        status = StatusFile(tmp_path, Figures("p", "mysql", "direct", "file"))
        leave(tmp_path, Signal("1", "log", {}))
        found = {path.name: oct(path.stat().st_mode & 0o777) for path in tmp_path.rglob("*") if path.is_file()}
        status.close()
        store.close()
    finally:
        os.umask(umask)
    assert {"state.db", "state.db-wal", "lock", "status.json"} < set(found)
    assert set(found.values()) == {"0o600"}


def test_what_follows_at_once_is_in_the_status_though_nothing_comes_after_it(tmp_path: Path) -> None:
    figures = Figures("p", "mysql", "spark", "file")
    status = StatusFile(tmp_path, figures)
    listener = FiguresListener(figures, status.changed)
    listener.cdckit_snapshot_started("p", {"d.t": 2})
    listener.cdckit_snapshot_progress("p", "d.t", 2, 2, finished=True)
    listener.cdckit_snapshot_ended("p", completed=True)
    until = time.monotonic() + 30
    while (found := read_status(tmp_path)) is None or (found["snapshot"] or {}).get("state") != "completed":
        assert time.monotonic() < until, found
        time.sleep(0.05)
    status.close()


def test_a_second_pipeline_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    store = SqliteStateStore(tmp_path)
    with pytest.raises(StateError, match=rf"held by another pipeline \(process {os.getpid()}\)"):
        SqliteStateStore(tmp_path)
    store.close()
    SqliteStateStore(tmp_path).close()


def test_a_killed_holder_lets_go_and_what_it_saved_is_there(tmp_path: Path) -> None:
    script = (
        "import sys, pathlib, time\n"
        "from cdckit.engine.state.sqlite import SqliteStateStore\n"
        "s = SqliteStateStore(pathlib.Path(sys.argv[1]))\n"
        "s.save_offset({'n': 1})\n"
        "print('saved', flush=True)\n"
        "time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "saved\n"
    assert SqliteStateView(tmp_path).load_offset() == {"n": 1}
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    store = SqliteStateStore(tmp_path)
    assert store.load_offset() == {"n": 1}
    store.close()


def test_a_corrupted_file_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_bytes(b"this is no database at all, whatever its name" * 100)
    with pytest.raises(StateError, match=r"state\.db: .*move the state folder away"):
        SqliteStateStore(tmp_path)
    (tmp_path / "state.db").unlink()
    SqliteStateStore(tmp_path).close()


def test_a_file_that_a_killed_process_left_empty_holds_no_offset(tmp_path: Path) -> None:
    (tmp_path / "state.db").touch()
    assert SqliteStateView(tmp_path).load_offset() is None
    store = SqliteStateStore(tmp_path)
    store.save_offset({"n": 1})
    store.close()
    assert SqliteStateView(tmp_path).load_offset() == {"n": 1}


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StateError, match="name a folder that can be written"):
        SqliteStateStore(tmp_path / "file" / "state")
