"""The pipelines that are measured, as configuration files and command lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from benchmarks.targets import Place, Target
from benchmarks.usage import Tree
from benchmarks.workload import DATABASE
from testkit.servers import process
from testkit.servers.mysql import MySQLServer

USER, PASSWORD = "bench", "bench"
STOP_SECONDS = 60.0
"""How long a following pipeline may take to end when it is asked to."""

Options = tuple[tuple[str, str], ...]
NO_SCHEMAS: Options = (("converter.schemas.enable", "false"),)
METRICS: Options = (("metrics.address", "127.0.0.1:0"),)


class Configured(Protocol):
    """A connector configuration that both cdckit and Debezium read, and the folder of its run."""

    @property
    def folder(self) -> Path:
        """Of its configuration, state and log."""

    @property
    def log(self) -> Path:
        """What it says while it runs."""

    def write(self) -> Path:
        """Writes the configuration file."""


class Placed(Configured, Protocol):
    """One whose events can be found where they are delivered."""

    @property
    def place(self) -> Place:
        """Where its events are in a target."""


def write_options(folder: Path, options: Mapping[str, str]) -> Path:
    """Writes a connector's configuration file into a folder, which it makes."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "connector.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in options.items()))
    return path


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The configuration of a MySQL connector.

    Attributes:
        folder: of its configuration, state and log.
        server: what is captured.
        table: the one table of it, or a regular expression of tables' names.
        options: of the connector, beside those that every pipeline here has.
    """

    folder: Path
    server: MySQLServer
    table: str
    options: Options = ()

    @property
    def place(self) -> Place:
        """Where its events are in a target."""
        return Place(self.folder, f"{self._prefix}.{DATABASE}.{self.table}")

    @property
    def _prefix(self) -> str:
        return self.folder.name

    @property
    def log(self) -> Path:
        """What it says while it runs."""
        return self.folder / "run.log"

    def write(self) -> Path:
        """Writes the configuration file."""
        options = {
            "connector.class": "io.debezium.connector.mysql.MySqlConnector",
            "topic.prefix": self._prefix,
            "database.hostname": self.server.host,
            "database.port": str(self.server.port),
            "database.user": USER,
            "database.password": PASSWORD,
            "database.server.id": "7654",
            "database.include.list": DATABASE,
            "table.include.list": f"{DATABASE}.{self.table}",
            "include.schema.changes": "false",
            "driver.allowPublicKeyRetrieval": "true",
            **dict(self.options),
        }
        return write_options(self.folder, options)


@dataclass(frozen=True, slots=True)
class Cdckit:
    """cdckit with a runner and a target.

    Attributes:
        name: for the table.
        target: where it delivers.
        runner: who drives it.
        options: of the connector.
        settings: of the pipeline.
        python: that it is installed for; this one by default.
    """

    name: str
    target: Target
    runner: Literal["direct", "spark"] = "direct"
    options: Options = NO_SCHEMAS
    settings: Options = ()
    python: str = sys.executable

    def command(self, pipeline: Placed, *arguments: str) -> list[str]:
        """The command line of `cdc run`."""
        return [
            *(self.python, "-m", "cdckit", "run", str(pipeline.write()), "--runner", self.runner),
            *("--set", f"state={pipeline.folder / 'state'}", *self.target.arguments(pipeline.place)),
            *(("--set", "spark.master=local[2]") if self.runner == "spark" else ()),
            *(part for name, value in self.settings for part in ("--set", f"{name}={value}")),
            *arguments,
        ]

    @contextmanager
    def running(self, pipeline: Placed) -> Iterator[Tree]:
        """Follows the log until the block ends."""
        child = process.spawn(self.command(pipeline), pipeline.log)
        try:
            yield Tree(child, pipeline.log)
        finally:
            process.end(child, grace=STOP_SECONDS)
