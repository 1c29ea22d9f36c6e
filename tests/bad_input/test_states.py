"""State that cannot be used: exit code 7, the file named, and nothing delivered from a place that is not known."""

from __future__ import annotations

import resource
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from bad_input.conftest import NewPipeline, past_snapshot, rows
from testkit.running import Pipeline
from testkit.servers.mysql_family import SQLServer

BEFORE = [("r", None, (1, "a")), ("r", None, (2, "b"))]


@pytest.fixture
def db_server(mysql_server: SQLServer) -> SQLServer:
    """One server is enough here."""
    return mysql_server


def _garbage(database: Path) -> None:
    database.write_bytes(b"what once was a database " * 1000)


def _torn(database: Path) -> None:
    content = database.read_bytes()
    database.write_bytes(content[: len(content) // 2])


def _damaged_page(database: Path) -> None:
    content = bytearray(database.read_bytes())
    content[4096:8192] = b"\x5a" * 4096
    database.write_bytes(content)


def _damaged_offset(database: Path) -> None:
    with closing(sqlite3.connect(database)) as db:
        db.execute("update offset set offset = '{\"file\": '")
        db.commit()


def _another_version(database: Path) -> None:
    with closing(sqlite3.connect(database)) as db:
        db.execute("pragma user_version = 99")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_garbage, "move the state folder away to start anew"),
        (_torn, "move the state folder away to start anew"),
        (_damaged_page, "move the state folder away to start anew"),
        (_damaged_offset, "state.db"),
        (_another_version, "it has format 99"),
    ],
)
def test_a_corrupted_state_is_named_with_what_to_do(
    pipeline: NewPipeline, damage: Callable[[Path], None], said: str
) -> None:
    made = pipeline()
    assert made.run("--once").code == 0
    damage(made.state / "state.db")
    broken = (made.state / "state.db").read_bytes()
    ended = made.run("--once")
    assert ended.code == 7, ended.stderr
    assert f"state file {made.state / 'state.db'}: " in ended.errors
    assert said in ended.errors
    assert rows(made) == BEFORE
    assert (made.state / "state.db").read_bytes() == broken, "the evidence is left alone"


def test_a_state_that_another_pipeline_holds_is_refused(pipeline: NewPipeline) -> None:
    made = pipeline()
    with made.running() as first:
        first.wait_for("snapshot of")
        second = replace(made, folder=made.folder / "second", others={**made.others, "state": str(made.state)})
        second.folder.mkdir()
        ended = second.run("--once")
        assert ended.code == 7
        assert f"is held by another pipeline (process {first.process.pid})" in ended.errors
        past_snapshot(first)
        assert first.stop().code == 0
    assert rows(made) == BEFORE


def test_a_state_folder_that_cannot_be_made_is_named(pipeline: NewPipeline) -> None:
    made = pipeline()
    made.state.write_text("a file")
    ended = made.run("--once")
    assert ended.code == 7
    assert f"state {made.state}: " in ended.errors
    assert "name a folder that can be written" in ended.errors
    assert not made.output.exists()


def test_a_full_disk_under_the_state_is_told_and_the_next_start_goes_on(
    db_server: SQLServer, shop: str, pipeline: NewPipeline, tmp_path: Path
) -> None:
    made = pipeline()
    assert made.run("--once").code == 0
    saved = made.offset()
    made.output.unlink()
    made.output.symlink_to("/dev/null")
    db_server.execute("INSERT INTO t VALUES (3, 'c')", database=shop)
    with made.running("--once", limit=_no_room) as process:
        ended = process.ended()
    assert ended.code == 7, ended.stderr
    assert f"state file {made.state / 'state.db'}: " in ended.errors
    assert "the disk has room" in ended.errors
    assert made.offset() == saved
    made.output.unlink()
    assert made.run("--once").code == 0
    assert rows(made) == [("c", None, (3, "c"))]


def _no_room() -> None:
    """As if the disk were full: no file may grow beyond what the state has at first, and little more."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))


def test_an_offset_of_something_else_is_refused(pipeline: NewPipeline) -> None:
    made = pipeline()
    assert made.run("--once").code == 0
    _set_offset(made, '{"file": "binlog.000001", "pos": "here"}')
    ended = made.run("--once")
    assert ended.code == 7
    assert "is not one of a MySQL source" in ended.errors
    assert rows(made) == BEFORE


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        ("delete from history", "the schema history knows no definitions at"),
        ("delete from history where position like '%-start'", "the schema history begins in the middle"),
        ("update history set entry = substr(entry, 1, length(entry) / 2)", "state.db"),
    ],
)
def test_a_schema_history_that_is_lost_or_half_written_is_told(pipeline: NewPipeline, spoil: str, said: str) -> None:
    made = pipeline()
    assert made.run("--once").code == 0
    with closing(sqlite3.connect(made.state / "state.db")) as db:
        db.execute(spoil)
        db.commit()
    ended = made.run("--once")
    assert ended.code == 7, ended.stderr
    assert said in ended.errors
    assert rows(made) == BEFORE
    recovering = pipeline(snapshot_mode="recovery")
    assert recovering.run("--once").code == 0
    assert rows(made) == BEFORE


def _set_offset(pipeline: Pipeline, offset: str) -> None:
    with closing(sqlite3.connect(pipeline.state / "state.db")) as db:
        db.execute("update offset set offset = ?", (offset,))
        db.commit()
