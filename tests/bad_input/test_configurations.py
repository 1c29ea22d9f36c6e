"""Pipelines that cannot be: exit code 2, every fault named with its place, and nothing begun."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from testkit.running import PASSWORD, Pipeline
from testkit.warm_command.starting import call_command

SOURCE = {"type": "mysql", "topic.prefix": "p", "database.user": "u", "database.password": PASSWORD}
WITHOUT_PACKAGES = """
import os
import sys


class Hiding:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, *others):
        hidden = os.environ["HIDDEN"].split(",")
        return None if name.partition(".")[0] in hidden else self.finder.find_spec(name, *others)

    def __getattr__(self, name):
        return getattr(self.finder, name)


sys.meta_path[:] = [Hiding(finder) for finder in sys.meta_path]
"""
"""What Python runs before all else (`sitecustomize`), so that it finds some packages nowhere."""


def _run(folder: Path, name: str, content: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / name).write_text(content)
    done = call_command(["run", name, *arguments], folder=folder, environment={**os.environ, "CDC_DEBUG": "1"})
    assert PASSWORD not in done.stdout + done.stderr
    assert not (folder / "state").exists(), "a state was begun"
    return done


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("p.yaml", f"source: {{database.password: {PASSWORD}\nsink: [", "p.yaml"),
        ("p.json", f'{{"source": {{"database.password": "{PASSWORD}"', "p.json"),
        ("p.toml", f'source."database.password" = "{PASSWORD}" x', "p.toml"),
        ("p.yaml", "", "p.yaml"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, content: str, said: str) -> None:
    done = _run(tmp_path, name, content, "--once")
    assert done.returncode == 2, done.stderr
    assert f"error CDC2101: {said}" in done.stderr


ALIASES = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))
MERGES = "m0: &m0 {x: 1}\n" + "".join(f"m{n}: &m{n} {{<<: [*m{n - 1}, *m{n - 1}]}}\n" for n in range(1, 40))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("p.yaml", ALIASES, "more than 100000 values, with all that its aliases stand for"),
        ("p.yaml", MERGES, "more than 10000 keys are merged here"),
        ("p.yaml", "source: &a [*a]", "nested too deeply"),
        ("p.yaml", "source: " + "[" * 20_000, "nested too deeply"),
        ("p.json", '{"source": ' + "[" * 200_000, "nested too deeply"),
        ("p.toml", "source = " + "[" * 20_000, "nested too deeply"),
        ("p.yaml", f"source: !!int {'9' * 5000}", "p.yaml"),
        ("p.yaml", "? [a]\n: b", "p.yaml"),
    ],
    ids=["aliases", "merges", "alias of itself", "deep YAML", "deep JSON", "deep TOML", "digits", "list as key"],
)
def test_a_file_that_blows_up_is_refused(tmp_path: Path, name: str, content: str, said: str) -> None:
    done = _run(tmp_path, name, content, "--once")
    assert done.returncode == 2, done.stderr[-2000:]
    assert "error CDC2101: p." in done.stderr
    assert said in done.stderr


def test_absurd_numbers_are_refused(tmp_path: Path) -> None:
    absurd = {
        "database.port": "99999999999999999999",
        "heartbeat.interval.ms": "9223372036854775807",
        "connect.timeout.ms": "2147483648",
        "incremental.snapshot.chunk.size": "1" + "0" * 30,
        "retriable.restart.connector.wait.ms": "9" * 5000,
        "signal.poll.interval.ms": "1e999",
        "snapshot.max.threads": "1000000",
        "errors.max.retries": "99999999999999999999999",
    }
    lines = "".join(f"  {option}: {number}\n" for option, number in absurd.items())
    content = f"source:\n  type: mysql\n  topic.prefix: p\n  database.hostname: h\n{lines}sink: {{type: stdout}}\n"
    done = _run(tmp_path, "p.yaml", content, "--once")
    assert done.returncode == 2, done.stderr[-2000:]
    for option in absurd:
        assert f"error CDC2203: source.{option}: should be" in done.stderr, done.stderr


def test_all_faults_are_told_at_once_and_what_was_meant(tmp_path: Path) -> None:
    content = f"""
