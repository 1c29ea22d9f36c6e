"""`cdc init`: a first pipeline file, from the command line or by asking."""

from __future__ import annotations

import os
import pty
import select
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from cdckit.engine.config.loading import load_pipeline
from testkit.servers.mysql import MySQLServer

PROGRAM = Path(sys.executable).parent / "cdc"
Cdc = Callable[..., Any]

GIVEN = ("--set", "source.topic.prefix=shop", "--set", "source.database.user=cdc")


def written(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(path.read_text())
    return content


def test_from_the_command_line(cdc: Cdc, tmp_path: Path) -> None:
    called = cdc("init", *GIVEN, "--no-connect", "--sink", "kafka", "--set", "sink.bootstrap.servers=localhost:9092")
    assert called.code == 0
    assert written(tmp_path / "pipeline.yaml") == {
        "runner": "direct",
        "source": {
            "type": "mysql", "topic.prefix": "shop", "database.hostname": "localhost", "database.port": 3306,
            "database.user": "cdc", "database.password": "${DATABASE_PASSWORD}",
        },
        "sink": {"type": "kafka", "bootstrap.servers": "localhost:9092"},
    }  # fmt: skip
    assert "runner: direct  # one process without a JVM: a second and 70 MB" in (tmp_path / "pipeline.yaml").read_text()
    assert called.stdout.splitlines() == [
        "pipeline.yaml is written. Next:",
        "  export DATABASE_PASSWORD=…",
        "  cdc validate pipeline.yaml --connect",
        "  cdc run pipeline.yaml",
    ]
    assert load_pipeline(tmp_path / "pipeline.yaml", environment={"DATABASE_PASSWORD": "x"}).runner == "direct"


@pytest.mark.parametrize("source", ["mysql", "mariadb", "mongodb", "ticdc", "debezium"])
def test_each_source_makes_a_file_that_is_taken(cdc: Cdc, tmp_path: Path, source: str) -> None:
    more = {
        "ticdc": ("source.protocol=open-protocol", "source.topics=t", "source.bootstrap.servers=localhost:9092"),
        "debezium": ("source.topics=t", "source.bootstrap.servers=localhost:9092"),
        "mongodb": ("source.topic.prefix=m",),
    }.get(source, ("source.topic.prefix=shop", "source.database.user=cdc"))
    words = [word for assignment in more for word in ("--set", assignment)]
    assert cdc("init", "--source", source, *words, "--no-connect").code == 0
    secrets = {"DATABASE_PASSWORD": "x", "MONGODB_CONNECTION_STRING": "mongodb://localhost"}
    made = load_pipeline(tmp_path / "pipeline.yaml", environment=secrets)
    assert (made.source.registration.name, made.sink.registration.name) == (source, "stdout")


def test_tables_in_the_lake_need_spark(cdc: Cdc, tmp_path: Path) -> None:
    words = (*GIVEN, "--no-connect", "--sink", "spark", "--set", "sink.path=lake")
    assert cdc("init", *words).code == 0
    made = written(tmp_path / "pipeline.yaml")
    assert (made["runner"], made["sink"]["mode"], made["sink"]["path"]) == ("spark", "changelog", "lake")
    refused = cdc("init", "other.yaml", *words, "--runner", "direct")
    assert refused.code == 2
    assert "keeps Spark tables and needs the runner spark" in refused.stderr


@pytest.mark.parametrize("sink", ["delta", "iceberg"])
def test_tables_that_one_process_writes_need_no_spark(cdc: Cdc, tmp_path: Path, sink: str) -> None:
    options = {
        "delta": ["sink.path=lake"],
        "iceberg": ["sink.catalog.type=sql", "sink.catalog.uri=sqlite:///catalog.db", "sink.warehouse=lake"],
    }[sink]
    words = (*GIVEN, "--no-connect", "--sink", sink, *(word for each in options for word in ("--set", each)))
    assert cdc("init", *words).code == 0
    assert written(tmp_path / "pipeline.yaml")["runner"] == "direct"
    for runner in ("direct", "spark"):
        assert cdc("init", f"{runner}.yaml", *words, "--runner", runner).code == 0
        assert written(tmp_path / f"{runner}.yaml")["runner"] == runner


def test_the_state_beside_the_file_is_its_own(cdc: Cdc, tmp_path: Path) -> None:
    """A second file of a pipeline that has run there is no file of an earlier version."""
    state = tmp_path / "state" / "shop" / "state.db"
    state.parent.mkdir(parents=True)
    state.touch()
    called = cdc("init", *GIVEN, "--no-connect")
    assert (called.code, called.stderr) == (0, "")


def test_relative_paths_begin_beside_the_file(cdc: Cdc, mysql_server: MySQLServer, tmp_path: Path) -> None:
    """Also where the source is asked for its tables, before the file is there."""
    (tmp_path / "made").mkdir()
    options = {
        "hostname": mysql_server.host, "port": mysql_server.port, "ssl.mode": "verify_ca", "ssl.truststore": "ca.pem",
    }  # fmt: skip
    words = [word for name, value in options.items() for word in ("--set", f"source.database.{name}={value}")]
    called = cdc("init", "made/pipeline.yaml", *GIVEN, *words, DATABASE_PASSWORD="x")
    assert called.code == 0
    assert str(tmp_path / "made" / "ca.pem") in called.stderr


def test_a_file_that_is_there_is_left_alone(cdc: Cdc, tmp_path: Path) -> None:
    (tmp_path / "pipeline.yaml").write_text("mine")
    refused = cdc("init", *GIVEN, "--no-connect")
    assert refused.code == 2
    assert "pipeline.yaml: is there already; --force replaces it" in refused.stderr
    assert (tmp_path / "pipeline.yaml").read_text() == "mine"
    assert cdc("init", *GIVEN, "--no-connect", "--force").code == 0
    assert "mine" not in (tmp_path / "pipeline.yaml").read_text()


def test_a_folder_that_is_not_there_is_told_before_anything_is_asked(cdc: Cdc) -> None:
    called = cdc("init", "lake/shop.yaml")
    assert called.code == 2
    assert "lake/shop.yaml: there is no folder lake; name a file in a folder that can be written" in called.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "--set source.topic.prefix=VALUE: is needed. The logical name"),
        (("--source", "mysqll"), "did you mean 'mysql'"),
        (("--set", "source.topic.prefix=s"), "database.user is needed"),
        ((*GIVEN, "--set", "source.database.hostnam=x"), "did you mean 'database.hostname'"),
        ((*GIVEN, "--set", "sources.x=1"), "--set sources.x: should begin with source. or sink."),
        ((*GIVEN, "--set", "source.x"), "--set source.x: write it as KEY=VALUE"),
        ((*GIVEN, "--sink", "file"), "--set sink.path=VALUE: is needed"),
        (("--source", "ticdc", "--table", "a.b", "--set", "source.protocol=avro"), "has no list of tables"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_written(cdc: Cdc, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    called = cdc("init", "--no-connect", *words)
    assert called.code == 2
    assert said in called.stderr
    assert "DATABASE_PASSWORD" not in called.stderr
    assert not (tmp_path / "pipeline.yaml").exists()


def test_a_password_is_never_written(cdc: Cdc, tmp_path: Path) -> None:
    refused = cdc("init", *GIVEN, "--no-connect", "--set", "source.database.password=hunter2")
    assert refused.code == 2
    assert "'source.database.password=${DATABASE_PASSWORD}'" in refused.stderr
    assert "hunter2" not in refused.stderr
    assert cdc("init", *GIVEN, "--no-connect", "--set", "source.database.password=${SHOP_PASSWORD}").code == 0
    assert written(tmp_path / "pipeline.yaml")["source"]["database.password"] == "${SHOP_PASSWORD}"


def test_a_source_that_is_away_is_told_and_the_file_written(cdc: Cdc, tmp_path: Path) -> None:
    called = cdc("init", *GIVEN, "--set", "source.database.hostname=127.0.0.1", "--set", "source.database.port=1",
                 DATABASE_PASSWORD="x")  # fmt: skip
    assert called.code == 0
    assert "the source was asked for its tables, and: 127.0.0.1:1 cannot be reached" in called.stderr
    assert (tmp_path / "pipeline.yaml").exists()


def test_it_asks(tmp_path: Path, mysql_server: MySQLServer, unique_name: str, afterwards: ExitStack) -> None:
    """On a terminal: source, tables found on the server, sink, runner."""
    mysql_server.run_sql(
        f"CREATE DATABASE {unique_name}; CREATE TABLE {unique_name}.a (id INT PRIMARY KEY);"
        f"CREATE TABLE {unique_name}.b (id INT PRIMARY KEY)"
    )
    afterwards.callback(mysql_server.execute, f"DROP DATABASE {unique_name}")
    limits = f"source.database.include.list={unique_name}"
    code, said = conversation(
        ["init", "--set", limits],
        tmp_path,
        [
            ("source [mysql]", ""), ("topic.prefix", "shop"), ("database.hostname", mysql_server.host),
            ("database.port", str(mysql_server.port)), ("database.user", "dbz"), ("database.password", "dbz"),
            ("which", f"2, {unique_name}.c_.*"), ("sink [stdout]", "file"), ("path", "out.jsonl"),
            ("runner [direct]", ""),
        ],
    )  # fmt: skip
    assert code == 0, said
    assert f"1 {unique_name}.a" in said
    assert "spark   a JVM and its workers" in said
    made = written(tmp_path / "pipeline.yaml")
    assert made["source"]["table.include.list"] == f"{unique_name}.b,{unique_name}.c_.*"
    assert made["source"]["database.password"] == "${DATABASE_PASSWORD}"
    assert (made["sink"], made["runner"]) == ({"type": "file", "path": "out.jsonl"}, "direct")
    kept, said = conversation(["init"], tmp_path, [("replace it?", "n")])
    assert kept == 130
    assert written(tmp_path / "pipeline.yaml") == made


def conversation(arguments: list[str], folder: Path, answers: list[tuple[str, str]]) -> tuple[int, str]:
    """Calls the program on a terminal, and answers what it asks; its exit code, and what was seen."""
    child, terminal = pty.fork()
    if not child:
        os.chdir(folder)
        os.environ.pop("DATABASE_PASSWORD", None)
        os.execv(PROGRAM, [str(PROGRAM), *arguments])
    said, seen, deadline = "", 0, time.monotonic() + 120
    for question, answer in [*answers, ("", "")]:
        while not question or question not in said[seen:]:
            assert time.monotonic() < deadline, f"{question} was not asked: {said}"
            ready, _, _ = select.select([terminal], [], [], 1)
            try:
                said += os.read(terminal, 4096).decode() if ready else ""
            except OSError:
                break
        else:
            seen = len(said)
            os.write(terminal, f"{answer}\n".encode())
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said


def test_it_asks_for_a_catalog(tmp_path: Path) -> None:
    """What is left empty is not written."""
    words = ["init", *GIVEN, "--source", "mariadb", "--no-connect", "--sink", "iceberg", "--set", "sink.mode=mirror"]
    answers = [
        ("database.hostname", ""), ("database.port", ""), ("database.password", "x"), ("catalog.type", "sql"),
        ("catalog.uri", "sqlite:///catalog.db"), ("warehouse", ""), ("runner [direct]", ""),
    ]  # fmt: skip
    code, said = conversation(words, tmp_path, answers)
    assert code == 0, said
    assert said.count("The catalog, by pyiceberg's names") == 1
    catalog = {"catalog.type": "sql", "catalog.uri": "sqlite:///catalog.db"}
    assert written(tmp_path / "pipeline.yaml")["sink"] == {"type": "iceberg", "mode": "mirror", **catalog}
    assert load_pipeline(tmp_path / "pipeline.yaml", environment={"DATABASE_PASSWORD": "x"}).runner == "direct"


@pytest.mark.parametrize(
    ("sink", "option"),
    [
        ("iceberg", "catalog.credential"),
        ("iceberg", "catalog.s3.secret-access-key"),
        ("kafka", "producer.override.ssl.key.password"),
    ],
)
def test_a_password_that_is_not_asked_for_is_not_written_either(
    cdc: Cdc, tmp_path: Path, sink: str, option: str
) -> None:
    more = {"iceberg": "sink.catalog.type=rest", "kafka": "sink.bootstrap.servers=localhost:9092"}[sink]
    words = (*GIVEN, "--no-connect", "--sink", sink, "--set", more, "--set")
    refused = cdc("init", *words, f"sink.{option}=hunter2")
    assert refused.code == 2
    assert f"--set sink.{option}: a secret is not written into the file" in refused.stderr
    assert cdc("init", *words, f"sink.{option}=${{SECRET}}").code == 0
    assert written(tmp_path / "pipeline.yaml")["sink"][option] == "${SECRET}"


def test_run_says_which_runner_a_connector_gets(cdc: Cdc, tmp_path: Path) -> None:
    (tmp_path / "script.jsonl").write_text('{"n": 1}\n')
    config = tmp_path / "connector.properties"
    config.write_text("connector.class=test.ScriptedConnector\ntopic.prefix=p\nscript=script.jsonl\n")
    called = cdc("run", config.name, "--once", "--set", "spark.spark.master=nowhere")
    assert "the file names no runner, so the pipeline runs on 'spark' (a JVM" in called.stderr
    assert "--runner direct has it run on 'direct' (one process without a JVM" in called.stderr
    called = cdc("run", config.name, "--once", "--runner", "direct")
    assert called.code == 0
    assert "names no runner" not in called.stderr
