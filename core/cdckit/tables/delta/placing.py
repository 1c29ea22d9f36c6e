"""How the rows of Delta tables are put into files, and what properties new tables have."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from deltalake import DeltaTable

from cdckit.errors import SinkError
from cdckit.tables.delta.files import INDEXED
from cdckit.tables.delta.rounding import compacted_files_of
from cdckit.tables.target import Columns

log = logging.getLogger("cdckit.tables")

_UNFIT = re.compile(r"binary|decimal\(\d+,[1-9]\d*\)|(?:array|map|struct)<.*", re.DOTALL)
"""Types that partitions cannot have, and those of which delta-rs writes the values otherwise than it reads them: of
-1.50 it makes `-1.-50`."""
_FEW_FILES = 8
"""So many files more than it had when it was clustered last has a table that is clustered again."""


@dataclass(frozen=True, slots=True)
class Placing:
    """What the user wants.

    Attributes:
        partition_by: the columns that new tables are partitioned by.
        cluster_by: those by which rows that are near each other are put into the same files.
        properties: of new tables.
    """

    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def indexed(self) -> int:
        """Of how many columns of new tables there are statistics; less than 0: of all."""
        told = self.properties.get("delta.dataSkippingNumIndexedCols", "")
        return int(told) if told.lstrip("-").isdigit() else INDEXED

    def partitions(self, table: object, columns: Columns) -> list[str]:
        """The columns of a new table that it is partitioned by."""
        if lacking := [name for name in self.partition_by if name not in columns]:
            log.info("table %s: is not partitioned by %s, which it lacks", table, ", ".join(lacking))
        present = [name for name in self.partition_by if name in columns]
        if unfit := [name for name in present if _UNFIT.fullmatch(columns[name])]:
            told = ", ".join(f"{name} {columns[name]}" for name in unfit)
            log.warning("table %s: is not partitioned by %s, of which delta-rs loses values in partitions", table, told)
        return [name for name in present if name not in unfit]


def check_partitions(table: DeltaTable, path: str, columns: Iterable[str]) -> None:
    """Sees that a table keeps the columns that it is partitioned by.

    Raises:
        SinkError: one of them goes, or is called otherwise.
    """
    present = set(columns)
    for name in table.metadata().partition_columns:
        if name not in present:
            raise SinkError(
                f"table {path}: it is partitioned by column '{name}', which goes or gets another name: give the table "
                "another partitioning first, or leave the column as it is",
                number="CDC4401",
            )


class Clustering:
    """Puts rows of one table that are near each other into the same files, by Z-order.

    Args:
        columns: by which they are near each other.
    """

    def __init__(self, columns: tuple[str, ...]) -> None:
        self._columns = columns
        self._files = 0

    def compact(self, table: DeltaTable) -> None:
        """Puts small files together, where there are several new ones in the order of the columns."""
        apart = {*table.metadata().partition_columns}
        present = {one.name for one in table.schema().fields} - apart
        columns = [name for name in self._columns if name in present]
        if not columns:
            table.optimize.compact(writer_properties=compacted_files_of(table))
        elif len(table.file_uris()) >= self._files + _FEW_FILES:
            table.optimize.z_order(columns, writer_properties=compacted_files_of(table))
            self._files = len(table.file_uris())
