"""What becomes of a table's columns where its source's change: most of it without touching a file.

Iceberg numbers columns: one that gets another name, a wider type, or goes, is told in the metadata alone. Files are
written anew, in the same commit, where rows have other values than before: in a column that came with a value, and
where a type becomes one that Iceberg does not widen it to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.table import Transaction
from pyiceberg.table.metadata import TableMetadata

from cdckit import SinkError
from cdckit.tables.lake.rewriting import Rewriting
from cdckit_iceberg.sorting import unsort
from cdckit_iceberg.types import comment_of, iceberg_type, promotes


@dataclass(frozen=True, slots=True)
class Columns:
    """What a table's columns become.

    Attributes:
        wanted: all columns.
        kept: those that go on, by the name that each has had.
        comments: new ones of columns.
    """

    wanted: pa.Schema
    kept: Mapping[str, str]
    comments: Mapping[str, str | None]

    @classmethod
    def of(cls, made: Rewriting, wanted: pa.Schema, before: Schema, comments: Mapping[str, str]) -> Columns:
        """Those behind an alteration; a column whose values change is a new one."""
        types = {field.name: field.field_type for field in before.fields}
        kept = {}
        for column in wanted:
            source = made.source(column.name)
            same = source is not None and not made.recomputes(column.name)
            if same and source is not None and promotes(types[source], iceberg_type(column.type)):
                kept[source] = column.name
        return cls(wanted, kept, comments)

    @classmethod
    def replaced(cls, wanted: pa.Schema, before: Schema) -> Columns:
        """Those of rows that come in the place of all others: columns of one name and type go on.

        Comments are those in the metadata of what is wanted.
        """
        types = {field.name: field.field_type for field in before.fields}
        kept = {
            column.name: column.name
            for column in wanted
            if column.name in types and promotes(types[column.name], iceberg_type(column.type))
        }
        docs = {field.name: field.doc for field in before.fields if field.name in kept}
        told = {column.name: comment_of(column) for column in wanted}
        return cls(wanted, kept, {name: text for name, text in told.items() if (text or "") != (docs.get(name) or "")})

    def changes(self, before: Schema) -> bool:
        """Whether the table has others."""
        same = {field.name: field.name for field in before.fields} == self.kept and len(self.wanted) == len(self.kept)
        return not same or bool(self.comments) or any(self._retyped(before))

    def _retyped(self, before: Schema) -> Iterable[str]:
        types = {field.name: field.field_type for field in before.fields}
        for old, new in self.kept.items():
            if types[old] != iceberg_type(self.wanted.field(new).type):
                yield old

    def take(self, change: Transaction, target: object, beside: str = "") -> None:
        """Gives a table these columns, with a transaction.

        Args:
            change: the transaction.
            target: the table's name.
            beside: another branch that has rows; "": there is none.

        Raises:
            SinkError: it is partitioned by one that goes, or the other branch's rows would lose their values.
        """
        before = change.table_metadata.schema()
        self._check(change.table_metadata, target)
        if beside:
            self._check_beside(before, target, beside)
        unsort(change, {field.field_id for field in before.fields if field.name not in self.kept})
        with change.update_schema(allow_incompatible_changes=True) as update:
            for field in before.fields:
                if field.name not in self.kept:
                    update.delete_column((field.name,))
            for old in self._retyped(before):
                kind = iceberg_type(self.wanted.field(self.kept[old]).type)
                update.update_column((old,), field_type=kind)
            for old, new in self.kept.items():
                if old != new:
                    update.rename_column((old,), new)
        with change.update_schema(allow_incompatible_changes=True) as update:
            added = [column for column in self.wanted if column.name not in self.kept.values()]
            for column in added:
                update.add_column((column.name,), iceberg_type(column.type))
        self._comment(change)

    def _comment(self, change: Transaction) -> None:
        present = {field.name for field in change.table_metadata.schema().fields}
        told = {name: text for name, text in self.comments.items() if name in present}
        if told:
            with change.update_schema() as update:
                for name, text in told.items():
                    update.update_column((name,), doc=text or "")

    def _check(self, metadata: TableMetadata, target: object) -> None:
        numbers = {field.source_id for field in metadata.spec().fields}
        for field in metadata.schema().fields:
            if field.field_id in numbers and field.name not in self.kept:
                raise SinkError(
                    f"table {target}: it is partitioned by column '{field.name}', which goes or gets other values: "
                    "give the table another partitioning first, or leave the column as it is",
                    number="CDC4401",
                )

    def _check_beside(self, before: Schema, target: object, beside: str) -> None:
        """A column that is made anew has no values on a branch whose files are not written anew with it."""
        made = {column.name for column in self.wanted} - set(self.kept.values())
        for field in before.fields:
            if field.name in made:
                raise SinkError(
                    f"table {target}: column '{field.name}' gets a type for which its values are written anew, and on "
                    f"branch '{beside}' they would be lost, as all branches have the table's columns: publish the "
                    f"branch, have the pipeline write to '{beside}' (sink.branch, cdc offsets keep FILE) until the "
                    "change is there, drop the branch, and come back to it",
                    number="CDC4401",
                )