runner: direct
sourc: {{}}
source:
  type: mysql
  topic.prefix: p
  database.hostnam: localhost
  database.port: many
  database.user: u
  database.password: {PASSWORD}
  snapshot.mode: initail
sink: {{type: file, pth: out}}
"""
    done = _run(tmp_path, "p.yaml", content)
    assert done.returncode == 2
    for said in (
        "sourc: unknown option; did you mean 'source'?",
        "source.database.hostnam: unknown option; did you mean 'database.hostname'?",
        "source.database.port: ",
        "source.snapshot.mode: ",
        "sink.pth: unknown option; did you mean 'path'?",
    ):
        assert f": {said}" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("sink", "runner", "hidden", "extra"),
    [
        *[
            ({"type": "file", "path": "out"}, "direct", one, "mysql")
            for one in ("pymysql", "cryptography", "zstandard")
        ],
        ({"type": "kafka", "bootstrap.servers": "localhost:1"}, "direct", "confluent_kafka", "kafka"),
        ({"type": "file", "path": "out"}, "spark", "pyspark", "spark"),
        ({"type": "spark", "path": "lake"}, "spark", "delta,pyspark", "spark"),
    ],
)
def test_a_missing_extra_is_named_with_how_to_install_it(
    tmp_path: Path, sink: dict[str, str], runner: str, hidden: str, extra: str
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(WITHOUT_PACKAGES)
    variables = {"PYTHONPATH": str(tmp_path / "site"), "HIDDEN": hidden}
    source = {**SOURCE, "database.hostname": "127.0.0.1"}
    ended = Pipeline(tmp_path, source, sink, {"runner": runner}, variables).run("--once")
    assert ended.code == 2, ended.stderr
    assert f"pip install 'cdckit[{extra}]'" in ended.errors
    assert not (tmp_path / "state").exists()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("signal.consumer.ssl.keystore.location", "me.jks"),
        ("signal.consumer.sasl.jaas.config", f"com.shop.LoginModule required password='{PASSWORD}';"),
        ("schema.history.internal.consumer.ssl.truststore.location", "ca.jks"),
        ("schema.history.internal.producer.ssl.keystore.location", "me.jks"),
    ],
)
def test_what_only_javas_kafka_clients_can_read_is_refused(tmp_path: Path, option: str, value: str) -> None:
    """As it stands in a connector's configuration."""
    connector = {
        "connector.class": "io.debezium.connector.mysql.MySqlConnector",
        "topic.prefix": "p",
        "database.hostname": "127.0.0.1",
        "database.user": "u",
        "signal.enabled.channels": "source,kafka",
        "signal.kafka.bootstrap.servers": "127.0.0.1:1",
        "schema.history.internal": "kafka",
        "schema.history.internal.kafka.bootstrap.servers": "127.0.0.1:1",
        "schema.history.internal.kafka.topic": "history",
        option: value,
    }
    content = "".join(f"{name}={each}\n" for name, each in connector.items())
    done = _run(tmp_path, "p.properties", content, "--sink", "stdout", "--runner", "direct", "--once")
    assert done.returncode == 2, done.stderr
    said = done.stderr.partition(f"{option}: ")[2]
    assert "name that file in" in said or "say with signal.consumer.sasl.mechanisms" in said


def test_properties_for_a_history_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    words = ["offsets", "import", "p.yaml", "--from-debezium", "offsets.dat"]
    words += ["--history", "kafka://127.0.0.1:1/history", "--history-consumer", "consumer.properties"]
    done = call_command(words, folder=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "error CDC2000: --history-consumer: consumer.properties: No such file" in done.stderr


def test_a_sink_of_tables_needs_spark(tmp_path: Path) -> None:
    source = {**SOURCE, "database.hostname": "127.0.0.1"}
    ended = Pipeline(tmp_path, source, {"type": "spark", "path": str(tmp_path / "lake")}).run("--once")
    assert ended.code == 2
    assert "set 'runner: spark'" in ended.errors
    assert not (tmp_path / "state").exists()
