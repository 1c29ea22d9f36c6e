"""The tables of lakes that histories are delivered to, and what they hold as rows."""

from __future__ import annotations

import logging
import shutil
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from random import Random
from typing import Any, ClassVar
from uuid import uuid4

from deltalake import DeltaTable
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.table import Table

from cdckit.tables.destinations import table_name
from cdckit_delta.reading import current_rows as current_rows_of_delta
from cdckit_iceberg.reading import current_rows as current_rows_of_iceberg
from histories.rows import Row, Types, canonical, in_form
from histories.settings import Setting
from histories.sinks import SHARD, Sink, logical
from histories.switches import VACUUM

BESIDE = "~changes"
"""What the name of a table has behind it whose changes wait for a mirror."""

log = logging.getLogger(__name__)


class Tables(Sink):
    """Tables of a lake.

    Args:
        folder: of the history.
        prefix: what the topics' names begin with.
        database: the source's.

    Attributes:
        setting: what has changed since the pipeline was made.
        mode: what the tables are.
        kind: the sink's type.
        sink: its options besides.
    """

    schema_changes: ClassVar[bool] = False
    mode: ClassVar[str]
    kind: ClassVar[str]
    sink: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, folder: Path, prefix: str, database: str) -> None:
        self.folder = folder / "lake"
        self.topics = f"{prefix}.{database}"
        self.setting = Setting(self.runner, self.kind)

    @property
    def options(self) -> dict[str, Any]:
        """The sink's options."""
        return self.setting.sink({"mode": self.mode, "path": str(self.folder), **self.sink})

    @abstractmethod
    def names(self) -> set[str]:
        """The tables that there are, by the names of the source's."""

    @abstractmethod
    def found(self, table: str) -> list[dict[str, Any]]:
        """All rows of a table; none where there is no table."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Removes one of these, as somebody does by hand."""

    @abstractmethod
    def vacuum(self) -> None:
        """Removes what the newest versions do not need, be it a moment old: nobody may write meanwhile."""

    def disturb(self, what: str, chance: Random) -> None:
        """Removes older versions at once, as nobody writes between two deliveries."""
        if what != VACUUM:
            super().disturb(what, chance)
        self.vacuum()


class Folders(Tables):
    """Delta tables, each a folder."""

    def paths(self) -> list[Path]:
        """The tables that there are."""
        return sorted(filter(has_version, self.folder.glob(f"{self.topics}.*")))

    def names(self) -> set[str]:
        """By the folders' names."""
        return {path.name.rpartition(".")[2] for path in self.paths() if not path.name.endswith(BESIDE)}

    def remove(self, name: str) -> None:
        """All at once: who writes meanwhile finds no folder."""
        away = self.folder.parent / f"away-{uuid4().hex}"
        (self.folder / f"{self.topics}.{name}").rename(away)
        shutil.rmtree(away)

    def found(self, table: str) -> list[dict[str, Any]]:
        """All rows of a table; none where there is no table."""
        path = self.folder / f"{self.topics}.{table}"
        return self.read(path) if path in self.paths() else []

    @abstractmethod
    def read(self, path: Path) -> list[dict[str, Any]]:
        """All rows of a table that is there."""


def has_version(path: Path) -> bool:
    """Whether a Delta table is there, which its folders come before."""
    return any((path / "_delta_log").glob("*.json"))


class DeltaTables(Folders):
    """Tables that the direct runner keeps."""

    kind: ClassVar[str] = "delta"

    def read(self, path: Path) -> list[dict[str, Any]]:
        """By delta-rs."""
        beside = path.with_name(path.name + BESIDE)
        rows = current_rows_of_delta(str(path)) if has_version(beside) else DeltaTable(path).to_pyarrow_table()
        found: list[dict[str, Any]] = rows.to_pylist()
        return found

    def vacuum(self) -> None:
        """Of files, and of the log."""
        for path in self.paths():
            table = DeltaTable(path)
            table.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False, full=True)
            table.alter.set_table_properties({"delta.logRetentionDuration": "interval 0 seconds"})
            table.create_checkpoint()
            table.cleanup_metadata()


class IcebergTables(Tables):
    """Tables that the direct runner keeps in a catalog, which is a SQLite file unless another is named."""

    kind: ClassVar[str] = "iceberg"
    namespace = "lake"
    named: Mapping[str, str] | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The sink's options."""
        place = {"warehouse": str(self.folder), "namespace": self.namespace}
        named = {f"catalog.{name}": value for name, value in self.properties.items()}
        return self.setting.sink({"mode": self.mode, **place, **named})

    @property
    def properties(self) -> dict[str, str]:
        """The catalog's."""
        if self.named is not None:
            return dict(self.named)
        return {"type": "sql", "uri": f"sqlite:///{self.folder.parent / 'catalog.db'}"}

    @property
    def catalog(self) -> Catalog:
        """The catalog as pyiceberg opens it."""
        return load_catalog("default", **self.properties, warehouse=f"file://{self.folder}")

    def table(self, name: str) -> Table:
        """The table of one of the source's."""
        return self.catalog.load_table((self.namespace, table_name(f"{self.topics}.{name}")))

    def names(self) -> set[str]:
        """By what the tables say that they are for; the namespace is there once the first one is."""
        catalog = self.catalog
        if not catalog.namespace_exists(self.namespace):
            return set()
        tables = (catalog.load_table(one) for one in catalog.list_tables(self.namespace) if one[-1][-9:] != "__changes")
        topics = [table.properties["cdckit.topic"] for table in tables]
        return {topic.removeprefix(f"{self.topics}.") for topic in topics if topic.startswith(f"{self.topics}.")}

    def found(self, table: str) -> list[dict[str, Any]]:
        """By pyiceberg."""
        if table not in self.names():
            return []
        name = ".".join(self.table(table).name())
        waits = self.catalog.table_exists(f"{name}__changes")
        found = current_rows_of_iceberg(self.catalog, name) if waits else self.table(table).scan().to_arrow()
        rows: list[dict[str, Any]] = found.to_pylist()
        return rows

    def remove(self, name: str) -> None:
        """From the catalog."""
        self.catalog.drop_table(self.table(name).name())

    def vacuum(self) -> None:
        """Of snapshots, and of all files that are then no table's: pyiceberg removes none."""
        catalog = self.catalog
        for name in catalog.list_tables(self.namespace) if catalog.namespace_exists(self.namespace) else ():
            table = catalog.load_table(name)
            if len(table.snapshots()) > 1:
                table.maintenance.expire_snapshots().older_than(datetime.now(UTC)).commit()
            needed = {*_files_of(table)}
            for path in filter(Path.is_file, Path(table.location().removeprefix("file://")).rglob("*")):
                if f"file://{path}" not in needed:
                    path.unlink()


