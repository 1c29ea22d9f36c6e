"""Records of one table as rows with the table's own columns, in a worker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from cdckit.api.marks import MarkKind, TableMark
from cdckit.api.record import Record
from cdckit.engine.chain import TransformChain
from cdckit.engine.spark.table_shape import TableShape, declared
from cdckit.errors import SourceError
from cdckit.tables.arrow_compute import cast_as
from cdckit.tables.encoder import TableEncoder
from cdckit.tables.groups import Group
from cdckit.tables.own_columns import OP, POSITION, TIME

_EMPTIES = (MarkKind.TRUNCATE, MarkKind.DROP)
_UNTOLD = (MarkKind.UNTOLD, MarkKind.RENAME)


class TypedRows:
    """Makes the rows of one split.

    Args:
        shape: what they look like.
        chain: the pipeline's transforms.
        marks: whether the source tells of whole tables by marks; else its events do.
    """

    def __init__(self, shape: TableShape, chain: TransformChain, *, marks: bool) -> None:
        self._shape = shape
        self._chain = chain
        self._marks = marks
        self._encode = TableEncoder("changelog", "", declared(shape.documents))
        self._wanted = shape.all_columns

    def __call__(self, records: Sequence[Record], marks: Sequence[TableMark]) -> Iterator[pa.RecordBatch]:
        """The rows of some records, and of the marks among them.

        Raises:
            SourceError: a row does not fit, or the log does not tell what became of the table's rows.
        """
        emptied = [mark.position for mark in marks if self._empties(mark)]
        if emptied:
            yield self._batch({OP: pa.array(["t"] * len(emptied)), POSITION: pa.array(emptied)}, len(emptied))
        own = [record for record in records if record.topic == self._shape.topic]
        for group in [*self._encode.gathered(self._chain.apply(own))[0]]:
            if self._is_own(group) and not (self._marks and group.kind == "truncate"):
                yield self._rows(group)

    def _empties(self, mark: TableMark) -> bool:
        """Whether the table has no rows from a mark on, or has them told anew."""
        if mark.table != self._shape.table:
            return False
        if mark.kind in _UNTOLD:
            raise SourceError(
                f"{mark.table}: the log does not tell which rows came or went at {mark.position} ({mark.statement}): "
                "begin behind it with the option 'from', or anew, with another state and another checkpoint",
                number="CDC3507",
            )
        return mark.kind in _EMPTIES or (mark.kind is MarkKind.SNAPSHOT_BEGIN and self._shape.emptied)

    def _is_own(self, group: Group) -> bool:
        """Several tables may share a topic; flattened rows do not say whose they are."""
        return group.facts[0].table is None or group.source == self._shape.table

    def _rows(self, group: Group) -> pa.RecordBatch:
        columns = zip(*group.rows, strict=True) if group.columns else ()
        found = {
            name: pa.array(kind.column(values)) for (name, kind), values in zip(group.columns, columns, strict=True)
        }
        found[OP] = pa.array([facts.op for facts in group.facts], pa.string())
        found[POSITION] = pa.array(group.positions, pa.string())
        times = [facts.source_ts_ms for facts in group.facts]
        found[TIME] = pa.array(times, pa.timestamp("ms", tz="UTC"))
        return self._batch(found, len(group.rows))

    def _batch(self, found: dict[str, pa.Array], rows: int) -> pa.RecordBatch:
        """Rows with just the wanted columns: one that a row's definition lacks is null, one beyond them is left."""
        arrays = []
        for field in self._wanted:
            try:
                column = found.get(field.name)
                arrays.append(
                    pa.nulls(rows, field.type) if column is None else cast_as(column, field.type, tolerant=False)
                )
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                first = found[POSITION][0].as_py()
                raise SourceError(
                    f"{self._shape.table}, position {first}: values of column '{field.name}', {found[field.name].type} "
                    f"there, are none of the type that it has now, {field.type}: begin behind the change of its type "
                    "with the option 'from'",
                    number="CDC3506",
                ) from error
        return pa.RecordBatch.from_arrays(arrays, schema=self._wanted)
