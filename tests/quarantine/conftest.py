"""Pipelines whose chain, serializer or sink does not take every row."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from cdckit.cli.main import call
from cdckit.engine.quarantine.store import kept_records
from testkit.running import Ended, Pipeline, create_reader, source_of
from testkit.servers.mysql import MySQLServer

UNWRAP = {"type": "ExtractNewRecordState"}
CAST = {"type": "Cast$Value", "name": "number", "spec": "amount:int32"}
"""Fails on an amount that is no number."""


@dataclass(frozen=True)
class Cdc:
    """Calls commands with a pipeline's file, in this process: many times faster than the program."""

    pipeline: Pipeline
    capfd: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        """The exit code, what was printed and what was logged."""
        words = [*arguments[:2]] if arguments[0] in {"quarantine", "offsets"} else [arguments[0]]
        self.capfd.readouterr()
        code = call([*words, str(self.pipeline.written()), *arguments[len(words) :]])
        return code, *self.capfd.readouterr()

    def kept(self) -> list[dict[str, Any]]:
        """What `cdc quarantine list` tells."""
        code, out, _ = self("quarantine", "list", "--json")
        assert code == 0
        return [json.loads(line) for line in out.splitlines()]


@dataclass(frozen=True)
class Shop:
    """A table of orders, `(id, amount)` with amounts as texts, and the pipeline that captures it."""

    server: MySQLServer
    database: str
    pipeline: Pipeline
    capfd: pytest.CaptureFixture[str]

    @property
    def topic(self) -> str:
        return f"p.{self.database}.orders"

    def run_sql(self, *statements: str) -> None:
        self.server.run_sql(f"USE {self.database}; {'; '.join(statements)}")

    def insert(self, **amounts: str) -> None:
        """Rows by id: `_1="x"`."""
        rows = ", ".join(f"({name.strip('_')}, '{amount}')" for name, amount in amounts.items())
        self.run_sql(f"INSERT INTO orders VALUES {rows}")

    def given(self, **options: Any) -> Shop:
        """The same with other options of the pipeline; underscores stand for dots."""
        changed = {name.replace("_", "."): value for name, value in options.items()}
        return replace(self, pipeline=replace(self.pipeline, others={**self.pipeline.others, **changed}))

    def to(self, sink: dict[str, Any]) -> Shop:
        return replace(self, pipeline=replace(self.pipeline, sink=sink))

    def run(self) -> Ended:
        """Runs the pipeline to the log's end."""
        ended = Ended(*self.cdc("run", "--once"))
        self.pipeline.assert_secret()
        return ended

    def delivered(self) -> list[tuple[int, Any]]:
        """The rows that arrived, each with its amount."""
        return [(event["value"]["id"], event["value"]["amount"]) for event in self.pipeline.events()]

    def cdc(self, *arguments: str) -> tuple[int, str, str]:
        """Calls a command with the pipeline's file: its exit code, what it printed and what it logged."""
        return Cdc(self.pipeline, self.capfd)(*arguments)

    def kept(self) -> list[dict[str, Any]]:
        """What `cdc quarantine list` tells."""
        return Cdc(self.pipeline, self.capfd).kept()

    def kept_ids(self) -> list[int]:
        """The ids of the rows in quarantine."""
        contents = (json.loads(record.content) for record in kept_records(self.pipeline.state / "quarantine"))
        return [content["key"]["payload"]["id"] for content in contents]

    def content(self, number: int) -> dict[str, Any]:
        """What `cdc quarantine show` tells of one record's content."""
        _, out, _ = self.cdc("quarantine", "show", str(number))
        content: dict[str, Any] = json.loads(out)["content"]
        return content


@pytest.fixture
def shop(
    mysql_server: MySQLServer, unique_name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> Iterator[Shop]:
    """The table, empty; the pipeline keeps what its chain fails on, and writes the rest to a file."""
    mysql_server.run_sql(
        f"CREATE DATABASE {unique_name}; USE {unique_name};"
        "CREATE TABLE orders (id INT PRIMARY KEY, amount VARCHAR(2000))"
    )
    create_reader(mysql_server)
    options = {
        "serializer": {"schemas.enable": False},
        "transforms": [UNWRAP, CAST],
        "errors.tolerance": "quarantine",
    }
    sink = {"type": "file", "path": str(tmp_path / "out.jsonl")}
    pipeline = Pipeline(tmp_path, source_of(mysql_server, unique_name), sink, options)
    yield Shop(mysql_server, unique_name, pipeline, capfd)
    mysql_server.execute(f"DROP DATABASE {unique_name}")
