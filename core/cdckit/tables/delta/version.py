"""Versions of Delta tables by the batches that they have, whichever program has written them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from deltalake import DeltaTable

from cdckit.tables.allocators import load_arrow
from cdckit.tables.lake.target import Version

if TYPE_CHECKING:
    import pyarrow as pa


class DeltaVersion(Version):
    """One version.

    Args:
        table: the table, which stays at that version while this is used.
    """

    def __init__(self, table: DeltaTable) -> None:
        self._table = table

    @property
    def number(self) -> int:
        """The version."""
        return int(self._table.version())

    @property
    def has_rows(self) -> bool:
        """Whether there are files."""
        return bool(self._table.file_uris())

    def schema(self) -> pa.Schema:
        """Its columns as Arrow has them."""
        load_arrow()
        from cdckit.tables.delta.scanning import schema_of  # noqa: PLC0415 - what is only written needs no pyarrow

        return schema_of(self._table)

    def scan(self, names: Iterable[str], where: str = "true") -> Iterator[pa.RecordBatch]:
        """Some columns of its rows, or of those for which a condition holds, some thousand at a time."""
        load_arrow()
        from cdckit.tables.delta.scanning import scan  # noqa: PLC0415 - what is only written needs no pyarrow

        return scan(self._table, names, where)


def at_batch(table: DeltaTable, application: str, batch: int, applied: int | None = None) -> DeltaTable | None:
    """A table as it was before any later batch; None: it was not there yet.

    Args:
        table: the table, which is brought there.
        application: what counts the batches; parts of one that have commits of their own have `/1`, `/2` … behind it.
        batch: the number of the last one that it may have.
        applied: of a mirror, the last version of the changes beside it that it may have; None: any.
    """
    while _is_behind(table, application, batch, applied):
        if table.version() == 0:
            return None
        table.load_as_version(table.version() - 1)
    return table


def _is_behind(table: DeltaTable, application: str, batch: int, applied: int | None) -> bool:
    if applied is not None and (table.transaction_version(f"{application}/applied") or 0) > applied:
        return True
    name, part = application, 0
    while (number := table.transaction_version(name)) is not None or not part:
        if number is not None and number > batch:
            return True
        part += 1
        name = f"{application}/{part}"
    return False
