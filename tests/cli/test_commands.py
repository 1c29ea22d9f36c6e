"""The commands beside `run`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cdckit.cli.main import COMMANDS
from cdckit.cli.tables import print_entry
from cdckit.engine.state.sqlite import SqliteStateStore

Cdc = Callable[..., Any]


def test_help_lists_every_command_and_those_of_plugins(cdc: Cdc) -> None:
    called = cdc("--help")
    assert called.code == 0
    for command in (*COMMANDS, "hello"):
        assert f"\n  {command} " in called.stdout
    assert cdc("hello").stdout == "hello\n"


@pytest.mark.parametrize("command", [*COMMANDS, "offsets show", "offsets set", "offsets reset"])
def test_every_command_has_help(cdc: Cdc, command: str) -> None:
    called = cdc(*command.split(), "--help")
    assert called.code == 0
    assert called.stdout.startswith(f"Usage: cdc {command} ")


def test_no_command_at_all_is_a_usage_error(cdc: Cdc) -> None:
    assert cdc("rn").code == 2
    assert "No such command 'rn'" in cdc("rn").stderr


def test_validate_says_what_the_pipeline_is(cdc: Cdc, pipeline: Path, tmp_path: Path) -> None:
    called = cdc("validate", pipeline.name)
    assert called.code == 0
    assert called.stdout == (
        "pipeline.yaml: valid: pipeline 'scripted': scripted -> stdout; runner direct; "
        f"state {tmp_path}/state/scripted\n"
    )


def test_validate_tells_all_that_is_wrong(cdc: Cdc, pipeline: Path) -> None:
    called = cdc("validate", pipeline.name, "--set", "source.prt=1", "--set", "runer=x", "--sink", "file")
    assert (called.code, called.stdout) == (2, "")
    assert called.stderr.splitlines() == [
        "error CDC2201: runer: unknown option; did you mean 'runner'?",
        "error CDC2202: sink.path: required, but not given",
        "error CDC2201: source.prt: unknown option; did you mean 'port'?",
    ]


def test_validate_looks_at_all_systems(cdc: Cdc, pipeline: Path) -> None:
    to_file = ("validate", pipeline.name, "--connect", "--sink", "file", "--set")
    assert cdc(*to_file, "sink.path=out.jsonl").stdout.splitlines()[-1] == (
        f"ok   sink: path: {pipeline.parent}/out.jsonl is made"
    )
    called = cdc(*to_file, "sink.path=no/out.jsonl")
    assert called.code == 4
    assert f"fail sink: path: there is no folder {pipeline.parent}/no" in called.stdout
    called = cdc(*to_file, "sink.path=no/out.jsonl", "--set", "source.script=gone")
    assert called.code == 3
    assert [line[:11] for line in called.stdout.splitlines() if line.startswith("fail")] == [
        "fail source",
        "fail sink: ",
    ]


def test_validate_names_a_missing_extra(cdc: Cdc, pipeline: Path) -> None:
    called = cdc("validate", pipeline.name, "--sink", "elsewhere")
    assert called.code == 2
    assert "pip install 'cdckit[elsewhere]'" in called.stderr


def test_validate_looks_at_the_systems_where_asked(cdc: Cdc, pipeline: Path) -> None:
    called = cdc("validate", pipeline.name, "--connect")
    assert called.code == 0
    assert called.stdout.splitlines()[1:] == [f"ok   source: script: {pipeline.parent}/script.jsonl"]
    called = cdc("validate", pipeline.name, "--connect", "--set", "source.script=gone")
    assert called.code == 3
    assert called.stdout.splitlines()[1:] == [
        f"fail source: script: {pipeline.parent}/gone does not exist",
        "     write it",
    ]


def test_plugins_says_what_is_there_and_what_is_missing(cdc: Cdc) -> None:
    found = {(c["kind"], c["name"]): c for c in json.loads(cdc("plugins", "--json").stdout)}
    assert found["source", "scripted"] == {
        "kind": "source", "name": "scripted", "summary": "plays the lines of a script", "plugin": "scripted",
        "distribution": "scripted 1.0", "missing": "",
    }  # fmt: skip
    assert found["sink", "elsewhere"]["missing"] == "cdckit[elsewhere]"
    assert found["sink", "file"]["distribution"].startswith("cdckit ")
    table = cdc("plugins").stdout
    assert "scripted 1.0" in table
    assert "cdckit[elsewhere]" in table


def test_a_broken_plugin_is_listed_and_breaks_nothing(cdc: Cdc, pipeline: Path, tmp_path: Path) -> None:
    entry_points = tmp_path / "installed" / "scripted-1.0.dist-info" / "entry_points.txt"
    entry_points.write_text(f"{entry_points.read_text()}broken = no_such_module\n")
    assert "no_such_module" in cdc("plugins").stdout
    assert cdc("--help").code == 0
    called = cdc("run", pipeline.name, "--once")
    assert called.code == 0
    assert "WARNING the plugin 'broken' cannot be used: ModuleNotFoundError" in called.stderr


@pytest.mark.parametrize("name", ["scripted", "source.scripted", "ScriptedConnector", "test.ScriptedConnector"])
def test_describe_shows_the_options_of_any_component(cdc: Cdc, name: str) -> None:
    (described,) = json.loads(cdc("describe", name, "--json").stdout)
    assert (described["kind"], described["name"]) == ("source", "scripted")
    options = {option["name"]: option for option in described["options"]}
    assert options["port"]["default"] == "3306"
    assert options["mode"]["choices"] == ["fast", "slow"]
    assert options["topic.prefix"]["old_names"] == ["server.name"]
    table = cdc("describe", name).stdout
    assert table.startswith("source scripted: plays the lines of a script\n")
    assert "fast | slow" in table


def test_describe_knows_the_pipeline_itself_and_says_what_was_meant(cdc: Cdc) -> None:
    assert "offset.flush.interval.ms" in cdc("describe", "pipeline").stdout
    assert "did you mean 'scripted'?" in cdc("describe", "Scripted").stderr
    called = cdc("describe", "scriptd")
    assert called.code == 2
    assert "nothing installed is called 'scriptd'; did you mean 'scripted'?" in called.stderr
    assert "nothing installed is called 'q'; `cdc plugins` lists what there is\n" in cdc("describe", "q").stderr


def test_describe_shows_one_option_or_those_of_a_pattern(cdc: Cdc) -> None:
    shown = cdc("describe", "mysql", "table.whitelist").stdout
    assert "\ntable.include.list  (text; formerly table.whitelist)\n    Tables to capture: " in shown
    assert shown.count("  (") == 1
    (described,) = json.loads(cdc("describe", "mysql", "snapshot.lock*", "--json").stdout)
    assert {option["name"] for option in described["options"]} == {
        "snapshot.locking.mode", "snapshot.locking.mode.custom.name", "snapshot.lock.timeout.ms",
    }  # fmt: skip
    assert "column.mask.with" in cdc("describe", "mysql", "column.mask.with.5.chars").stdout
    called = cdc("describe", "mysql", "tabel.include.list")
    assert called.code == 2
    assert (
        "error CDC2201: 'mysql' has no option 'tabel.include.list'; did you mean 'table.include.list'?" in called.stderr
    )


@pytest.mark.parametrize("command", [["describe", "mysql"], ["plugins"]], ids=str)
def test_what_goes_to_a_pipe_is_as_wide_as_it_needs_to_be(cdc: Cdc, command: list[str]) -> None:
    lines = cdc(*command).stdout.splitlines()
    assert [line for line in lines if line.endswith(" ")] == []
    assert any("after a snapshot" in line for line in lines)


def test_descriptions_are_broken_at_a_terminals_width(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    print_entry("option  (text)", "so many words " * 20)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 3
    assert all(line.startswith("    ") for line in lines[1:])
    assert max(map(len, lines)) <= 80


def test_an_error_of_a_plugins_code_names_the_plugin(cdc: Cdc, pipeline: Path, tmp_path: Path) -> None:
    (tmp_path / "script.jsonl").write_text('{"raise": "Unheard", "say": "of this"}')
    called = cdc("run", pipeline.name, "--once")
    assert called.code == 3
    assert "unexpected RuntimeError in the plugin 'scripted' (scripted 1.0): of this" in called.stderr


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("exec-snap", "TYPE: no signal is called 'exec-snap'"),
        ("execute-snapshto", "did you mean 'execute-snapshot'?"),
        ("snapshot-window-open", "TYPE: no signal is called"),
    ],
)
def test_a_signal_that_there_is_not_is_refused(cdc: Cdc, tmp_path: Path, kind: str, said: str) -> None:
    called = cdc("signal", _taking_signals(tmp_path), kind)
    assert (called.code, called.stdout) == (2, "")
    assert said in called.stderr
    assert not (tmp_path / "state").exists()
    assert cdc("signal", "p.json", "set-binlog-position", "--id", "1").code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["execute-snapshot"], "--data: data-collections should be a list of names or regular expressions; --table na"),
        (["execute-snapshot", "--filter", "id > 5"], "--data: data-collections should be a list"),
        (["execute-snapshot", "--table", "d.t", "--data", '{"type": "soon"}'], "--data: type should be incremental or"),
        (["stop-snapshot", "--table", "d.(t"], "--data: "),
    ],
)
def test_a_signal_that_asks_for_nothing_is_refused(cdc: Cdc, tmp_path: Path, words: list[str], said: str) -> None:
    file = _taking_signals(tmp_path)
    called = cdc("signal", file, *words)
    assert (called.code, called.stdout) == (2, "")
    assert said in called.stderr
    assert not (tmp_path / "state").exists()


def test_a_filter_is_for_the_tables_of_the_data_too(cdc: Cdc, tmp_path: Path) -> None:
    data = json.dumps({"data-collections": ["d.t"]})
    assert cdc("signal", _taking_signals(tmp_path), "execute-snapshot", "--data", data, "--filter", "id > 5").code == 0
    [left] = (tmp_path / "state" / "p" / "signals").iterdir()
    assert json.loads(left.read_text())["data"] == {
        "data-collections": ["d.t"],
        "type": "incremental",
        "additional-conditions": [{"data-collection": "d.t", "filter": "id > 5"}],
    }


def _taking_signals(folder: Path) -> str:
    source = {"type": "mysql", "topic.prefix": "p", "database.user": "u", "signal.enabled.channels": "in-process"}
    (folder / "p.json").write_text(json.dumps({"runner": "direct", "source": source}))
    return "p.json"


def test_schema_is_json(cdc: Cdc) -> None:
    schema = json.loads(cdc("schema").stdout)
    assert "scripted" in schema["$defs"]["source"]["properties"]["type"]["enum"]


def test_offsets_are_shown_set_and_reset(cdc: Cdc, pipeline: Path) -> None:
    assert json.loads(cdc("offsets", "show", pipeline.name).stdout) is None
    cdc("run", pipeline.name, "--once")
    assert json.loads(cdc("offsets", "show", pipeline.name).stdout) == {"line": 3}
    assert cdc("offsets", "set", pipeline.name, '{"line": 2}').code == 0
    assert [line["value"]["n"] for line in cdc("run", pipeline.name, "--once").lines] == [3]
    assert cdc("offsets", "set", pipeline.name, "-", stdin='{"line": 1}').code == 0
    assert len(cdc("run", pipeline.name, "--once").lines) == 2
    assert cdc("offsets", "reset", pipeline.name).code == 0
    assert len(cdc("run", pipeline.name, "--once").lines) == 3


@pytest.mark.parametrize("offset", ["{", "[1]", "3"])
def test_an_offset_must_be_a_json_object(cdc: Cdc, pipeline: Path, offset: str) -> None:
    called = cdc("offsets", "set", pipeline.name, offset)
    assert called.code == 2
    assert "error CDC2505: OFFSET: " in called.stderr


@pytest.mark.parametrize(
    ("source", "good", "bad"),
    [
        (
            {"type": "mysql", "topic.prefix": "p", "database.user": "u"},
            {"file": "binlog.000001", "pos": 4},
            {"fil": "binlog.000001"},
        ),
        ({"type": "mysql", "topic.prefix": "p", "binlog.files": "x.*"}, {"file": "b.1", "pos": 4}, {"file": "b.1"}),
        (
            {"type": "mongodb", "topic.prefix": "p", "mongodb.connection.string": "mongodb://h"},
            {"sec": 1, "ord": 1},
            {"resume": "82"},
        ),
        (
            {"type": "ticdc", "topics": "a", "bootstrap.servers": "h:1", "protocol": "canal-json"},
            {"partitions": {"a": {"0": 42}}},
            {"partitions": {"a": 42}},
        ),
    ],
)
def test_an_offset_must_be_one_of_the_source(
    cdc: Cdc, tmp_path: Path, source: dict[str, str], good: dict[str, Any], bad: dict[str, Any]
) -> None:
    (tmp_path / "p.json").write_text(json.dumps({"name": "p", "runner": "direct", "source": source}))
    called = cdc("offsets", "set", "p.json", json.dumps(bad))
    assert called.code == 2
    assert "error CDC2505: OFFSET: " in called.stderr
    assert "where" in called.stderr
    assert cdc("offsets", "set", "p.json", json.dumps(good)).code == 0
    assert json.loads(cdc("offsets", "show", "p.json").stdout) == good


def test_offsets_of_a_running_pipeline_are_shown_but_not_changed(cdc: Cdc, pipeline: Path, tmp_path: Path) -> None:
    state = SqliteStateStore(tmp_path / "state" / "scripted")
    state.save_offset({"line": 1})
    for command in (["reset", pipeline.name], ["set", pipeline.name, "{}"]):
        called = cdc("offsets", *command)
        assert called.code == 7
        assert "is held by another pipeline" in called.stderr
    assert json.loads(cdc("offsets", "show", pipeline.name).stdout) == {"line": 1}
    state.close()


def test_transform_runs_the_chain_on_recorded_events(cdc: Cdc, pipeline: Path, tmp_path: Path) -> None:
    recorded = cdc("run", pipeline.name, "--once").stdout
    (tmp_path / "events.jsonl").write_text(recorded)
    chain = ["--set", "transforms.0.type=Rename", "--set", "transforms.0.topic=renamed"]
    expected = [line | {"topic": "renamed"} for line in map(json.loads, recorded.splitlines())]
    assert cdc("transform", pipeline.name, "--input", "events.jsonl", *chain).lines == expected
    assert cdc("transform", pipeline.name, "--input", "-", *chain, stdin=recorded).lines == expected


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ('{"topic": "t", "key": null, "value": null}', 6, "transform 'Rename' failed on a record of topic t"),
        ("{", 5, "line 1: "),
        ('{"value": 1}', 5, "line 1: "),
    ],
)
def test_transform_tells_which_event_is_at_fault(cdc: Cdc, pipeline: Path, line: str, code: int, said: str) -> None:
    chain = ["--set", "transforms.0.type=Rename", "--set", "transforms.0.topic=renamed"]
    called = cdc("transform", pipeline.name, "--input", "-", *chain, stdin=line)
    assert called.code == code
    assert said in called.stderr
    assert cdc("transform", pipeline.name, "--input", "gone.jsonl").code == 2


def test_completion_knows_commands_and_options(cdc: Cdc, program: Cdc) -> None:
    assert "_CDC_COMPLETE=bash_complete" in cdc("completion", "bash").stdout
    asked = {"_CDC_COMPLETE": "bash_complete", "COMP_WORDS": "cdc val", "COMP_CWORD": "1"}
    assert program(**asked).stdout == "plain,validate\n"
    assert "_cdckit_completion" in cdc("completion", "bash").stdout


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("cdc describe script", ["scripted"]),
        ("cdc describe scripted to", ["topic.prefix"]),
        ("cdc run --sink fi", ["file"]),
        ("cdc run pipeline.yaml --set source.po", ["source.port="]),
        ("cdc run pipeline.yaml --set idle", ["idle.wait.ms="]),
    ],
)
def test_completion_knows_types_and_options(program: Cdc, pipeline: Path, words: str, offered: list[str]) -> None:
    asked = {"_CDC_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    assert program(**asked).stdout.splitlines() == [f"plain,{name}" for name in offered]


def test_what_is_not_needed_is_not_imported(tmp_path: Path, environment: dict[str, str]) -> None:
    import subprocess

    code = (
        "import sys; from cdckit.cli.main import call; call({}); "
        "print([n for n in ('pydantic', 'pyspark', 'confluent_kafka', 'rich', 'yaml', 'pymysql') if n in sys.modules])"
    )
    (tmp_path / "p.yaml").write_text("runner: direct\nsource: {type: scripted, script: s}\n")
    (tmp_path / "s").write_text("")
    for arguments, imported in ((["--help"], []), (["run", "p.yaml", "--once"], ["pydantic", "yaml"])):
        done = subprocess.run(
            [sys.executable, "-c", code.format(arguments)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.splitlines()[-1] == str(imported), done.stderr


def test_diff_without_its_extra_names_it(tmp_path: Path) -> None:
    """And goes on to say what it is, and what of its call is wrong."""
    for package in ("numpy", "xxhash"):
        (tmp_path / f"{package}.py").write_text(f"raise ModuleNotFoundError('not installed', name='{package}')")
    file = tmp_path / "shop.yaml"
    file.write_text("source: {type: mysql, topic.prefix: p, database.user: u}\nsink: {type: file, path: out.jsonl}\n")

    def called(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "cdckit", "diff", *words]
        environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)

    helped, compared = called("--help"), called(str(file), "--runner", "direct")
    assert (helped.returncode, helped.stderr) == (0, "")
    assert compared.returncode == 2
    assert re.search(r"cdc diff: needs the package (numpy|xxhash): pip install 'cdckit\[diff\]'", compared.stderr)


@pytest.mark.parametrize("words", [(), ("offsets",), ("quarantine",), ("plugin",)])
def test_commands_that_need_another_show_their_help(cdc: Cdc, words: tuple[str, ...]) -> None:
    called = cdc(*words)
    assert (called.code, called.stdout) == (2, "")
    assert called.stderr.startswith(f"Usage: {' '.join(('cdc', *words))} [OPTIONS] COMMAND")
    assert "error CDC" not in called.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("runn",), "No such command 'runn'. Did you mean 'run'?"),
        (("offsets", "shw"), "No such command 'shw'. Did you mean 'show'?"),
        (("status", "."), ".: is a folder; name a pipeline file in it"),
        (("record", "pipeline.yaml", "--out", "nowhere/x"), "Could not open file 'nowhere/x'"),
    ],
)
@pytest.mark.usefixtures("pipeline")
def test_what_is_wrong_with_a_call_is_told(cdc: Cdc, words: tuple[str, ...], said: str) -> None:
    called = cdc(*words)
    assert (called.code, called.stdout) == (2, "")
    assert said in called.stderr


def test_a_folder_without_pipelines_has_nothing_to_list(cdc: Cdc, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    called = cdc("list", "empty")
    assert (called.code, called.stdout, called.stderr) == (0, "", "empty: no file in it describes a pipeline\n")
    assert cdc("list", "empty", "--json").stdout == "[]\n"


def test_debug_shows_why_a_command_cannot_be_loaded(cdc: Cdc, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the option stands."""
    monkeypatch.setitem(sys.modules, "cdckit.cli.diff", None)
    for words in (("diff", "shop.yaml", "--debug"), ("--debug", "diff", "shop.yaml")):
        called = cdc(*words)
        assert called.code == 1
        assert "Traceback" in called.stderr
    assert "Traceback" not in cdc("diff", "shop.yaml").stderr
