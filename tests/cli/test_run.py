"""`cdc run`: records to standard output, logs to standard error, and the exit code that programs rely on."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cdckit.engine.state.sqlite import SqliteStateStore

Cdc = Callable[..., Any]


def script(folder: Path, *lines: dict[str, Any]) -> None:
    (folder / "script.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def numbers(lines: list[dict[str, Any]]) -> list[int]:
    return [line["value"]["n"] for line in lines]


def test_once_prints_records_alone_and_ends_with_0(program: Cdc, pipeline: Path, tmp_path: Path) -> None:
    called = program("run", pipeline.name, "--once")
    assert called.code == 0
    assert numbers(called.lines) == [1, 2, 3]
    assert called.lines[0] == {
        "topic": "events", "partition": None, "key": None, "value": {"n": 1},
        "headers": [{"key": "__cdckit.position", "value": "00000001"}], "timestamp": None,
    }  # fmt: skip
    assert "pipeline 'scripted' stopped; 3 events delivered" in called.stderr
    assert (tmp_path / "state" / "scripted" / "state.db").exists()


def test_what_transforms_drop_is_not_delivered(cdc: Cdc, pipeline: Path) -> None:
    with pipeline.open("a") as file:
        file.write(
            "predicates: {events: {type: TopicIs, topic: events}}\n"
            "transforms: [{name: none, type: Filter, predicate: events}]\n"
        )
    called = cdc("run", pipeline.name, "--once")
    assert (called.code, called.lines) == (0, [])
    assert "pipeline 'scripted' stopped; 0 events delivered" in called.stderr


def test_a_ledger_that_is_kept_no_more_is_forgotten(cdc: Cdc, pipeline: Path, tmp_path: Path) -> None:
    """So that one which cannot be read, as a later version's, can be begun anew."""
    for _ in range(2):
        with closing(SqliteStateStore(tmp_path / "state" / "scripted")) as state:
            assert state.get("ledger") is None
            state.put("ledger", {"format": 99})
        assert cdc("run", pipeline.name, "--once").code == 0


def test_a_second_run_goes_on_where_the_first_ended(cdc: Cdc, pipeline: Path, tmp_path: Path) -> None:
    cdc("run", pipeline.name, "--once")
    script(tmp_path, {"n": 1}, {"n": 2}, {"n": 3}, {"n": 4})
    assert numbers(cdc("run", pipeline.name, "--once").lines) == [4]


def test_the_command_line_replaces_sink_and_state(cdc: Cdc, pipeline: Path, tmp_path: Path) -> None:
    called = cdc("run", pipeline.name, "--once", "--sink", "file", "--set", "sink.path=out.jsonl", "--set", "state=s")
    assert (called.code, called.stdout) == (0, "")
    assert numbers([json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]) == [1, 2, 3]
    assert (tmp_path / "s" / "state.db").exists()


def test_a_connectors_configuration_runs_as_it_is(cdc: Cdc, pipeline: Path, tmp_path: Path) -> None:
    (tmp_path / "c.properties").write_text(
        "connector.class=test.ScriptedConnector\ntopic.prefix=g\nscript=script.jsonl\nconverter.schemas.enable=false\n"
        "transforms=r\ntransforms.r.type=test.transforms.Rename\ntransforms.r.topic=renamed\ntasks.max=1\n"
    )
    called = cdc("run", "c.properties", "--once", "--runner", "direct", "--set", "transforms.r.topic=again")
    assert called.code == 0
    assert {line["topic"] for line in called.lines} == {"again"}
    assert "options without meaning here, left out: tasks.max" in called.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_saves_the_offset_and_ends(
    start: Callable[..., subprocess.Popen[str]], pipeline: Path, tmp_path: Path, number: int, code: int
) -> None:
    process = start("run", pipeline.name)
    assert process.stdout is not None
    assert [json.loads(process.stdout.readline())["value"]["n"] for _ in range(3)] == [1, 2, 3]
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == code
    assert "stopped; 3 events delivered" in errors
    state = SqliteStateStore(tmp_path / "state" / "scripted")
    assert state.load_offset() == {"line": 3}
    state.close()


@pytest.mark.parametrize(
    ("error", "code"),
    [("SourceError", 3), ("SinkError", 4), ("DecodeError", 5), ("TransformError", 6), ("StateError", 7), ("Bug", 3)],
)
def test_each_kind_of_error_has_its_exit_code(
    program: Cdc, pipeline: Path, tmp_path: Path, error: str, code: int
) -> None:
    script(tmp_path, {"n": 1}, {"raise": error, "say": "it is broken"})
    called = program("run", pipeline.name, "--once")
    assert called.code == code
    assert "it is broken" in called.stderr
    assert "Traceback" not in called.stderr
    assert numbers(called.lines) == [1]


@pytest.mark.parametrize(("interval", "kept"), [(0, {"line": 2}), (60_000, None)])
def test_without_an_interval_each_batch_is_saved(
    cdc: Cdc, pipeline: Path, tmp_path: Path, interval: int, kept: dict[str, int] | None
) -> None:
    """A fault of the program itself saves nothing any more."""
    script(tmp_path, {"n": 1}, {"n": 2}, {"raise": "Bug", "say": "it is broken"})
    cdc("run", pipeline.name, "--set", f"offset.flush.interval.ms={interval}")
    assert json.loads(cdc("offsets", "show", pipeline.name).stdout) == kept


