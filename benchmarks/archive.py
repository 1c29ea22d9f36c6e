"""A backlog in archived log files, and pipelines that read it: no server takes part while they are measured."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from benchmarks import workload
from benchmarks.targets import Place
from testkit.servers.mysql import MySQLServer

_FILES = 4
_TABLE = "backlog"


@dataclass(frozen=True, slots=True)
class Archive:
    """Log files that insert rows into one table.

    Attributes:
        folder: has them.
        rows: how many they insert, 100 a statement.
        size: of all of them, in bytes.
    """

    folder: Path
    rows: int
    size: int

    def behind(self, name: str, position: int) -> int:
        """How many bytes lie behind a place."""
        later = (file.stat().st_size for file in self.folder.iterdir() if file.name >= name)
        return sum(later) - position


def archived(rows: int, folder: Path) -> Archive:
    """Has a server log so many rows, and takes the files away."""
    folder.mkdir(parents=True)
    with MySQLServer().start(binlog_row_metadata="FULL") as server:
        workload.create(server, _TABLE)
        for number in range(_FILES):
            share = rows // _FILES
            workload.write(server, workload.inserts(number * share, share, table=_TABLE))
            server.execute("FLUSH BINARY LOGS")
        *files, _ = (name for name, *_ in server.execute("SHOW BINARY LOGS"))
        for name in files:
            shutil.copy(server.datadir / name, folder)
    return Archive(folder, rows // _FILES * _FILES, sum(file.stat().st_size for file in folder.iterdir()))


@dataclass(frozen=True, slots=True)
class ArchivePipeline:
    """The configuration of a pipeline that reads an archive.

    Attributes:
        folder: of its configuration, state and log.
        archive: what is read.
    """

    folder: Path
    archive: Archive

    @property
    def place(self) -> Place:
        """Where its events are in a target."""
        return Place(self.folder, f"{self.folder.name}.{workload.DATABASE}.{_TABLE}")

    @property
    def log(self) -> Path:
        """What it says while it runs."""
        return self.folder / "run.log"

    def write(self) -> Path:
        """Writes the configuration file."""
        self.folder.mkdir(parents=True, exist_ok=True)
        source = {
            "type": "mysql",
            "topic.prefix": self.folder.name,
            "table.include.list": f"{workload.DATABASE}.{_TABLE}",
            "include.schema.changes": False,
            "binlog.files": f"{self.archive.folder}/*",
        }
        path = self.folder / "pipeline.yaml"
        path.write_text(
            json.dumps({"name": "bench", "source": source, "serializer": {"type": "json", "schemas.enable": False}})
        )
        return path
