"""`cdc run` on Spark, as its users call it: what it prints, and how it stops."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from cdckit.cli.main import call
from spark.conftest import FAST_JVM
from testkit.running import Ended, Pipeline, create_reader, source_of
from testkit.servers.mysql import MySQLServer

pytestmark = [pytest.mark.spark, pytest.mark.real_python, pytest.mark.timeout(900)]

SECONDS = 240.0


def test_stopped_by_a_signal_it_has_saved_what_it_printed(
    mysql_server: MySQLServer, unique_name: str, tmp_path: Path, nightly: bool
) -> None:
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}; USE {unique_name}; CREATE TABLE t (id INT PRIMARY KEY)")
    create_reader(mysql_server)
    source = source_of(mysql_server, unique_name, topic_prefix=unique_name, include_schema_changes=False)
    settings = {"serializer": {"schemas.enable": False}, "runner": "spark", "spark": {"master": "local[2]", **FAST_JVM}}
    pipeline = Pipeline(tmp_path, source, {"type": "stdout"}, settings)
    printed: list[int] = []
    signals = [(signal.SIGINT, 130), (signal.SIGTERM, 0)]
    for number, (sent, code) in enumerate(signals if nightly else signals[:1]):
        mysql_server.execute(f"INSERT INTO {unique_name}.t VALUES ({number * 10}), ({number * 10 + 1})")
        with pipeline.running() as process:
            process.wait_until(lambda: process.stdout.read_text().count("\n") == 2, "two lines", SECONDS)
            mysql_server.execute(f"INSERT INTO {unique_name}.t VALUES ({number * 10 + 2})")
            process.wait_until(lambda: process.stdout.read_text().count("\n") == 3, "a third", SECONDS)
            process.process.send_signal(sent)
            ended = process.ended(SECONDS)
        assert ended.code == code, ended.stderr
        printed += [json.loads(line)["key"]["id"] for line in ended.stdout.splitlines()]
    assert printed == [0, 1, 2, 10, 11, 12][: 6 if nightly else 3]


def test_without_java_it_says_what_to_do(tmp_path: Path, mysql_server: MySQLServer) -> None:
    source = source_of(mysql_server, "nowhere")
    settings = {"runner": "spark"}
    nowhere = {"JAVA_HOME": "", "PATH": os.fspath(tmp_path)}
    ended = Pipeline(tmp_path, source, {"type": "stdout"}, settings, nowhere).run("--once")
    assert (ended.code, ended.stdout) == (2, "")
    assert "Java 17" in ended.errors


@pytest.mark.usefixtures("session")
def test_a_refused_source_ends_as_on_the_direct_runner(
    tmp_path: Path, mysql_server: MySQLServer, capfd: pytest.CaptureFixture[str]
) -> None:
    source = {**source_of(mysql_server, "nowhere"), "database.user": "nobody"}
    pipeline = Pipeline(tmp_path, source, {"type": "stdout"}, {"runner": "spark"})
    assert call(["run", str(pipeline.written()), "--once"]) == 3
    printed = capfd.readouterr()
    assert printed.out == ""
    assert "refuses user 'nobody'" in Ended(3, printed.out, printed.err).errors