def test_a_sink_that_refuses_ends_with_4(program: Cdc, pipeline: Path) -> None:
    called = program("run", pipeline.name, "--once", "--sink", "failing")
    assert (called.code, called.stdout) == (4, "")
    assert "error CDC4000: the sink is full" in called.stderr


def test_a_held_state_ends_with_7(cdc: Cdc, pipeline: Path, tmp_path: Path) -> None:
    state = SqliteStateStore(tmp_path / "state" / "scripted")
    called = cdc("run", pipeline.name, "--once")
    state.close()
    assert (called.code, called.stdout) == (7, "")
    assert "is held by another pipeline" in called.stderr


def test_a_wrong_configuration_and_a_wrong_usage_end_with_2(program: Cdc, pipeline: Path) -> None:
    for arguments in (["--set", "source.prt=1"], ["--onc"]):
        called = program("run", pipeline.name, *arguments)
        assert (called.code, called.stdout) == (2, "")
        assert called.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--set", "source.prt=1"], "error CDC2201: source.prt: unknown option; did you mean 'port'?"),
        (["--sink", "elsewhere"], "'elsewhere' needs package_that_is_not_there, which is not installed: "),
        (["--sink", "tables"], "sink.type: 'tables' keeps Spark tables; set 'runner: spark' for it"),
        (["--sink", "nothing"], "sink.type: no sink is called 'nothing'"),
        (["--runner", "fast"], "'fast' is not one of"),
        (["--onc"], "No such option"),
    ],
)
def test_what_cannot_run_ends_with_2(cdc: Cdc, pipeline: Path, arguments: list[str], said: str) -> None:
    called = cdc("run", pipeline.name, "--once", *arguments)
    assert (called.code, called.stdout) == (2, "")
    assert said in called.stderr


def test_a_secret_is_never_shown(cdc: Cdc, pipeline: Path, tmp_path: Path) -> None:
    script(tmp_path, {"raise": "Bug", "say": "it is broken"})
    for arguments in (["--debug"], ["--set", "source.port=x"], ["--log-level", "debug"]):
        called = cdc("run", pipeline.name, "--once", *arguments)
        assert called.code != 0
        assert "hunter2" not in called.stdout + called.stderr


def test_the_trace_is_shown_when_it_is_asked_for(cdc: Cdc, pipeline: Path, tmp_path: Path) -> None:
    script(tmp_path, {"raise": "Bug", "say": "it is broken"})
    assert "--debug or CDC_DEBUG=1 shows where" in cdc("run", pipeline.name, "--once").stderr
    for called in (cdc("run", pipeline.name, "--once", "--debug"), cdc("run", pipeline.name, "--once", CDC_DEBUG="1")):
        assert called.code == 3
        assert "Traceback (most recent call last)" in called.stderr


@pytest.mark.parametrize(
    "arguments", [["--log-format", "json", "run"], ["run", "--log-format", "json"], ["run"]], ids=" ".join
)
def test_logs_are_json_lines_where_asked(program: Cdc, pipeline: Path, tmp_path: Path, arguments: list[str]) -> None:
    script(
        tmp_path,
        {"snapshot": "db.t", "rows": 7, "estimate": 7, "finished": True},
        {"raise": "DecodeError", "say": "no"},
    )
    variables = {"CDC_LOG_FORMAT": "json"} if len(arguments) == 1 else {}
    called = program(*arguments, pipeline.name, "--once", **variables)
    assert called.code == 5
    started, snapshot, stopped, error = called.logs
    assert started["message"] == "pipeline 'scripted' starts on the runner direct; nothing is saved yet"
    assert (snapshot["table"], snapshot["rows"], snapshot["level"]) == ("db.t", 7, "info")
    assert stopped["message"] == "pipeline 'scripted' stopped by DecodeError; 0 events delivered"
    assert (error["level"], error["error"], error["problems"]) == ("error", "DecodeError", ["no"])


def test_the_least_level_of_logs_is_a_choice(cdc: Cdc, pipeline: Path) -> None:
    called = cdc("run", pipeline.name, "--once", "--log-level", "warning")
    assert (called.code, called.stderr) == (0, "")


def test_a_pipeline_in_another_folder_keeps_everything_there(cdc: Cdc, pipeline: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pipelines"
    folder.mkdir()
    moved = pipeline.rename(folder / pipeline.name)
    (tmp_path / "script.jsonl").rename(folder / "script.jsonl")
    to_file = ("--sink", "file", "--set", "sink.path=out.jsonl")
    called = cdc("run", str(moved.relative_to(tmp_path)), "--once", *to_file)
    assert called.code == 0, called.stderr
    assert (folder / "state" / "scripted" / "state.db").exists()
    assert (tmp_path / "out.jsonl").exists()
    (folder / "state").rename(tmp_path / "state")
    old = tmp_path / "state" / "scripted"
    for command in (("run", "--once"), ("status",), ("offsets", "show")):
        called = cdc(*command, "pipelines/pipeline.yaml")
        assert called.code == 2
        assert f"state: {folder}/state/scripted is not there, but {old} is" in called.stderr
    assert not (folder / "state").exists()
    assert cdc("run", "pipelines/pipeline.yaml", "--once", "--set", "state=state/scripted", *to_file).code == 0
