"""Standard output that takes a part of what is written, and files that are taken away or cut: nothing is lost."""

from __future__ import annotations

import json
import os
import resource
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bad_input.conftest import NewPipeline, has_events, past_snapshot, rows
from cdckit.api.messages import Messages
from cdckit.api.sink import SinkContext
from cdckit.errors import SinkError
from cdckit_file.config import FileConfig
from cdckit_file.file import FileSink
from testkit.running import Pipeline
from testkit.servers.mysql_family import SQLServer

ROWS = 20_000
_WITHOUT_BUFFER = {"PYTHONUNBUFFERED": "1"}
ROWS_ELSEWHERE = pytest.mark.unequal("the file was rotated, and its first rows are not in it any more")


@pytest.fixture
def db_server(mysql_server: SQLServer) -> SQLServer:
    """One server is enough here."""
    return mysql_server


@pytest.fixture
def printing(db_server: SQLServer, shop: str, pipeline: NewPipeline, tmp_path: Path) -> Pipeline:
    """A pipeline whose sink is standard output, without Python's buffer, and which has something to print."""
    values = ", ".join(f"({number}, '{'x' * 20}')" for number in range(10, 10 + ROWS))
    db_server.execute(f"INSERT INTO t VALUES {values}", database=shop)
    return Pipeline(
        tmp_path, pipeline().source, {"type": "stdout"}, {"serializer": {"schemas.enable": False}}, _WITHOUT_BUFFER
    )


def keys(printed: bytes) -> list[int]:
    return [json.loads(line)["key"]["id"] for line in printed.splitlines()]


def test_a_pipe_that_takes_a_part_at_a_time_gets_every_line(printing: Pipeline) -> None:
    """It never blocks, as those of some parents do: a write takes what there is room for."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    command = [sys.executable, "-m", "cdckit", "run", str(printing.written()), "--once"]
    with (printing.folder / "stderr.log").open("wb") as errors:
        process = subprocess.Popen(command, stdout=writer, stderr=errors, env={**os.environ, **_WITHOUT_BUFFER})
    os.close(writer)
    printed = b""
    while part := os.read(reader, 30_000):
        printed += part
        time.sleep(0.005)
    os.close(reader)
    assert process.wait() == 0, (printing.folder / "stderr.log").read_text()
    assert sorted(keys(printed)) == [1, 2, *range(10, 10 + ROWS)]


def test_a_full_disk_behind_standard_output_leaves_whole_lines(printing: Pipeline) -> None:
    with printing.running("--once", limit=_little_room) as process:
        ended = process.ended()
    assert ended.code == 4, ended.stderr
    assert "standard output: File too large" in ended.errors
    printed = process.stdout.read_bytes()
    assert printed.endswith(b"\n")
    assert len(keys(printed)) > 2
    again = printing.run("--once")
    assert again.code == 0, again.stderr
    assert set(keys(printed)) | set(keys(again.stdout.encode())) == {1, 2, *range(10, 10 + ROWS)}


def test_a_reader_that_takes_nothing_does_not_keep_the_pipeline(printing: Pipeline) -> None:
    reader, writer = os.pipe()
    command = [sys.executable, "-m", "cdckit", "run", str(printing.written())]
    with (printing.folder / "stderr.log").open("wb") as errors:
        process = subprocess.Popen(command, stdout=writer, stderr=errors, env={**os.environ, **_WITHOUT_BUFFER})
    os.read(reader, 1)
    while select.select([], [writer], [], 0)[1]:  # until the pipe is full
        assert process.poll() is None
        time.sleep(0.01)
    process.terminate()
    assert process.wait(30) == 4
    os.close(writer)
    assert "who reads it takes nothing" in (printing.folder / "stderr.log").read_text()
    os.close(reader)


def _little_room() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))


@ROWS_ELSEWHERE
def test_a_file_that_is_renamed_is_made_anew(db_server: SQLServer, shop: str, pipeline: NewPipeline) -> None:
    """As logrotate does it by default."""
    made = pipeline()
    with made.running() as process:
        past_snapshot(process)
        rotated = made.output.rename(made.folder / "out.jsonl.1")
        db_server.execute("INSERT INTO t VALUES (3, 'c')", database=shop)
        process.wait_until(made.output.exists, "the new file")
        has_events(process, 1)
        assert process.stop().code == 0
    assert keys(rotated.read_bytes()) == [1, 2]
    assert rows(made) == [("c", None, (3, "c"))]
    assert "was renamed: going on in a new file of that name" in process.log


@ROWS_ELSEWHERE
def test_a_file_that_is_cut_is_gone_on_with(db_server: SQLServer, shop: str, pipeline: NewPipeline) -> None:
    """As logrotate does it with `copytruncate`."""
    made = pipeline()
    with made.running() as process:
        past_snapshot(process)
        os.truncate(made.output, 0)
        db_server.execute("INSERT INTO t VALUES (3, 'c')", database=shop)
        has_events(process, 1)
        assert process.stop().code == 0
    assert rows(made) == [("c", None, (3, "c"))]
    assert "was cut: going on behind what is left" in process.log


@pytest.fixture
def sink(tmp_path: Path) -> FileSink:
    made = FileSink(FileConfig.load({"path": str(tmp_path / "o")}, "sink")[0])
    made.open(SinkContext("test"))
    return made


def line(number: int) -> Messages:
    return Messages(["t"], [None], [b"%d" % number], [b"{}"], [()], [""], [None])


def _remove(path: Path) -> None:
    path.unlink()


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 3)


@pytest.mark.parametrize("take_away", [_remove, _cut])
@pytest.mark.parametrize("next_step", ["write", "flush"])
def test_lines_that_are_not_saved_and_taken_away_are_told_of(
    sink: FileSink, take_away: Callable[[Path], None], next_step: str
) -> None:
    """No offset may be saved behind them."""
    sink.write(line(1))
    take_away(sink.path)
    with pytest.raises(SinkError, match="with lines that are not saved yet: start again"):
        sink.write(line(2)) if next_step == "write" else sink.flush()
    sink.close()


def test_a_file_that_is_removed_is_made_anew_and_one_that_is_cut_has_whole_lines(sink: FileSink) -> None:
    sink.write(line(1))
    sink.flush()
    sink.path.unlink()
    sink.write(line(2))
    sink.write(line(3))
    sink.flush()
    _cut(sink.path)
    sink.write(line(4))
    sink.flush()
    sink.close()
    assert [json.loads(text)["key"] for text in sink.path.read_text().splitlines()] == [2, 4]
