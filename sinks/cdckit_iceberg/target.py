"""One Iceberg table, as pyiceberg reads and writes it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, Self

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.exceptions import CommitFailedException, TableAlreadyExistsError
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH

from cdckit.tables.alterations import NOTE as DUE
from cdckit.tables.destinations import table_name
from cdckit.tables.lake.arrow_types import arrow_schema, commented
from cdckit.tables.lake.pyarrow_rows import schema_of
from cdckit.tables.lake.rewriting import Rewriting
from cdckit.tables.lake.rewritten import rewritten
from cdckit.tables.lake.target import OURS, PLACE, LakeTarget, Merge, Rows
from cdckit.tables.layout import END
from cdckit.tables.segments import Scope
from cdckit.tables.target import NO_COMMENTS, TOPIC, BatchId, Columns, Step
from cdckit_iceberg import altering
from cdckit_iceberg.branches import Branch
from cdckit_iceberg.catalog import LakeCatalog
from cdckit_iceberg.changing import KeyChanges, PlaceChanges, Ranges, Removal, has_nulls
from cdckit_iceberg.faults import FAULTS
from cdckit_iceberg.files import FileWriter, batches_of
from cdckit_iceberg.maintenance import compact, expire
from cdckit_iceberg.partitions import partition_spec, unused
from cdckit_iceberg.sorting import sort_order
from cdckit_iceberg.types import comment_of, iceberg_schema, type_text
from cdckit_iceberg.version import APPLICATION, BATCH, IcebergVersion, arrow_schema_of, last_before

if TYPE_CHECKING:
    from arro3.core.types import ArrowStreamExportable

log = logging.getLogger("cdckit.tables")

_COMMENT = "comment"
"""The property that says what a table is for, as Spark and Hive name it."""


class Changes(Protocol):
    """What becomes of rows that are there."""

    def may_be_in(self, file: DataFile) -> bool:
        """Whether a file may have rows that change."""

    def left(self, rows: pa.Table) -> pa.Table:
        """Those of a file's rows that stay, as they are then; the same table where that is all of it, as it is."""

    def put(self) -> pa.Table:
        """The rows that come, once all files were looked through."""


class OneTry(Transaction):
    """A transaction that another commit makes fail: what it writes was judged by the version that it begins with."""

    def commit_transaction(self) -> Table:
        """Commits once.

        Raises:
            CommitFailedException: somebody else has committed meanwhile; what was written is removed.
        """
        producers, self._snapshot_producers = self._snapshot_producers, []
        try:
            return super().commit_transaction()
        except CommitFailedException:
            for producer in producers:
                producer._clean_all_uncommitted()
            raise


