"""`cdc status`: of a pipeline that runs, has ended, has failed, was killed, or has never run."""

from __future__ import annotations

import fcntl
import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cdckit.engine.metrics.details_file import read_details
from cdckit.engine.metrics.figures import Figures
from cdckit.engine.metrics.status_file import RUNNER, StatusFile, read_status
from cdckit.engine.metrics.trend import Sample

Cdc = Callable[..., Any]


def write(folder: Path, *lines: dict[str, Any]) -> None:
    (folder / "script.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def rows(table: str, number: int, estimate: int | None, *, finished: bool) -> dict[str, Any]:
    return {"snapshot": table, "rows": number, "estimate": estimate, "finished": finished}


def status_of(cdc: Cdc) -> dict[str, Any]:
    called = cdc("status", "pipeline.yaml", "--json")
    found: dict[str, Any] = json.loads(called.stdout)
    assert called.code == (found["state"] in ("failed", "killed"))
    return found


def test_of_a_pipeline_that_never_ran(cdc: Cdc, pipeline: Path, tmp_path: Path) -> None:
    called = cdc("status", pipeline.name)
    assert called.stdout.splitlines() == [
        "pipeline  scripted",
        "state     never run with this state folder",
        "offset    none",
    ]
    found = status_of(cdc)
    assert (found["state"], found["offset"], found["pid"]) == ("never run", None, None)
    assert not (tmp_path / "state").exists()


def test_of_one_that_has_ended(cdc: Cdc, pipeline: Path) -> None:
    cdc("run", pipeline.name, "--once")
    called = cdc("status", pipeline.name)
    lines = dict(line.split(None, 1) for line in called.stdout.splitlines())
    assert lines["state"].startswith("stopped ")
    assert lines["offset"] == '{"line": 3}'
    assert lines["delivered"] == "3 events"
    assert lines["lag"].startswith("0.0 s and 0 bytes behind the log's end when the offset was saved, ")
    found = status_of(cdc)
    assert (found["state"], found["records"], found["lag_bytes"], found["error"]) == ("stopped", 3, 0, None)
    assert found["events_per_second"] == 0


def test_of_one_that_has_failed(cdc: Cdc, pipeline: Path, tmp_path: Path) -> None:
    write(tmp_path, {"n": 1}, {"raise": "DecodeError", "say": "line 2 is broken"})
    assert cdc("run", pipeline.name, "--once").code == 5
    called = cdc("status", pipeline.name)
    assert called.code == 1
    assert "error     CDC5000 DecodeError: line 2 is broken" in called.stdout.splitlines()
    found = status_of(cdc)
    assert (found["state"], found["error_type"], found["offset"]) == ("failed", "DecodeError", {"line": 1})


def test_of_one_that_fails_before_it_begins(cdc: Cdc, pipeline: Path, tmp_path: Path) -> None:
    (tmp_path / "script.jsonl").unlink()
    assert cdc("run", pipeline.name, "--once").code == 3
    assert (status_of(cdc)["state"], status_of(cdc)["error_type"]) == ("failed", "SourceError")


@pytest.fixture
def running(start: Callable[..., subprocess.Popen[str]], pipeline: Path, cdc: Cdc, tmp_path: Path) -> Any:
    """The pipeline while it runs, in the middle of a snapshot's second table."""
    write(
        tmp_path,
        rows("db.a", 10, 10, finished=True),
        rows("db.b", 5, 20, finished=False),
        {"n": 1},
        {"n": 2},
    )
    process = start("run", pipeline.name, "--sink", "file", "--set", "sink.path=out.jsonl")
    deadline = time.monotonic() + 30
    while (found := status_of(cdc))["records"] != 2:
        assert time.monotonic() < deadline, found
        time.sleep(0.02)
    yield process
    process.kill()
    process.communicate()


def test_of_one_that_runs(cdc: Cdc, running: subprocess.Popen[str], pipeline: Path) -> None:
    found = status_of(cdc)
    assert (found["state"], found["pid"], found["runner"]) == ("running", running.pid, "direct")
    assert found["offset"] == {"line": 4}
    assert found["events_per_second"] > 0
    assert [table | {"seconds_left": None} for table in found["snapshot"]["tables"]] == [
        {"name": "db.a", "rows": 10, "estimate": 10, "finished": True, "seconds_left": None},
        {"name": "db.b", "rows": 5, "estimate": 20, "finished": False, "seconds_left": None},
    ]
    text = cdc("status", pipeline.name).stdout
    assert f"state     running on the runner direct, process {running.pid}, for " in text
    assert "snapshot  running, 1 of 2 tables, " in text
    assert "  db.b: 5 of about 20 rows\n" in text
    assert "  db.a:" not in text


def test_a_second_run_on_the_same_state_leaves_the_status_of_the_first(
    cdc: Cdc, running: subprocess.Popen[str], pipeline: Path
) -> None:
    assert cdc("run", pipeline.name, "--once").code == 7
    assert (status_of(cdc)["state"], status_of(cdc)["pid"]) == ("running", running.pid)


def test_of_one_that_was_killed(cdc: Cdc, running: subprocess.Popen[str], pipeline: Path) -> None:
    running.kill()
    running.wait()
    assert status_of(cdc)["state"] == "killed"
    assert status_of(cdc)["snapshot"]["state"] == "broken off"
    assert "ended without a word (killed?), last heard of " in cdc("status", pipeline.name).stdout


def test_a_broken_status_file_is_named(cdc: Cdc, pipeline: Path, tmp_path: Path) -> None:
    cdc("run", pipeline.name, "--once")
    (tmp_path / "state" / "scripted" / "status.json").write_text("{")
    called = cdc("status", pipeline.name)
    assert called.code == 7
    assert f"status file {tmp_path}/state/scripted/status.json: " in called.stderr
    assert cdc("run", pipeline.name, "--once").code == 0
    assert cdc("status", pipeline.name).code == 0


def test_a_status_that_cannot_be_written_stops_nothing(cdc: Cdc, pipeline: Path, tmp_path: Path) -> None:
    (tmp_path / "state" / "scripted" / "status.json").mkdir(parents=True)
    assert cdc("run", pipeline.name, "--once").code == 0


def test_who_looks_while_a_run_begins_does_not_keep_it_from_telling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / RUNNER).open("w") as looked:
        fcntl.flock(looked, fcntl.LOCK_SH)
        monkeypatch.setattr(time, "sleep", lambda _: fcntl.flock(looked, fcntl.LOCK_UN))
        StatusFile(tmp_path, Figures("p", "scripted", "p", "direct")).close()
    assert read_status(tmp_path) is not None


