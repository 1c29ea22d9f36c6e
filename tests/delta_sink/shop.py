"""A database on MySQL whose tables a sink keeps in a lake, and the comparison of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from histories.lakes import (
    DeltaChangelog,
    DeltaMirror,
    DeltaVersions,
    IcebergChangelog,
    IcebergMirror,
    IcebergTables,
    IcebergVersions,
    LoggedRows,
    MirroredRows,
)
from histories.rows import Row, Types, at_source, columns_of, difference, keys_of
from testkit.running import Ended, Pipeline, create_reader, source_of
from testkit.servers.mysql_family import SQLServer


@dataclass(frozen=True)
class Shop:
    """One database and its lake.

    Attributes:
        server: where it is.
        name: the database's, and the topics' prefix.
        folder: of the pipeline's files.
        mode: what the tables are.
        format: the sink that keeps them.
        sink: the sink's options besides.
        catalog: another catalog than a file of SQLite, of Iceberg's tables, and the namespace there.
    """

    server: SQLServer
    name: str
    folder: Path
    mode: str = "mirror"
    format: str = "delta"
    sink: Mapping[str, Any] = field(default_factory=dict)
    catalog: tuple[Mapping[str, str], str] | None = None

    def with_sink(self, mode: str, options: Mapping[str, Any]) -> Shop:
        """The same database in other tables."""
        return replace(self, mode=mode, sink=options)

    def make(self, script: str = "") -> None:
        """Makes the database and runs SQL in it."""
        create_reader(self.server)
        self.server.execute(f"CREATE DATABASE {self.name} CHARACTER SET utf8mb4")
        self.run(script)

    def run(self, script: str) -> None:
        """Runs SQL."""
        if script:
            self.server.run_sql(script, database=self.name)

    def pipeline(self, sink: dict[str, Any] | None = None, **source: Any) -> Pipeline:
        """The pipeline to the lake."""
        options = source_of(
            self.server,
            self.name,
            topic_prefix=self.name,
            include_schema_changes=False,
            skipped_operations="none",
            bigint_unsigned_handling_mode="precise",
            **source,
        )
        return Pipeline(self.folder, options, {**self.lake.options, **self.sink, **(sink or {})}, {"name": self.name})

    def deliver(self, sink: dict[str, Any] | None = None) -> Ended:
        """Runs up to the log's end."""
        ended = self.pipeline(sink).run("--once")
        assert ended.code == 0, ended.stderr
        return ended

    def table(self, name: str) -> Path:
        """The folder of a table."""
        return self.folder / "lake" / f"{self.name}.{self.name}.{name}"

    def assert_equal(self, names: Iterable[str] = ()) -> None:
        """A mirror has the source's rows; a changelog each change once, and the newest of each key come to the rows."""
        tables = columns_of(self.server, self.name)
        found = self._rows(tables)
        assert set(names) <= found.keys()
        for table, rows in found.items():
            what = difference(tables[table], at_source(self.server, self.name, table, tables[table]), rows)
            assert not what, f"{table}: {what}"

    def unequal(self) -> set[str]:
        """The tables whose rows in the lake do not come to those of the source."""
        tables = columns_of(self.server, self.name)
        return {
            table
            for table, rows in self._rows(tables).items()
            if difference(tables[table], at_source(self.server, self.name, table, tables[table]), rows)
        }

    def _rows(self, tables: dict[str, Types]) -> dict[str, Counter[Row]]:
        return self.lake.rows(tables)

    @property
    def lake(self) -> MirroredRows | LoggedRows:
        """What reads the tables."""
        lake = self._lake()
        if self.catalog is not None and isinstance(lake, IcebergTables):
            lake.named, lake.namespace = self.catalog
        return lake

    def _lake(self) -> MirroredRows | LoggedRows:
        place = self.folder, self.name, self.name
        if self.mode == "history":
            return IcebergVersions(*place) if self.format == "iceberg" else DeltaVersions(*place)
        if self.mode == "mirror":
            return IcebergMirror(*place) if self.format == "iceberg" else DeltaMirror(*place)
        keys = partial(keys_of, self.server, self.name)
        return IcebergChangelog(*place, keys) if self.format == "iceberg" else DeltaChangelog(*place, keys)
