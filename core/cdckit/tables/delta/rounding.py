"""Keeps rounded bounds of decimals out of Delta's log.

delta-rs tells bounds as double-precision numbers. Spark takes them as they are, and passes over a file that has a value
which was rounded: of a column with such values in a file, nothing is told.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from arro3.core import DataType, RecordBatch, RecordBatchReader, Table
from deltalake import ColumnProperties, DeltaTable, Schema, WriterProperties
from deltalake.schema import DataType as DeltaType, StructType

from cdckit.tables.delta.bounds import EXACT_DIGITS, told_exactly
from cdckit.tables.delta.files import COMPACTED, FILES, files_with
from cdckit.tables.lake.spilled_rows import SpilledRows

if TYPE_CHECKING:
    import pyarrow as pa
    from arro3.core.types import ArrowStreamExportable

_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_PHYSICAL = "delta.columnMapping.physicalName"
"""The part of a column's metadata that has its name in files, where that is another one."""
_UNTOLD = ColumnProperties(statistics_enabled="NONE")


@dataclass(frozen=True, slots=True)
class WideDecimals:
    """Columns that may have decimals of more digits than bounds have.

    Attributes:
        scales: of such columns how many digits stand behind the point.
        nested: columns of structs with such members, whose values are not looked at.
    """

    scales: Mapping[str, int]
    nested: frozenset[str]

    @classmethod
    def of(cls, schema: Schema) -> Self:
        """Those of a table, or of rows."""
        scales = {each.name: scale for each in schema.fields if (scale := _scale(each.type)) is not None}
        return cls(scales, frozenset(each.name for each in schema.fields if _holds(each.type)))

    def rounded(self, rows: Table | RecordBatch) -> set[str]:
        """The columns that have values whose bounds would be rounded."""
        names = {*rows.schema.names}
        return {name for name, scale in self.scales.items() if name in names and _exceeds(rows, name, scale)}

    def rounded_in(self, table: DeltaTable) -> set[str]:
        """The columns of which a table's files may have such values."""
        names = self.scales.keys() - {*table.metadata().partition_columns}
        if not names:
            return set()
        told = Table.from_arrow(table.get_add_actions(flatten=True))
        return {name for name in names if not _exact(told, name)}


def _scale(kind: DeltaType) -> int | None:
    found = _DECIMAL.fullmatch(str(getattr(kind, "type", "")))
    return int(found[2]) if found and int(found[1]) > EXACT_DIGITS else None


def _holds(kind: DeltaType) -> bool:
    members = (one.type for one in kind.fields) if isinstance(kind, StructType) else ()
    return any(_scale(member) is not None or _holds(member) for member in members)


def _exceeds(rows: Table | RecordBatch, name: str, scale: int) -> bool:
    """Whether a column has a value of too many digits, of which such a cast makes null.

    No type has so few digits with a larger scale: there, any value is taken for one.
    """
    column = rows.column(name)
    if scale > EXACT_DIGITS:
        return column.null_count < len(column)
    return column.cast(DataType.decimal128(EXACT_DIGITS, scale)).null_count > column.null_count


def _exact(told: Table, name: str) -> bool:
    """Whether all files' bounds are exact, or there are none as all values are null."""
    parts = ["num_records", f"null_count.{name}", f"min.{name}", f"max.{name}"]
    if not told.num_rows or not {*parts} <= {*told.schema.names}:
        return not told.num_rows
    files = zip(*(told.column(part).to_pylist() for part in parts), strict=True)
    return all(
        _exactly(least, greatest, empty=rows is not None and rows == nulls) for rows, nulls, least, greatest in files
    )


def _exactly(least: Decimal | None, greatest: Decimal | None, *, empty: bool) -> bool:
    if least is None or greatest is None:
        return empty
    return told_exactly(least, greatest)


def files_of(table: DeltaTable, changes: pa.Table | None = None) -> WriterProperties:
    """How files are written that take up rows of a table, and perhaps changes of them."""
    wide = WideDecimals.of(table.schema())
    rounded = wide.rounded_in(table)
    if changes is not None and wide.scales:
        rounded |= wide.rounded(Table.from_arrow(changes))
    return _without(rounded, table, wide)


def compacted_files_of(table: DeltaTable) -> WriterProperties | None:
    """How a table's files are put together; None: as by default."""
    wide = WideDecimals.of(table.schema())
    rounded = wide.rounded_in(table)
    if rounded or wide.nested:
        return WriterProperties(**COMPACTED, **_untold(rounded, table, wide))
    return None


@contextmanager
def told_of(table: DeltaTable, rows: ArrowStreamExportable) -> Iterator[tuple[ArrowStreamExportable, WriterProperties]]:
    """Rows, and how they are put into files of their own.

    A stream with such columns is put into a file first, as its values are to be known before any of them is written.
    """
    found: Any = rows  # tables and streams of either library of Arrow's
    wide = WideDecimals.of(Schema.from_arrow(found.schema))
    if not wide.scales:
        yield rows, _without((), table, wide)
    elif hasattr(rows, "num_rows"):
        yield rows, _without(wide.rounded(Table.from_arrow(rows)), table, wide)
    else:
        with tempfile.TemporaryDirectory(prefix="cdckit-delta-") as folder:
            held, rounded = SpilledRows(Path(folder) / "rows.arrow", found.schema), set[str]()
            for batch in map(RecordBatch.from_arrow, found):
                rounded |= wide.rounded(batch)
                held.write(batch)
            yield RecordBatchReader.from_batches(found.schema, held), _without(rounded, table, wide)


def _without(columns: Iterable[str], table: DeltaTable, wide: WideDecimals) -> WriterProperties:
    return files_with(**untold) if (untold := _untold(columns, table, wide)) else FILES


def _untold(columns: Iterable[str], table: DeltaTable, wide: WideDecimals) -> dict[str, Any]:
    """The properties of files by which nothing is told of some columns."""
    if wide.nested:
        return {"default_column_properties": _UNTOLD}  # members have no names here
    known = {each.name: str(each.metadata.get(_PHYSICAL, each.name)) for each in table.schema().fields}
    found = {known.get(name, name): _UNTOLD for name in columns}
    return {"column_properties": found} if found else {}


def without_bounds(statistics: str, columns: Iterable[str]) -> str:
    """A file's statistics without the bounds of some columns."""
    told: dict[str, Any] = json.loads(statistics)
    for name in columns:
        for part in ("minValues", "maxValues"):
            told.get(part, {}).pop(name, None)
    return json.dumps(told, ensure_ascii=False)