def heard_of_an_hour_ago(folder: Path, **said: Any) -> None:
    """The running pipeline's status as if it had been written then."""
    path = folder / "state" / "scripted" / "status.json"
    written = json.loads(path.read_text())
    path.write_text(json.dumps({**written, "written": time.time() - 3600, **said}))


@pytest.mark.parametrize(
    ("said", "stale"),
    [
        ({"snapshot": None, "lag_seconds": 0.0}, False),
        ({"snapshot": None, "lag_seconds": 2.5}, True),
        ({"snapshot": None, "lag_seconds": 0.0, "disconnects": 1, "connected": False}, True),
        ({"lag_seconds": 0.0}, True),
    ],
    ids=["idle", "behind", "away", "in a snapshot"],
)
def test_of_one_that_has_work_to_do_and_says_nothing(
    cdc: Cdc, running: subprocess.Popen[str], pipeline: Path, tmp_path: Path, said: dict[str, Any], stale: bool
) -> None:
    heard_of_an_hour_ago(tmp_path, **said)
    called = cdc("status", pipeline.name)
    assert (called.code, "; stale: " in called.stdout) == (int(stale), stale)
    called = cdc("status", pipeline.name, "--json", "--stale-after", "7200")
    assert (called.code, json.loads(called.stdout)["stale"]) == (0, False)


SECRETS = "runner: direct\nsource: {type: scripted, script: s, password: '${NO_SECRET}', port: '${NO_PORT}'}\n"


def test_secrets_are_not_needed_where_nothing_is_connected_to(cdc: Cdc, tmp_path: Path) -> None:
    (tmp_path / "s").write_text("")
    (tmp_path / "pipeline.yaml").write_text(SECRETS)
    assert cdc("status", "pipeline.yaml").code == 0
    assert cdc("offsets", "set", "pipeline.yaml", '{"line": 2}').code == 0
    assert json.loads(cdc("offsets", "show", "pipeline.yaml").stdout) == {"line": 2}
    assert cdc("offsets", "reset", "pipeline.yaml").code == 0
    called = cdc("run", "pipeline.yaml", "--once")
    assert called.code == 2
    assert called.stderr.count("is not set") == 2


@pytest.mark.parametrize("option", ["name", "state", "source.topic.prefix", "source.server.name"])
def test_what_tells_the_state_is_needed(cdc: Cdc, tmp_path: Path, option: str) -> None:
    (tmp_path / "pipeline.yaml").write_text(SECRETS)
    called = cdc("status", "pipeline.yaml", "--set", f"{option}=${{NO_NAME}}")
    assert called.code == 2
    assert f"error CDC2206: {option}: the environment variable NO_NAME is not set" in called.stderr


def test_a_wrong_option_is_told_beside_a_missing_secret(cdc: Cdc, tmp_path: Path) -> None:
    (tmp_path / "pipeline.yaml").write_text(SECRETS)
    called = cdc("status", "pipeline.yaml", "--set", "source.mode=fastest")
    assert called.code == 2
    assert "source.mode: should be 'fast' or 'slow'" in called.stderr


def test_the_pipelines_of_a_folder_are_listed(cdc: Cdc, pipeline: Path, tmp_path: Path) -> None:
    cdc("run", pipeline.name, "--once")
    (tmp_path / "secret.yaml").write_text(f"name: hidden\n{SECRETS}")
    (tmp_path / "other.yaml").write_text("kind: Deployment\n")
    called = cdc("list", ".")
    assert called.code == 0
    assert [line.split()[:3] for line in called.stdout.splitlines()[3:] if line.strip()] == [
        ["pipeline.yaml", "scripted", "stopped"],
        ["secret.yaml", "hidden", "never"],
    ]
    (tmp_path / "wrong.json").write_text('{"source": {"type": "nothing"}}')
    called = cdc("list", "--json")
    assert called.code == 1
    found = {Path(listed["file"]).name: listed for listed in json.loads(called.stdout)}
    assert found.keys() == {"pipeline.yaml", "secret.yaml", "wrong.json"}
    assert "no source is called 'nothing'" in found["wrong.json"]["error"]


def test_a_real_run_leaves_it(cdc: Cdc, pipeline: Path, tmp_path: Path) -> None:
    cdc("run", pipeline.name, "--once")
    told = read_details(tmp_path / "state" / "scripted")
    assert [entry[1] for entry in told["timeline"]] == ["started", "stopped"]
    (sample,) = told["samples"]
    assert Sample(*sample).records == 3
    status = json.loads((tmp_path / "state" / "scripted" / "status.json").read_text())
    assert (status["file"], status["as_written"], status["store"]) == (str(pipeline), True, "file")
    cdc("run", pipeline.name, "--once", "--set", "name=other")
    assert not json.loads((tmp_path / "state" / "other" / "status.json").read_text())["as_written"]