def _files_of(table: Table) -> Iterator[str]:
    """All that a table needs, of every snapshot that it knows."""
    yield table.metadata_location
    yield from (entry.metadata_file for entry in table.metadata.metadata_log)
    for snapshot in table.snapshots():
        yield snapshot.manifest_list
        for manifest in snapshot.manifests(table.io):
            yield manifest.manifest_path
            yield from (entry.data_file.file_path for entry in manifest.fetch_manifest_entry(table.io))


class MirroredRows(Tables):
    """A table for each of the source's."""

    mode: ClassVar[str] = "mirror"

    def rows(self, tables: Mapping[str, Types]) -> dict[str, Counter[Row]]:
        """The tables' rows; those of shards are told apart by the key's own column."""
        return self._rows(tables, self.found)

    def _rows(
        self, tables: Mapping[str, Types], read: Callable[[str], list[dict[str, Any]]]
    ) -> dict[str, Counter[Row]]:
        found: dict[str, Counter[Row]] = {}
        for name, types in tables.items():
            rows = read(logical(name))
            if logical(name) != name:
                rows = [row for row in rows if row[SHARD] == f"{self.topics}.{name}"]
            found[name] = in_form(types, rows)
        return found


class DeltaMirror(MirroredRows, DeltaTables):
    """The direct runner's."""


class IcebergMirror(MirroredRows, IcebergTables):
    """The direct runner's."""


class Versions(MirroredRows):
    """A table with every version of each row, of which those without an end are the source's."""

    mode: ClassVar[str] = "history"

    def rows(self, tables: Mapping[str, Types]) -> dict[str, Counter[Row]]:
        """Those without an end."""
        return self._rows(tables, lambda table: [row for row in self.found(table) if row["__end_position"] is None])

    def rows_at(self, tables: Mapping[str, Types], position: str) -> dict[str, Counter[Row]]:
        """The rows as they were behind a position."""
        return self._rows(tables, lambda table: [row for row in self.found(table) if _is_valid(row, position)])


def _is_valid(row: Mapping[str, Any], position: str) -> bool:
    end = row["__end_position"]
    return bool(row["__position"] <= position) and (end is None or end > position)


class DeltaVersions(Versions, DeltaTables):
    """The direct runner's."""


class IcebergVersions(Versions, IcebergTables):
    """The direct runner's."""


Keys = Callable[[], Mapping[str, list[str]]]


class LoggedRows(Tables):
    """A table of changes for each of the source's, of which the newest of each key counts.

    Attributes:
        keys: gives the columns of each table's key; tables without one cannot be put together from what rows became.
    """

    mode: ClassVar[str] = "changelog"
    keys: Keys

    def rows(self, tables: Mapping[str, Types]) -> dict[str, Counter[Row]]:
        """What the changes come to.

        Raises:
            AssertionError: a change is there twice.
        """
        return {
            name: in_form(tables[name], self._newest(name, tables[name], key))
            for name, key in self.keys().items()
            if name in tables
        }

    def _newest(self, table: str, types: Types, key: list[str]) -> Iterable[dict[str, Any]]:
        """The rows that are there behind the newest change of each key."""
        newest: dict[Row, dict[str, Any]] = {}
        places = set()
        for row in sorted(self.found(logical(table)), key=itemgetter("__position")):
            if row["__table"] != table:
                continue
            assert row["__position"] not in places, f"{table}: the change at {row['__position']} is there twice"
            places.add(row["__position"])
            assert {*key} <= row.keys(), f"{table} has no column of {key} in the lake"
            identity = tuple(canonical(types[name], row[name]) for name in key)
            if row["__op"] == "t":
                newest.clear()
            elif row["__deleted"]:
                newest.pop(identity, None)
            else:
                newest[identity] = row
        return newest.values()


class DeltaChangelog(LoggedRows, DeltaTables):
    """The direct runner's."""

    def __init__(self, folder: Path, prefix: str, database: str, keys: Keys) -> None:
        super().__init__(folder, prefix, database)
        self.keys = keys


class IcebergChangelog(LoggedRows, IcebergTables):
    """The direct runner's."""

    def __init__(self, folder: Path, prefix: str, database: str, keys: Keys) -> None:
        super().__init__(folder, prefix, database)
        self.keys = keys
