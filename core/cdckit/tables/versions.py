"""Versions of Delta tables by the batches that they have, whichever program has written them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltalake import DeltaTable


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
