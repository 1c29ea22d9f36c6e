"""`cdc record`, `transform --explain`, `test` and `feed`."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.conftest import Called, write_script

Cdc = Callable[..., Called]
STEP = {"type": "RegexRouter", "name": "Rename", "regex": ".+", "replacement": "renamed"}
RENAME = [part for name, value in STEP.items() for part in ("--set", f"transforms.0.{name}={value}")]
VALUES = [{"n": 1}, {"n": 2}, {"n": 3}]


def events(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def payloads(path: Path) -> list[Any]:
    return [event["value"]["payload"] for event in events(path)]


def test_record_keeps_all_that_the_source_holds_before_the_chain(cdc: Cdc, pipeline: Path, tmp_path: Path) -> None:
    called = cdc("record", pipeline.name, "--out", "events.jsonl", *RENAME)
    assert (called.code, "kept 3 records" in called.stderr) == (0, True)
    kept = events(tmp_path / "events.jsonl")
    assert [(one["topic"], one["value"], one["offset"]) for one in kept] == [
        ("events", {"schema": None, "payload": value}, {"line": at}) for at, value in enumerate(VALUES, 1)
    ]
    assert not (tmp_path / "state").exists()


def test_record_leaves_a_running_pipelines_state_alone(cdc: Cdc, pipeline: Path, tmp_path: Path) -> None:
    assert cdc("run", pipeline.name, "--once").code == 0
    write_script(tmp_path, *VALUES, {"n": 4})
    assert cdc("record", pipeline.name, "--out", "events.jsonl").code == 0
    assert payloads(tmp_path / "events.jsonl") == [*VALUES, {"n": 4}]
    assert json.loads(cdc("offsets", "show", pipeline.name).stdout) == {"line": 3}


@pytest.mark.parametrize("more", [[], ["--seconds", "300"]])
def test_record_ends_at_its_limit(cdc: Cdc, pipeline: Path, tmp_path: Path, more: list[str]) -> None:
    assert cdc("record", pipeline.name, "--out", "events.jsonl", "--limit", "2", *more).code == 0
    assert payloads(tmp_path / "events.jsonl") == VALUES[:2]


def test_record_follows_the_log_for_some_seconds(cdc: Cdc, pipeline: Path) -> None:
    called = cdc("record", pipeline.name, "--out", "-", "--seconds", "0.2")
    found = [line["value"]["payload"] for line in called.lines]
    assert (called.code, found) == (0, VALUES[: len(found)])  # how many come in that time is the machine's affair


def test_record_ends_at_a_signal_and_what_came_is_there(
    start: Callable[..., subprocess.Popen[str]], pipeline: Path
) -> None:
    process = start("record", pipeline.name, "--out", "-", "--seconds", "300")
    assert process.stdout is not None
    assert [json.loads(process.stdout.readline())["value"]["payload"] for _ in VALUES] == VALUES
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130


def test_what_stops_a_source_stops_the_recording(cdc: Cdc, pipeline: Path, tmp_path: Path) -> None:
    write_script(tmp_path, {"n": 1}, {"raise": "SourceError", "say": "gone"})
    called = cdc("record", pipeline.name, "--out", "events.jsonl")
    assert (called.code, "gone" in called.stderr) == (3, True)
    assert payloads(tmp_path / "events.jsonl") == [{"n": 1}]


def test_explain_tells_each_step(cdc: Cdc, pipeline: Path) -> None:
    lines = '{"topic": "t", "value": {"op": "d"}}\n{"topic": "u", "value": null}\n'
    chain = ["--set", "transforms.1.type=Filter", "--set", "transforms.1.predicate=gone"]
    chain += ["--set", "predicates.gone.type=RecordIsTombstone"]
    called = cdc("transform", pipeline.name, "--from", "-", "--explain", *RENAME, *chain, stdin=lines)
    assert called.stdout.splitlines() == [
        "event 1, topic t",
        "  Rename",
        '    - topic: "t"',
        '    + topic: "renamed"',
        "  Filter: not meant by its predicate",
        "event 2, topic u",
        "  Rename",
        '    - topic: "u"',
        '    + topic: "renamed"',
        "  Filter: dropped",
    ]


def test_explain_ends_where_a_step_fails(cdc: Cdc, pipeline: Path) -> None:
    chain = ["--set", "transforms.1.type=ValueToKey", "--set", "transforms.1.fields=id"]
    called = cdc("transform", pipeline.name, "--from", "-", "--explain", *RENAME, *chain, stdin='{"topic": "t"}')
    assert called.code == 6
    assert called.stdout.splitlines()[-1] == '    + topic: "renamed"'


def test_explain_is_coloured_on_a_terminal_alone(cdc: Cdc, pipeline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def explained(**variables: str) -> str:
        arguments = ["transform", pipeline.name, "--from", "-", "--explain", *RENAME]
        return cdc(*arguments, stdin='{"topic": "t", "value": 1}', **variables).stdout

    assert "\x1b[" not in explained()
    monkeypatch.setattr("click.utils.should_strip_ansi", lambda *_: False)
    assert '\x1b[31m    - topic: "t"' in explained()
    assert "\x1b[3" not in explained(NO_COLOR="1")


def test_chains_are_tried_without_the_secrets_of_the_rest(cdc: Cdc, pipeline: Path, tmp_path: Path) -> None:
    pipeline.write_text(pipeline.read_text().replace("hunter2", "'${NOWHERE}'"))
    (tmp_path / "pipeline.cases.yaml").write_text("cases: [{input: {topic: a}, output: {topic: renamed}}]")
    commands = [["test", pipeline.name], ["transform", pipeline.name, "--from", "-"]]
    for command in commands:
        assert cdc(*command, *RENAME, stdin='{"topic": "t", "value": 1}').code == 0
        lacking = cdc(*command, *RENAME, "--set", "transforms.0.regex=${NOWHERE}", stdin="")
        assert (lacking.code, "transforms.0.regex" in lacking.stderr) == (2, True)


def with_cases(pipeline: Path, *cases: Any) -> None:
    written = yaml.safe_load(pipeline.read_text())
    chain = [STEP, {"type": "ReplaceField", "exclude": "secret"}]
    pipeline.write_text(yaml.safe_dump({**written, "transforms": chain, "cases": list(cases)}))


GOOD: list[Any] = [
    {"input": {"topic": "t", "value": {"a": 1, "secret": 2}}, "output": {"topic": "renamed", "value": {"a": 1.0}}},
    {"input": {"topic": "t", "value": 5}, "error": "ReplaceField"},
    {"input": [{"topic": "t"}, {"topic": "u"}], "output": [{"topic": "renamed"}, {"topic": "renamed", "value": None}]},
    {"input": {"topic": "t", "headers": {"h": "x"}}, "output": {"headers": [{"key": "h", "value": "x"}]}},
    {"input": {"file": "events.jsonl", "line": 2}, "output": {"value": {"n": 2}}},
    {"input": {"file": "events.jsonl"}, "output": [{"value": value} for value in VALUES]},
    {"input": {"topic": "t", "value": {"a": "${NOWHERE} 0123"}}, "output": {"value": {"a": "${NOWHERE} 0123"}}},
]


def test_cases_that_hold(cdc: Cdc, pipeline: Path) -> None:
    assert cdc("record", pipeline.name, "--out", "events.jsonl").code == 0
    with_cases(pipeline, *GOOD)
    called = cdc("test", pipeline.name)
    assert (called.code, called.stdout.splitlines()[-1]) == (0, f"{len(GOOD)} cases, none failed")
    assert cdc("validate", pipeline.name).code == 0
    assert cdc("run", pipeline.name, "--once").code == 0


INT, TEXT = ({"schema": {"type": kind, "optional": False}, "payload": 1} for kind in ("int32", "int64"))


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (
            {"input": {"topic": "t", "value": {"a": 1}}, "output": {"topic": "t", "value": {"a": 1}}},
            ["      record 1, expected (-) and come (+)", '      - topic: "t"', '      + topic: "renamed"'],
        ),
        ({"input": {"topic": "t"}, "output": []}, [": 1 records instead of 0", '      + topic: "renamed"']),
        ({"input": [], "output": {"topic": "t"}}, [": 0 records instead of 1", '      - topic: "t"']),
        ({"input": {"topic": "t"}, "error": "boom"}, [": no error: it became 1 records"]),
        ({"input": {"topic": "t", "value": 1}, "error": "boom"}, [": another error than 'boom': transform 'Replace"]),
        ({"input": {"topic": "t", "value": 1}, "output": []}, [": transform 'ReplaceField' failed"]),
        ({"input": {"topic": "t", "key": INT}, "output": {"key": TEXT}}, ["- key is int64", "+ key is int32"]),
        ({"input": {"topic": "t", "value": {"a": 1}}, "output": {"value": {}}}, ["+ value.a: 1"]),
    ],
)
def test_a_case_that_fails_is_told_as_a_diff(cdc: Cdc, pipeline: Path, case: Any, said: list[str]) -> None:
    with_cases(pipeline, GOOD[0], {"name": "wrong", **case})
    called = cdc("test", pipeline.name)
    assert called.code == 1
    assert called.stdout.startswith("ok    case 1\nFAIL  wrong")
    assert called.stdout.endswith("\n2 cases, 1 failed\n")
    assert all(part in called.stdout for part in said), called.stdout


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ({"output": []}, "cases.0: has no `input`"),
        ({"input": {"topic": "t"}}, "cases.0: needs one of `output`"),
        ({"input": {"topic": "t"}, "output": [], "error": "e"}, "cases.0: needs one of `output`"),
        ({"input": {"topic": "t"}, "outputs": []}, "cases.0.outputs: not known; did you mean 'output'?"),
        ({"input": {"value": 1}, "output": []}, "cases.0.input: an event is a JSON object with a 'topic'"),
        ({"input": {"topic": "t", "vaule": 1}, "output": []}, "did you mean 'value'?"),
        ({"input": {"file": "gone.jsonl"}, "output": []}, "cases.0.input.file: "),
        ({"input": {"file": "pipeline.yaml", "line": 1}, "output": []}, "cases.0.input.file: "),
        ({"input": {"topic": "t"}, "error": 5}, "cases.0.error: should be a text"),
        ("x", "cases.0: should have `name`, `input`"),
    ],
)
def test_cases_that_are_written_wrongly(cdc: Cdc, pipeline: Path, case: Any, said: str) -> None:
    with_cases(pipeline, case)
    called = cdc("test", pipeline.name)
    assert (called.code, said in called.stderr) == (2, True), called.stderr


def test_cases_stand_in_the_file_and_beside_it_or_where_they_are_named(
    cdc: Cdc, pipeline: Path, tmp_path: Path
) -> None:
    none = cdc("test", pipeline.name)
    assert none.code == 2
    assert "it has no `cases`, and there is no pipeline.cases.yaml beside it" in none.stderr
    with_cases(pipeline, GOOD[0])
    (tmp_path / "pipeline.cases.yaml").write_text(yaml.safe_dump({"cases": [GOOD[1], GOOD[2]]}))
    assert "3 cases" in cdc("test", pipeline.name).stdout
    (tmp_path / "other.json").write_text(json.dumps({"cases": [GOOD[1]]}))
    assert "1 case," in cdc("test", pipeline.name, "--cases", "other.json").stdout
    assert "cases: must be a list" in cdc("test", pipeline.name, "--cases", wrong(tmp_path)).stderr


def wrong(folder: Path) -> str:
    (folder / "wrong.toml").write_text("cases = 5")
    return "wrong.toml"


def test_feed_delivers_into_the_sink_and_keeps_no_offset(cdc: Cdc, pipeline: Path, tmp_path: Path) -> None:
    assert cdc("record", pipeline.name, "--out", "events.jsonl").code == 0
    (tmp_path / "script.jsonl").unlink()
    sink = ["--sink", "file", "--set", "sink.path=fed.jsonl", "--runner", "spark"]
    for times, command in enumerate(("feed", "replay"), start=1):
        called = cdc(command, pipeline.name, "--from", "events.jsonl", *RENAME, *sink)
        assert (called.code, "fed 3 records" in called.stderr) == (0, True)
        fed = [(event["topic"], event["value"]) for event in events(tmp_path / "fed.jsonl")]
        assert fed == [("renamed", value) for value in VALUES] * times
    assert not (tmp_path / "state" / "scripted" / "state.db").exists()


def test_what_feed_cannot_do(cdc: Cdc, pipeline: Path, tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text('{"topic": "t", "value": 1}\n')
    tables = ["--runner", "spark", "--sink", "spark", "--set", "sink.path=lake"]
    called = cdc("feed", pipeline.name, "--from", "events.jsonl", *tables)
    assert (called.code, "sink.type: 'spark' keeps Spark tables" in called.stderr) == (2, True)
    called = cdc("feed", pipeline.name, "--from", "events.jsonl", "--sink", "failing")
    assert called.code == 4
    kafka = ["--sink", "kafka", "--set", "sink.bootstrap.servers=127.0.0.1:1", "--runner", "direct"]
    called = cdc(
        "feed", pipeline.name, "--from", "events.jsonl", *kafka, "--set", "sink.delivery.guarantee=exactly-once"
    )
    assert (called.code, "have it deliver at least once here" in called.stderr) == (2, True)
    called = cdc("replay", pipeline.name, "--from", "events.jsonl", "--topic", "t")
    assert (called.code, "--from delivers all events of its file" in called.stderr) == (2, True)
