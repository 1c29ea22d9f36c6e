"""The units: as systemd reads them, and what they start."""

from __future__ import annotations

import configparser
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cdckit.engine.metrics.status_file import read_status
from deploy.files import DEPLOY
from testkit.running import Pipeline, create_reader, source_of
from testkit.servers.mysql import MySQLServer

UNITS = sorted((DEPLOY / "systemd").glob("*.service"))


def service(unit: Path) -> configparser.SectionProxy:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(unit.read_text())
    return parser["Service"]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_finds_no_fault(unit: Path, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not here")
    copy = tmp_path / unit.name
    copy.write_text(unit.read_text().replace("/opt/cdckit/bin/cdc", "/bin/true"))
    command: list[str | Path] = ["systemd-analyze", "verify", "--man=no", copy]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert [line for line in done.stderr.splitlines() if "cdckit" in line] == []
    copy.write_text(copy.read_text().replace("KillMode=mixed", "KillMode=some"))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "kill mode" in done.stderr, "a fault would be found"


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_what_a_unit_starts(unit: Path, mysql_server: MySQLServer, unique_name: str, tmp_path: Path) -> None:
    """The command of `ExecStart` runs a pipeline, reads its secret from a credential, and ends with 0 by SIGTERM."""
    mysql_server.run_sql(f"create database {unique_name}")
    mysql_server.run_sql("create table t (n int primary key); insert into t values (1);", database=unique_name)
    create_reader(mysql_server)
    etc, state = tmp_path / "etc", tmp_path / "state"
    (etc / "pipelines").mkdir(parents=True)
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    source = source_of(mysql_server, unique_name)
    (credentials / "secrets_password").write_text(str(source["database.password"]))
    source["database.password"] = f"${{dir:{credentials}:secrets_password}}"
    sink = {"type": "file", "path": str(tmp_path / "out.jsonl")}
    text = Pipeline(tmp_path, source, sink, {"state": str(state)}).written().read_text()
    for place in (etc, etc / "pipelines"):
        (place / "shop.yaml").write_text(text)
    written = service(unit)["ExecStart"].replace("%i", "shop").replace("/etc/cdckit", str(etc))
    [program, *arguments] = shlex.split(written)
    assert program == "/opt/cdckit/bin/cdc"
    process = subprocess.Popen(
        [sys.executable, "-m", "cdckit", *arguments], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    try:
        for _ in iter(lambda: (read_status(state) or {}).get("records"), 1):
            assert process.poll() is None
            signal.sigtimedwait([], 0.05)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=120)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, errors
    assert '"n":1' in (tmp_path / "out.jsonl").read_text().replace(" ", "")


def test_how_they_end_and_begin_anew() -> None:
    for unit in UNITS:
        options = service(unit)
        assert (options["KillMode"], options["Restart"], options["RestartPreventExitStatus"]) == (
            "mixed",
            "on-failure",
            "2",
        )
