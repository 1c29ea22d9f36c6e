"""Where a topic's table lives, and what delta-rs is asked to do with it."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from arro3.core import RecordBatch, Table
from deltalake import DeltaTable, Schema, write_deltalake
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction

from cdckit.errors import SinkError
from cdckit.tables.allocators import load_arrow
from cdckit.tables.alterations import NOTE as DUE
from cdckit.tables.delta.checkpoints import checkpoint
from cdckit.tables.delta.columns import columns_of
from cdckit.tables.delta.commits import committed_as, kept_up
from cdckit.tables.delta.features import MAPPING_MODE, left_to_others, list_mapping, maps_names
from cdckit.tables.delta.passing import refuses_rows
from cdckit.tables.delta.placing import Clustering, Placing, check_partitions
from cdckit.tables.delta.rounding import files_of, told_of
from cdckit.tables.delta.sql import any_of, one_of, quoted
from cdckit.tables.delta.version import DeltaVersion, at_batch
from cdckit.tables.destinations import folder_name
from cdckit.tables.lake.arrow_types import COMMENT, arrow_schema, commented
from cdckit.tables.lake.rewriting import Rewriting
from cdckit.tables.lake.target import OURS, LakeTarget, Merge, Rows
from cdckit.tables.layout import END
from cdckit.tables.segments import Scope
from cdckit.tables.target import NO_COMMENTS, TOPIC, BatchId, Columns, Step

if TYPE_CHECKING:
    import pyarrow as pa
    from arro3.core import Schema as ArrowSchema
    from arro3.core.types import ArrowArrayExportable, ArrowStreamExportable
    from deltalake.transaction import RemoveAction  # which earlier releases lack

    from cdckit.tables.delta.data_files import DeltaFiles
    from cdckit.tables.lake.data_files import DataFile

log = logging.getLogger("cdckit.tables")

_ALTERATION = "cdckit/alteration"
"""The application of the commits that write all files anew."""
_FILLING = "cdckit/filling"
"""The application of those that give a column a value, by themselves."""
_ALTERING = "altering"
"""The note of the number that such a commit has, or is to have."""
_NEEDS_MAPPING = re.compile(r"[ ,;{}()\n\t=]")
"""What a column's name may hold only where Delta maps names to files' own."""
_ANY = Placing()


class DeltaTarget(LakeTarget):
    """One Delta table.

    Args:
        place: the folder or URL that has all tables.
        storage: how an object store is reached.
        topic: the topic that the table is for.
        placing: how its rows are put into files.
    """

    folds_case = True

    def __init__(self, place: str, storage: Mapping[str, str], topic: str, placing: Placing = _ANY) -> None:
        self.topic = topic
        self._placing = placing
        self._clustering = Clustering(placing.cluster_by)
        self.path = f"{place.rstrip('/')}/{folder_name(topic)}"
        self._storage = dict(storage)
        self._open: DeltaTable | None = None
        self._newest: tuple[int, int, int] | None = None

    def __str__(self) -> str:
        return self.path

    def beside(self, suffix: str) -> Self:
        """A table of the same topic, in a folder whose name has something behind this one's, with its properties."""
        return self.at(self.path + suffix, self._storage, self.topic, Placing(properties=self._placing.properties))

    @classmethod
    def at(cls, path: str, storage: Mapping[str, str], topic: str, placing: Placing = _ANY) -> Self:
        """A table in a folder, or below a URL, of any name."""
        found = cls("", storage, topic, placing)
        found.path = path
        return found

    @property
    def table(self) -> DeltaTable:
        """The table as this process has seen it last."""
        if self._open is None:
            self._open = DeltaTable(self.path, storage_options=self._storage or None)
            self._forget_checksum()
        return self._open

    def exists(self) -> bool:
        """Whether there is such a table."""
        return self._open is not None or DeltaTable.is_deltatable(self.path, self._storage or None)

    def is_there(self, identity: str | None = None) -> bool:
        """Whether there is such a table, or the one of an identity, looked at anew; true where that cannot be seen."""
        try:
            if identity is not None:
                self._open = None
                return self.exists() and self.identity() == identity
            return DeltaTable.is_deltatable(self.path, self._storage or None)
        except (DeltaError, OSError):
            return True

    def identity(self) -> str | None:
        """The id that its first commit has given it."""
        return str(self.table.metadata().id)

    def keep_seen(self) -> None:
        """Remembers the newest commit that was seen, where the table is on this machine's disk."""
        self._newest = None if self._open is None or "://" in self.path else self._stat(self._open.version())

    def _look_at_log(self) -> None:
        """Looks at the table anew where that commit is no longer as it was: by its version another one may go on."""
        seen = self._newest
        if self._open is not None and seen is not None and self._stat(seen[0]) != seen:
            self._open = self._newest = None

    def _stat(self, version: int) -> tuple[int, int, int] | None:
        try:
            found = Path(self.path, "_delta_log", f"{version:020}.json").stat()
        except OSError:
            return None
        return version, found.st_ino, found.st_mtime_ns

    def refresh(self) -> None:
        """Makes what others have committed since count from here on."""
        self._look_at_log()
        if self._open is not None:
            self._open.update_incremental()
            self._forget_checksum()

    def _forget_checksum(self) -> None:
        """Removes the checksum that Spark keeps beside its note of the last checkpoint, which is put anew here."""
        if "://" not in self.path:
            Path(self.path, "_delta_log", "._last_checkpoint.crc").unlink(missing_ok=True)

    @property
    def bytes(self) -> int:
        """How large the table's files are together."""
        return sum(Table.from_arrow(self.table.get_add_actions(flatten=True)).column("size_bytes").to_pylist())

    def expect(self, batch: BatchId) -> None:
        """Completes what a process has left that was killed while it made the table, or an earlier version of this."""
        self._look_at_log()
        if self.exists():
            list_mapping(self.table)

    def now(self) -> DeltaVersion | None:
        """The version that this process has seen last."""
        return DeltaVersion(self.table) if self.exists() else None

    def at_batch(self, application: str, batch: int, applied: int | None = None) -> DeltaVersion | None:
        """By the numbers that versions carry; this process sees that version from here on."""
        found = at_batch(self.table, application, batch, applied) if self.exists() else None
        return None if found is None else DeltaVersion(found)

    def version_of(self, application: str) -> int | None:
        """The number of the last batch that the table has of an application; None where it has none."""
        return self.table.transaction_version(application) if self.exists() else None

    def columns(self) -> Columns:
        """The table's columns; none where there is no table yet."""
        return columns_of(self.table) if self.exists() else {}

    def create(self, columns: Columns, notes: Mapping[str, str], comments: Mapping[str, str] = NO_COMMENTS) -> None:
        """Makes the table, with notes about it, and comments, all in one commit."""
        ours = {f"{OURS}{name}": text for name, text in {TOPIC: self.topic, **notes}.items()}
        mapped = {MAPPING_MODE: "name"} if any(map(_NEEDS_MAPPING.search, columns)) else {}
        self._open = DeltaTable.create(
            self.path,
            Schema.from_arrow(commented(arrow_schema(columns), comments)),
            mode="ignore",
            description=comments.get(""),
            partition_by=self._placing.partitions(self, columns),
            configuration={**self._placing.properties, **mapped, **ours},
            storage_options=self._storage or None,
            raise_if_key_not_exists=False,
        )
        list_mapping(self._open)
        self.check_made(notes)

    def _check_columns(self, columns: Iterable[str]) -> None:
        """Sees that the table's columns can become these."""
        if maps_names(self.table):
            raise SinkError(
                f"table {self}: its columns change, and files have other names for them ({MAPPING_MODE}), which "
                "delta-rs does not alter: 'sink.type: spark' does; or 'schema.evolution: ignore' leaves them as they "
                "are"
            )
        for name in columns:
            if _NEEDS_MAPPING.search(name):
                raise SinkError(
                    f"table {self}: column {name!r} needs Delta's column mapping, which delta-rs gives to new tables "
                    "alone: name it otherwise on its way here (ReplaceField), or keep the table with 'sink.type: spark'"
                )

    def add_columns(self, columns: Columns) -> None:
        """Adds columns at the end; earlier rows have null there."""
        self._check_columns(columns)
        self.table.alter.add_columns([*Schema.from_arrow(arrow_schema(columns)).fields])

    def comment(self, column: str, text: str | None) -> None:
        """Says what a column is for, or the table ("")."""
        if column:
            self.table.alter.set_column_metadata(column, {"comment": text or ""})
        else:
            self.table.alter.set_table_description(text or "")

    def notes(self) -> dict[str, str]:
        """The table's properties that begin with `cdckit.`, without that."""
        found = self.table.metadata().configuration
        return {name.removeprefix(OURS): text for name, text in found.items() if name.startswith(OURS)}

    def note(self, notes: Mapping[str, str]) -> None:
        """Keeps notes as properties of the table."""
        given = {f"{OURS}{name}": text for name, text in notes.items()}
        self.table.alter.set_table_properties(given, raise_if_not_exists=False)

    # -- alterations

    def alter(self, steps: Iterable[Step]) -> None:
        """Takes all steps: columns are added where that is all, else all files are written anew in one commit."""
        made = Rewriting(self.columns())
        for step in steps:
            made.take(step)
        notes = {DUE: "[]"}
        if made.rewrites:
            self._rewrite_once(made)
            notes[_ALTERING] = ""
        elif made.added:
            self.add_columns(made.added)
        self._tell(made)
        present = self.columns()
        for name, text in made.comments.items():
            if not name or name in present:
                self.comment(name, text)
        self.note(notes)

    def _tell(self, made: Rewriting) -> None:
        log.info("table %s: has the columns %s now", self, ", ".join(f"{n} {kind}" for n, kind in made.columns.items()))

    def _rewrite_once(self, made: Rewriting) -> None:
        number = self.notes().get(_ALTERING)
        if not number:
            number = str((self.version_of(_ALTERATION) or 0) + 1)
            self.note({_ALTERING: number})
        if (self.version_of(_ALTERATION) or 0) >= int(number):
            return
        self._check_columns(made.columns)
        check_partitions(self.table, self.path, made.columns)
        self._rewrite(made, BatchId(_ALTERATION, int(number)))

    def _rewrite(self, made: Rewriting, once: BatchId) -> None:
        load_arrow()
        from cdckit.tables.delta.rewriting import rows_anew  # noqa: PLC0415 - few changes of columns need pyarrow

        with rows_anew(made, DeltaVersion(self.table)) as rows:
            self._overwrite(rows, once)

    def fill(self, name: str, text: str) -> bool:
        """Gives all rows a value in a column: all files are written anew in one commit."""
        made = Rewriting(self.columns())
        made.take(["fill", name, text])
        self._rewrite(made, BatchId(_FILLING, (self.version_of(_FILLING) or 0) + 1))
        return True

    # -- rows

    def candidates(self, names: Iterable[str], column: str, values: Collection[Any]) -> Iterator[pa.RecordBatch]:
        """Some columns of the rows in which a column has one of some values, and of others of the same files."""
        return DeltaVersion(self.table).scan(names, one_of(column, values))

    def without_end(self, column: str | None = None, values: Collection[Any] = ()) -> Iterator[pa.RecordBatch]:
        """The versions of a history that have no end, in which a column has one of some values."""
        wanted = "true" if column is None else one_of(column, values)
        return DeltaVersion(self.table).scan(self.schema().names, f"{quoted(END)} is null and {wanted}")

    def refuses_rows(self, error: Exception) -> bool:
        """As delta-rs tells them."""
        return refuses_rows(error)

    def refused(self, rows: Iterable[ArrowArrayExportable]) -> Mapping[str, str]:
        """By what the table asks of rows."""
        from cdckit.tables.delta.refused import refused_rows  # noqa: PLC0415 - it loads pyarrow, as Spark has done

        return refused_rows(self.table, rows)

    def append(self, rows: ArrowStreamExportable, batch: BatchId) -> None:
        """Adds rows in one commit that carries the batch's number."""
        self._write(rows, batch, "append")

    def _write(
        self,
        rows: ArrowStreamExportable,
        batch: BatchId,
        mode: Literal["append", "overwrite"],
        schema_mode: Literal["overwrite"] | None = None,
    ) -> None:
        with told_of(self.table, rows) as (told, files):
            write_deltalake(
                self.table,
                told,
                mode=mode,
                schema_mode=schema_mode,
                writer_properties=files,
                commit_properties=committed_as(batch),
                post_commithook_properties=kept_up(self.table),
            )

    def append_batches(self, schema: ArrowSchema, rows: Iterator[RecordBatch], batch: BatchId) -> None:
        """Adds rows, in files of this process's own where it puts them there."""
        if not self.puts_files:
            super().append_batches(schema, rows, batch)
            return
        from cdckit.tables.delta.local_files import put_files  # noqa: PLC0415 - mirrors have no need of it

        files = put_files(Path(self.path), schema, rows, self.table.metadata().configuration)
        self.append_files(files, batch)

    @property
    def files(self) -> DeltaFiles:
        """Its data files."""
        from cdckit.tables.delta.data_files import DeltaFiles  # noqa: PLC0415 - its libraries take memory

        return DeltaFiles(self.path, self._storage, self._placing.indexed)

    @property
    def takes_files(self) -> bool:
        """Whether a file needs nothing but its rows: no partitions, other names of columns, checks of values."""
        return self.exists() and left_to_others(self.table) is None

    @property
    def puts_files(self) -> bool:
        """Whether the table is on a disk, and a file of it needs nothing but its rows."""
        return "://" not in self.path and self.takes_files

    def append_files(self, files: Sequence[DataFile], batch: BatchId) -> None:
        """Adds data files in one commit that carries the batch's number."""
        added: list[AddAction | RemoveAction] = [
            AddAction(one.name, one.size, {}, one.written_ms, True, one.statistics) for one in files
        ]
        table = self.table
        table.create_write_transaction(
            added,
            "append",
            table.schema(),
            commit_properties=committed_as(batch),
            post_commithook_properties=kept_up(table),
        )
        self.refresh()  # it knows no more than before
        if checkpoint(table):
            self._open = None  # it goes by an earlier one

    def replace(self, rows: Rows, batch: BatchId) -> None:
        """Puts rows, and their columns, in the place of all others, in one commit."""
        if rows.schema != self.schema():
            self._check_columns(rows.schema.names)
            check_partitions(self.table, self.path, rows.schema.names)
        self._overwrite(rows, batch)

    def _overwrite(self, rows: Rows, batch: BatchId) -> None:
        before = self.schema()
        differs = rows.schema != before or (not maps_names(self.table) and _comments(rows.schema) != _comments(before))
        self._write(rows, batch, "overwrite", "overwrite" if differs else None)

    def merge(self, merge: Merge, batch: BatchId) -> None:
        """By Delta's MERGE."""
        from cdckit.tables.delta.merging import merged  # noqa: PLC0415 - its rows are pyarrow's

        merged(self.table, merge, batch)

    def exchange(self, put: pa.Table, gone: Sequence[str], batch: BatchId) -> None:
        """By Delta's MERGE, whose key is the position."""
        from cdckit.tables.delta.merging import exchanged  # noqa: PLC0415 - its rows are pyarrow's

        exchanged(self.table, put, gone, batch)

    def delete(self, scopes: Collection[Scope], batch: BatchId) -> None:
        """Removes the rows that have all values of one of some scopes, in one commit."""
        files = files_of(self.table)
        self.table.delete(any_of(scopes), writer_properties=files, commit_properties=committed_as(batch))

    def clear(self, batch: BatchId) -> None:
        """Removes all rows in one commit."""
        self.table.delete("true", commit_properties=committed_as(batch))

    def maintain(self) -> None:
        """Puts small files together, or clusters the rows, and removes files that no kept version needs."""
        if maps_names(self.table):
            return  # delta-rs does not
        self._clustering.compact(self.table)
        self.table.vacuum(dry_run=False)
        self.table.cleanup_metadata()


def _comments(schema: pa.Schema) -> list[bytes]:
    return [(field.metadata or {}).get(COMMENT, b"") for field in schema]
