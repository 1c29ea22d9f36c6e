"""The pipelines that are measured, as configuration files and command lines."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.workload import DATABASE
from servers.mysql import MySQLServer

USER, PASSWORD = "bench", "bench"


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A connector configuration that both cdckit and Debezium read, and the folder of its run."""

    folder: Path
    server: MySQLServer
    options: tuple[tuple[str, str], ...] = ()

    def write(self) -> Path:
        """Writes the configuration file."""
        options = {
            "connector.class": "io.debezium.connector.mysql.MySqlConnector",
            "topic.prefix": "b",
            "database.hostname": self.server.host,
            "database.port": str(self.server.port),
            "database.user": USER,
            "database.password": PASSWORD,
            "database.server.id": "7654",
            "database.include.list": DATABASE,
            "include.schema.changes": "false",
            "driver.allowPublicKeyRetrieval": "true",
            **dict(self.options),
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / "connector.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in options.items()))
        return path

    @property
    def output(self) -> Path:
        """Where the file sink writes."""
        return self.folder / "out.jsonl"

    def cdc(self, *arguments: str, runner: str = "direct") -> list[str]:
        """The command line of `cdc run` to the file sink; `arguments` may name another sink."""
        return [
            *(sys.executable, "-m", "cdckit", "run", str(self.write()), "--runner", runner),
            *("--set", f"state={self.folder / 'state'}", "--sink", "file", "--set", f"sink.path={self.output}"),
            *arguments,
        ]
