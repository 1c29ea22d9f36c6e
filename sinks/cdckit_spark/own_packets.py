"""Rows of one table out of a query of one's own, as the packets that the sink writes; in the workers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from cdckit import MarkKind, SinkError
from cdckit.tables.layout import OP as DONE, POSITION as PLACE, Layout
from cdckit.tables.marks import Mark
from cdckit.tables.own_columns import OP, POSITION, TIME
from cdckit.tables.packets import table_packets
from cdckit.tables.shapes import FACT_COLUMNS
from cdckit.tables.sink import Packet
from cdckit.tables.streams import arrow_stream

_PLACE = (PLACE, "string")
_OPERATIONS = ("c", "u", "r", "d", "t")


@dataclass(frozen=True, slots=True)
class OwnPackets:
    """Makes packets of rows.

    Attributes:
        mode: of the table that they are for.
        topic: the table's name.
        source: the source's table, or "".
        columns: name and Spark type of each column but those that tell of the change.
        key: those of them that tell rows apart.
        placeholder: what stands for a value that the log did not carry.
    """

    mode: Literal["changelog", "mirror"]
    topic: str
    source: str
    columns: tuple[tuple[str, str], ...]
    key: tuple[str, ...]
    placeholder: str

    def made(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The packets of Arrow batches."""
        before = 0
        for batch in batches:
            packets = [*self._of(batch)]
            if packets:
                yield table_packets(packets, before)
                before += sum(len(packet.data) for packet in packets)

    def _of(self, batch: pa.RecordBatch) -> Iterator[Packet]:
        _check(batch)
        emptied = pc.fill_null(pc.equal(batch.column(OP), "t"), False)
        rows, emptying = batch.filter(pc.invert(emptied)), batch.filter(emptied)
        if rows.num_rows:
            yield self._changed(rows) if self.mode == "mirror" else self._logged(rows, self.columns, "rows")
        for place in range(emptying.num_rows):
            row = emptying.slice(place, 1)
            if self.mode == "mirror":
                position, table = row.column(POSITION)[0].as_py(), self.source or self.topic
                yield Mark(MarkKind.TRUNCATE, position, table, table, told=False).packet(self.topic)
            else:
                yield self._logged(row, (), "truncate")

    def _changed(self, rows: pa.RecordBatch) -> Packet:
        """Rows on their way into a mirror."""
        found = self._named(rows, self.columns)
        gone = pc.fill_null(pc.equal(rows.column(OP), "d"), False)
        found[DONE] = pc.if_else(gone, "d", "c")
        found[PLACE] = rows.column(POSITION).cast(pa.string())
        return self._packet("rows", found, (*self.columns, _PLACE), rows, tuple(self._unavailable(found)))

    def _logged(
        self, rows: pa.RecordBatch, columns: tuple[tuple[str, str], ...], kind: Literal["rows", "truncate"]
    ) -> Packet:
        """Rows on their way into a changelog, with what it has of each change."""
        database, _, table = self.source.partition(".")
        count, done = rows.num_rows, rows.column(OP).cast(pa.string())
        made_ms = rows.column(TIME).cast(pa.timestamp("ms", tz="UTC"), safe=False).cast(pa.int64())
        facts = [
            done,
            pc.fill_null(pc.equal(done, "d"), False),
            made_ms,
            pa.nulls(count, pa.int64()),
            pa.array([database or None] * count, pa.string()),
            pa.array([table or None] * count, pa.string()),
        ]
        found = self._named(rows, columns)
        added = [(name, ddl, fact) for (name, ddl), fact in zip(FACT_COLUMNS, facts, strict=True) if name not in found]
        found |= {name: fact for name, _, fact in added}
        found[PLACE] = rows.column(POSITION).cast(pa.string())
        shown = (*columns, *((name, ddl) for name, ddl, _ in added), _PLACE)
        return self._packet(kind, found, shown, rows)

    def _named(self, rows: pa.RecordBatch, columns: tuple[tuple[str, str], ...]) -> dict[str, pa.Array]:
        return {name: rows.column(name) for name, _ in columns}

    def _packet(
        self,
        kind: Literal["rows", "truncate"],
        found: dict[str, pa.Array],
        columns: tuple[tuple[str, str], ...],
        rows: pa.RecordBatch,
        unavailable: tuple[str, ...] = (),
    ) -> Packet:
        ops = "".join(sorted({op or "c" for op in pc.unique(rows.column(OP)).to_pylist()}))
        key = self.key if kind == "rows" else ()
        layout = Layout(kind, self.source or self.topic, columns, key, ops, unavailable)
        first: str = pc.min(found[PLACE]).as_py()
        data = arrow_stream(pa.RecordBatch.from_pydict(found))
        return Packet(self.topic, layout.dumps(), first, rows.num_rows, data)

    def _unavailable(self, found: dict[str, pa.Array]) -> Iterator[str]:
        """The columns in which the placeholder stands."""
        for name, _ in self.columns:
            kind = found[name].type
            text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
            if text or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
                looked_for = pa.scalar(self.placeholder if text else self.placeholder.encode(), kind)
                if pc.any(pc.equal(found[name], looked_for)).as_py():
                    yield name


def _check(rows: pa.RecordBatch) -> None:
    """Looks at what tells of the changes.

    Raises:
        SinkError: a row is of no place in the log, or of no operation that is known.
    """
    if rows.column(POSITION).null_count:
        raise SinkError(
            f"rows: {POSITION} is null in some, as where an outer join has made them: leave these out, since nothing "
            "says which of two rows is the newer one",
            number="CDC4303",
        )
    for told in pc.unique(rows.column(OP)).to_pylist():
        if told is not None and told not in _OPERATIONS:
            raise SinkError(
                f"rows: {OP} is '{told}' in some, and should be one of {', '.join(_OPERATIONS)}, as it was read",
                number="CDC4303",
            )
