"""Findings about the last run, the folders and the disk; and the command's own face."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from cdckit.cli.main import call
from doctor.conftest import NewPatient
from doctor.test_mysql import source
from testkit.servers.mysql import MySQLServer


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 70 MB of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=70m", "tmpfs", folder], check=False)
    if mounted.returncode:
        pytest.skip("this user may mount nothing")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_disk_that_fills_is_told(
    small_disk: Path, mysql_server: MySQLServer, unique_name: str, patient: NewPatient
) -> None:
    made = patient(source(mysql_server, unique_name), state=str(small_disk / "state"))
    assert made.told("disk")["severity"] == "ok"
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(66 << 20))
    code, _ = made.examined()
    found = made.findings()["CDC1301"]
    assert (code, found["severity"]) == (7, "fail")
    assert found["message"].startswith("0.00 GB of 0.07 GB are free at ")
    ballast.unlink()
    assert "CDC1301" not in made.findings()


def test_a_run_that_failed_is_told_with_its_number(
    mysql_server: MySQLServer, unique_name: str, patient: NewPatient, afterwards: ExitStack
) -> None:
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}; CREATE TABLE {unique_name}.t (id INT PRIMARY KEY);")
    afterwards.callback(mysql_server.execute, f"DROP DATABASE {unique_name}")
    mysql_server.run_sql(f"INSERT INTO {unique_name}.t VALUES (1);")
    made = patient(source(mysql_server, unique_name), sink={"type": "file", "path": "/proc/no/out.jsonl"})
    assert made.run() == 4
    assert made.status["error_number"] == "CDC4301"
    found = made.findings()["CDC1107"]
    assert found["message"].startswith("the last run failed: CDC4301 SinkError: sink.path")
    assert found["remedy"] == "cdc doctor --explain CDC4301"
    mended = patient(source(mysql_server, unique_name))
    assert mended.run() == 0
    assert "CDC1107" not in mended.findings()


def test_a_server_that_is_away_is_one_finding_with_its_number(unique_name: str, patient: NewPatient) -> None:
    options = {
        "type": "mysql",
        "topic.prefix": "t",
        "database.hostname": "127.0.0.1",
        "database.port": 1,
        "database.user": "u",
        "database.password": "never-shown",
    }
    code, findings = patient(options).examined()
    [found] = [one for one in findings if one["severity"] == "fail"]
    assert (code, found["number"], found["part"]) == (3, "CDC3201", "source")
    assert findings[0] == found, "the worst comes first"


def test_a_number_is_explained_without_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["doctor", "--explain", "cdc3101"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("### CDC3101: the log is lost\n")
    assert call(["doctor", "--explain", "CDC1"]) == 2
    assert "error CDC2001: " in capsys.readouterr().err


def test_the_table_has_the_number_and_what_to_do(
    mysql_server: MySQLServer, unique_name: str, patient: NewPatient, capsys: pytest.CaptureFixture[str]
) -> None:
    made = patient(source(mysql_server, unique_name))
    assert call(["doctor", made.file]) == 0
    lines = capsys.readouterr().out.splitlines()
    at = next(number for number, line in enumerate(lines) if "CDC1210" in line)
    assert "captured tables: none of the tables that the user may see" in lines[at]
    assert "→ check database.include.list" in lines[at + 1]
    assert at < next(number for number, line in enumerate(lines) if line.lstrip().startswith("ok"))