class IcebergTarget(LakeTarget):
    """One table.

    Args:
        catalog: has it.
        topic: the topic that the table is for.
        suffix: what its name has behind the topic's.
    """

    folds_case = True  # Spark and Hive do not read a table that has two such columns

    def __init__(self, catalog: LakeCatalog, topic: str, suffix: str = "") -> None:
        self.topic = topic
        self.identifier = (*catalog.namespace, table_name(topic) + suffix)
        self._catalog = catalog
        self._branch = Branch(catalog.config.branch)
        self._open: Table | None = None

    def __str__(self) -> str:
        return ".".join(self.identifier)

    def beside(self, suffix: str) -> Self:
        """A table of the same topic in the same namespace; `~` in a suffix is `__` here."""
        return type(self)(self._catalog, self.topic, suffix.replace("~", "__"))

    @property
    def table(self) -> Table:
        """The table as this process has seen it last."""
        if self._open is None:
            self._open = self._catalog.tables.load_table(self.identifier)
        return self._open

    def exists(self) -> bool:
        """Whether there is such a table."""
        return self._open is not None or self._catalog.tables.table_exists(self.identifier)

    def is_there(self, identity: str | None = None) -> bool:
        """Whether there is such a table, or the one of an identity, looked at anew; true where that cannot be seen."""
        try:
            if identity is not None:
                self._open = None
                return self.exists() and self.identity() == identity
            return self._catalog.tables.table_exists(self.identifier)
        except FAULTS:
            return True

    def identity(self) -> str | None:
        """Its UUID, which tables of the format's first version need not have."""
        found = self.table.metadata
        return None if found.format_version == 1 else str(found.table_uuid)

    def now(self) -> IcebergVersion | None:
        """What this process has seen last."""
        return self._now() if self.exists() else None

    def _now(self) -> IcebergVersion:
        return IcebergVersion(self._metadata, self.table.io)

    @property
    def _metadata(self) -> TableMetadata:
        """The table's, as they are on the branch."""
        return self._branch.seen(self.table.metadata)

    def expect(self, batch: BatchId) -> None:
        """Sees that the branch is there, or may be made."""
        if self.exists():
            self._branch.require(self.table.metadata, batch, self)

    def at_batch(self, application: str, batch: int, applied: int | None = None) -> IcebergVersion | None:
        """By the numbers that snapshots carry, as far back as they are kept."""
        if not self.exists():
            return None
        found = last_before(self._metadata, application, batch, applied)
        return None if found is None else IcebergVersion(self._metadata, self.table.io, found)

    def version_of(self, application: str) -> int | None:
        """The number of the last batch that the table has of an application; None where it has none."""
        return self._branch.version_of(self.table.metadata, application) if self.exists() else None

    # -- columns and notes

    def columns(self) -> Columns:
        """The table's columns; none where there is no table yet."""
        fields = self.table.schema().fields if self.exists() else ()
        return {field.name: type_text(field.field_type) for field in fields}

    def _columns(self) -> pa.Schema:
        return arrow_schema_of(self.table.metadata)

    def create(self, columns: Columns, notes: Mapping[str, str], comments: Mapping[str, str] = NO_COMMENTS) -> None:
        """Makes the table, with notes about it, and comments."""
        schema = iceberg_schema(pa.schema(commented(arrow_schema(columns), self._catalog.docs(comments))))
        terms = self._catalog.config.terms
        spec = partition_spec(schema, terms)
        properties = {f"{OURS}{name}": text for name, text in {TOPIC: self.topic, **notes}.items()}
        self._catalog.make_namespace()
        try:
            self._open = self._catalog.tables.create_table(
                self.identifier,
                schema,
                partition_spec=spec,
                sort_order=sort_order(schema, self._catalog.config.clustered),
                properties={**_described(comments), **self._catalog.table_properties, **properties},
            )
        except TableAlreadyExistsError:
            self._open = None
        if left := unused(schema, spec, terms):
            log.info("table %s: is not partitioned by %s, which it lacks or has otherwise", self, ", ".join(left))
        self.check_made(notes)

    def add_columns(self, columns: Columns) -> None:
        """Adds columns at the end; earlier rows have null there."""
        self.alter([["add", name, kind] for name, kind in columns.items()])

    def notes(self) -> dict[str, str]:
        """The table's properties that begin with `cdckit.`, without that."""
        found = self.table.properties.items()
        return {name.removeprefix(OURS): text for name, text in found if name.startswith(OURS)}

    def note(self, notes: Mapping[str, str]) -> None:
        """Keeps notes as properties of the table."""
        self._commit(lambda change: _set(change, notes))

    def alter(self, steps: Iterable[Step]) -> None:
        """Takes all steps in one commit; files are written anew where rows get other values."""
        made = Rewriting(self.columns())
        for step in steps:
            made.take(step)
        wanted = schema_of(made.columns)
        docs = self._catalog.docs({name: text for name, text in made.comments.items() if name})
        columns = altering.Columns.of(made, wanted, self.table.schema(), docs)
        filled = set(wanted.names) - set(columns.kept.values()) - set(made.empty)
        before = self._now()

        def change(change: Transaction) -> None:
            if columns.changes(self.table.schema()):
                columns.take(change, self, beside=self._beside())
            if filled and before.has_rows:
                rows = (rewritten(made, batch, wanted) for batch in before.scan(before.schema().names))
                self._overwrite(change, rows, {})
            _set(change, {DUE: "[]"})
            if "" in made.comments:
                change.set_properties({_COMMENT: made.comments[""] or ""})

        self._commit(change)
        log.info("table %s: has the columns %s now", self, ", ".join(f"{n} {kind}" for n, kind in made.columns.items()))

    def _beside(self) -> str:
        """The branch whose rows a change of columns here would harm, since a table's branches have its columns."""
        if self._branch.is_main or not IcebergVersion(self.table.metadata, self.table.io).has_rows:
            return ""
        return MAIN_BRANCH

    # -- rows

    def candidates(self, names: Iterable[str], column: str, values: Collection[Any]) -> Iterator[pa.RecordBatch]:
        """Some columns of the rows of the files in which a column may have one of some values."""
        now, ranges = self._now(), Ranges(self.table.schema(), column, values)
        tasks = [task for task in now.tasks() if ranges.may_be_in(task.file)]
        return now.rows(tasks, tuple(dict.fromkeys(names)))

    def without_end(self, column: str | None = None, values: Collection[Any] = ()) -> Iterator[pa.RecordBatch]:
        """The versions of a history that have no end, of the files in which a column may have one of some values."""
        now, schema = self._now(), self.table.schema()
        ranges = None if column is None else Ranges(schema, column, values)
        tasks = [task for task in now.tasks() if has_nulls(schema, END, task.file)]
        tasks = [task for task in tasks if ranges is None or ranges.may_be_in(task.file)]
        for batch in now.rows(tasks, tuple(self._columns().names)):
            yield batch.filter(pc.is_null(batch.column(END)))

    def append(self, rows: ArrowStreamExportable, batch: BatchId) -> None:
        """Adds rows in one snapshot that carries the batch's number."""

        def change(change: Transaction) -> None:
            writer = FileWriter(change)
            merges = change.table_metadata.properties.get("commit.manifest-merge.enabled") == "true"
            update = self._branch.update(change, _told(batch))
            with update.merge_append() if merges else update.fast_append() as snapshot:
                for file in writer.written(batches_of(rows)):
                    snapshot.append_data_file(file)

        self._commit(change, batch)

    def replace(self, rows: Rows, batch: BatchId) -> None:
        """Puts rows, and their columns, in the place of all others, in one commit."""
        told = {column.name: comment_of(column) for column in rows.schema}
        wanted = pa.schema(commented(rows.schema, self._catalog.docs(told)))

        def change(change: Transaction) -> None:
            columns = altering.Columns.replaced(wanted, self.table.schema())
            if columns.changes(self.table.schema()):
                columns.take(change, self, beside=self._beside())
            self._overwrite(change, batches_of(rows), _told(batch))

        self._commit(change, batch)

    def merge(self, merge: Merge, batch: BatchId) -> None:
        """Copies the files that have rows of the keys, without these rows."""
        schema = self._columns()
        typed = [
            column.cast(schema.field(name).type) if name in schema.names else column
            for name, column in zip(merge.changes.schema.names, merge.changes.columns, strict=True)
        ]
        changes = pa.table(typed, names=merge.changes.schema.names)
        self._change(KeyChanges(replace(merge, changes=changes), self.table.schema()), batch)

    def exchange(self, put: pa.Table, gone: Sequence[str], batch: BatchId) -> None:
        """Copies the files that have rows of the positions, without these rows."""
        self._change(PlaceChanges(put, gone, self.table.schema()), batch)

    def delete(self, scopes: Collection[Scope], batch: BatchId) -> None:
        """Copies the files that have rows which go, without these rows."""
        self._change(Removal(scopes, self._columns().empty_table()), batch)

    def clear(self, batch: BatchId) -> None:
        """Removes all files."""
        self._commit(lambda change: self._overwrite(change, (), _told(batch)), batch)

    def maintain(self) -> None:
        """Puts small files together, and forgets the versions that the retention time does not need."""
        self._commit(lambda change: compact(change, self._now(), self._branch))
        expire(self.table)

    def _change(self, changes: Changes, batch: BatchId) -> None:
        """Puts copies of files in their place that lack what changes, and adds rows, in one snapshot."""
        now = self._now()
        names = tuple(self._columns().names)

        def left() -> Iterator[pa.Table]:
            for task in now.tasks():
                if not changes.may_be_in(task.file):
                    continue
                rows = pa.Table.from_batches(list(now.rows([task], names)), self._columns())
                kept = changes.left(rows)
                if kept is not rows:
                    gone.append(task.file)
                    yield kept
            yield changes.put()

        def change(change: Transaction) -> None:
            writer = FileWriter(change)
            files = list(writer.copied(left()))
            with self._branch.update(change, _told(batch)).overwrite() as snapshot:
                writer.exchange(snapshot, gone, files)

        gone: list[DataFile] = []
        self._commit(change, batch)

    def _overwrite(self, change: Transaction, rows: Iterable[pa.RecordBatch], told: dict[str, str]) -> None:
        gone = [task.file for task in self._now().tasks()]
        writer = FileWriter(change)
        with self._branch.update(change, told).overwrite() as snapshot:
            writer.exchange(snapshot, gone, writer.written(rows))

    def _commit(self, make: Callable[[Transaction], None], batch: BatchId | None = None) -> None:
        """Commits what is made of the version that this process has seen last; else it looks at the table anew."""
        change = OneTry(self.table)
        try:
            make(change)
            if batch is not None:
                change.set_properties(self._branch.noted(batch))
            self._open = change.commit_transaction()
        except BaseException:
            self._open = None
            raise


def _described(comments: Mapping[str, str]) -> dict[str, str]:
    return {_COMMENT: comments[""]} if "" in comments else {}


def _set(change: Transaction, notes: Mapping[str, str]) -> None:
    change.set_properties({f"{OURS}{name}": text for name, text in notes.items()})


def _told(batch: BatchId) -> dict[str, str]:
    """What a snapshot's summary says of a batch: its number, and where in the source's log it ends."""
    noted = {PLACE: batch.place} if batch.place else {}
    return {APPLICATION: batch.application, BATCH: str(batch.number), **noted}
