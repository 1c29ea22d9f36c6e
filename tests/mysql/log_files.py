"""Pipelines that read copies of a server's log files."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cdckit.api.batch import Batch
from cdckit.api.record import Record
from cdckit.api.source import SourceContext
from cdckit.api.source_counts import SourceCounts
from cdckit.engine.runners.stop import StopSignal
from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit.testing.notices import RecordedNotices
from cdckit_mysql.config import MariaDbConfig, MySqlConfig
from cdckit_mysql.source import MySqlSource
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql_family import SQLServer

DATABASES = "g_types,g_dml"


def archived(server: SQLServer, folder: Path) -> Path:
    """Copies a server's log files."""
    folder.mkdir()
    for name, *_ in server.execute("SHOW BINARY LOGS"):
        shutil.copy(server.datadir / name, folder)
    return folder


def names(folder: Path) -> list[str]:
    """The names of the files in an archive."""
    return sorted(path.name for path in folder.iterdir())


class Files:
    """A pipeline that reads files: keeps what it reads, and where it is."""

    def __init__(self, server: SQLServer, state: Path, pattern: Path | str, **options: Any) -> None:
        model = MariaDbConfig if isinstance(server, MariaDBServer) else MySqlConfig
        given: dict[str, Any] = {
            "topic_prefix": "p",
            "database_include_list": DATABASES,
            "include_schema_changes": False,
            "binlog_files": str(pattern),
            **options,
        }
        self.config, _ = model.load({name.replace("_", "."): value for name, value in given.items()}, "source")
        self.state = SqliteStateStore(state)
        self.source = MySqlSource(self.config)
        self.counts = SourceCounts(wanted=True)
        self.heard = RecordedNotices()
        self.source.open(SourceContext("p", self.state, self.heard, StopSignal(), counts=self.counts))

    def batches(self) -> Iterator[Batch]:
        """What there is from the kept offset on; each batch's offset is kept."""
        while splits := self.source.plan(self.offset(), None):
            for split in splits:
                for batch in self.source.read(split):
                    yield batch
                    self.keep(batch.offset)

    def once(self) -> list[Record]:
        """All of that."""
        return [record for batch in self.batches() for record in batch.records]

    def offset(self) -> dict[str, Any]:
        """Where reading goes on."""
        saved = self.state.load_offset()
        return saved if saved is not None else self.source.initial_offset()

    def keep(self, offset: dict[str, Any] | None) -> None:
        """Makes an offset the one to go on from."""
        self.state.save_offset(offset)

    def close(self) -> None:
        """Lets go of everything."""
        self.source.close()
        self.state.close()
