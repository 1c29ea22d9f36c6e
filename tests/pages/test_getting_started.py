"""`docs/getting-started.md`, word for word, from an empty server on."""

from __future__ import annotations

import json
import signal
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from pages.page import DOCS, Page
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql import MySQLServer

WRITE, SEND = "3. Write a pipeline", "4. Send it somewhere"


@pytest.fixture
def page(server: MySQLServer, tmp_path: Path) -> Page:
    """The page, in a folder whose name has a space."""
    folder = tmp_path / "my shop"
    folder.mkdir()
    page = Page("getting-started.md", folder, {"MYSQL_PORT": str(server.port)})
    page.write_files()
    return page


def test_what_it_installs_there_is() -> None:
    [block] = Page("getting-started.md", Path()).blocks("", "2. Install")
    extras = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    commands = [line.partition("#")[0].strip() for line in block.splitlines()]
    assert commands == ["pip install '.[mysql]'", "pip install '.[mysql,kafka]'", "pip install '.[mysql,spark]'"]
    assert {"kafka", "mysql", "spark"} <= extras.keys()


def test_a_pipeline_to_standard_output(page: Page, server: MySQLServer) -> None:
    validate, run, status, offsets = page.commands(WRITE)
    checked = page.run(validate)
    assert checked.code == 0, checked.stdout
    assert "fail" not in checked.stdout
    with page.running(run) as process:
        assert [_seen(event) for event in _events(process, 2)] == [("r", "Ada"), ("r", "Grace")]
        [changes] = page.blocks("sql", WRITE)
        server.run_sql(changes)
        came = [_seen(event) for event in _events(process, 4)]
        assert came == [("c", "Edsger"), ("u", "Ada"), ("d", "Grace"), (None, None)]
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    server.execute("INSERT INTO shop.customers (name) VALUES ('Barbara')")
    with page.running(run) as process:
        assert [_seen(event) for event in _events(process, 1)] == [("c", "Barbara")]
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    told = page.run(status)
    assert (told.code, "stopped" in told.stdout) == (0, True)
    assert json.loads(page.run(offsets).stdout)["file"].startswith("binlog.")
    assert (page.folder / "state" / "shop" / "state.db").exists()


def test_into_kafka_and_as_a_connector(server: MySQLServer, page: Page, kafka_broker: KafkaBroker) -> None:
    page = Page(page.name, page.folder, {**page.substitutes, "KAFKA": kafka_broker.bootstrap})
    [run] = [command for command in page.commands(SEND) if "kafka" in command]
    ended = page.run(run)
    assert ended.code == 0, ended.stderr
    assert len(kafka_broker.messages("shop.shop.customers")) == 2
    [run] = page.commands("5. Coming from Debezium")
    ended = page.run(run)
    assert ended.code == 0, ended.stderr
    assert len(kafka_broker.messages("inventory.shop.customers")) == 2


@pytest.mark.spark
@pytest.mark.timeout(900)
def test_into_a_lake(page: Page, server: MySQLServer, nightly: bool) -> None:
    validate, run = [command for command in page.commands(SEND) if "lake" in command]
    checked = page.run(validate)
    assert checked.code == 0, checked.stdout
    for name, rows in (("Ada", 2), ("Edsger", 3)) if nightly else (("Ada", 2),):
        if rows == 3:
            server.execute("INSERT INTO shop.customers (name) VALUES ('Edsger')")
        ended = page.run(run)
        assert ended.code == 0, ended.stderr
        table = DeltaTable(str(page.folder / "lake" / "shop.shop.customers")).to_pyarrow_table()
        assert set(table.column_names) == {"id", "name", "email", "__position"}
        names = table.column("name").to_pylist()
        assert (len(names), name in names) == (rows, True)


def _events(process: subprocess.Popen[str], count: int) -> list[Any]:
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(count)]
    assert all(lines), "the pipeline ended"
    return [json.loads(line) for line in lines]


def _seen(event: dict[str, Any]) -> tuple[str | None, str | None]:
    """An event's operation and the name in its row; nothing of a tombstone."""
    value = event["value"]
    return (None, None) if value is None else (value["op"], (value["after"] or value["before"])["name"])
