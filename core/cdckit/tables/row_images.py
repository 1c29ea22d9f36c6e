"""The rows of tables as images: those that a pipeline's records would be, and those that are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cdckit.api.held import Image, ImageColumns, Shown
from cdckit.api.record import Record
from cdckit.tables.documents import DOCUMENT, identifiable
from cdckit.tables.encoder import TableEncoder
from cdckit.tables.groups import Group
from cdckit.tables.layout import ABSENT, OP, POSITION, Layout
from cdckit.tables.marks import Mark
from cdckit.tables.options import TableOptions
from cdckit.tables.row_texts import joined, keys, split, texts, unescaped

_PARTIAL = (
    "rows changed while it was read, and the source's log did not carry all values of them (binlog_row_image): compare "
    "while they stand still"
)


class RowImages:
    """Makes images of rows of a sink's tables, by what is shown of each topic. `maker` gives one that can be pickled.

    Args:
        config: the sink's options.

    Attributes:
        undecidable: which topics cannot be compared, and why.
    """

    def __init__(self, config: TableOptions) -> None:
        self.undecidable: dict[str, str] = {}
        self._config = config
        self._declared = config.declared_columns
        self._encoder = TableEncoder("mirror", config.unavailable_value_placeholder, config.declared_columns)
        self._columns: dict[str, list[str]] = {}
        self._documents: dict[str, frozenset[str]] = {}
        self._floats: dict[str, frozenset[str]] = {}
        self._keys: dict[str, tuple[str, ...]] = {}
        self._types: dict[str, pa.Schema] = {}
        self._told: dict[str, tuple[Shown, Callable[[bytes], bytes]]] = {}

    def maker(self) -> RowImages:
        """The same, of what is shown by now, without what was found by then."""
        made = RowImages(self._config)
        made._columns, made._documents, made._floats = {**self._columns}, {**self._documents}, {**self._floats}
        made._keys, made._types, made._told = {**self._keys}, {**self._types}, {**self._told}
        return made

    def _type_named(self, name: str) -> pa.DataType | None:
        """The type that a text of Spark's names; None: values are as they are."""
        return None

    def tell(self, topic: str, told: Shown, hashed: Callable[[bytes], bytes]) -> None:
        """Of the columns that the ledger has."""
        self._told[topic] = told, hashed

    def fields(self, topic: str, row: bytes) -> dict[str, Any]:
        """Those of the table's row."""
        return {name: unescaped(text) for name, text in zip(self._columns[topic], split(row), strict=True)}

    def _document_columns(self) -> list[str]:
        declared = [column.name for column in self._declared]
        return declared or [DOCUMENT]

    def of(self, records: Sequence[Record]) -> Iterator[Image]:
        """As the rows of a mirror; rows of several layouts are put in order by their positions."""
        gathered, emptied = self._encoder.gathered(records)
        groups = [group for group in gathered if group.topic in self._columns]  # others cannot be compared
        yield from self._in_order(groups, emptied)

    def _in_order(self, groups: Sequence[Group], emptied: Sequence[tuple[str, Mark]]) -> Iterator[Image]:
        images = chain(
            chain.from_iterable(self._rows_of(group.topic, *self._batch(group)) for group in groups),
            (Image(topic, None, None, mark.position) for topic, mark in emptied),
        )
        topics = [*(group.topic for group in groups), *(topic for topic, _ in emptied)]
        if len(set(topics)) == len(topics):
            yield from images
        else:
            yield from sorted(images, key=lambda image: image.position)

    def columns_of(self, records: Sequence[Record]) -> Iterator[ImageColumns | Iterable[Image]]:
        """By columns where they are rows of one layout each, none of them gone."""
        gathered, emptied = self._encoder.gathered(records)
        groups = [group for group in gathered if group.topic in self._columns]
        if emptied or len({group.topic for group in groups}) < len(groups):
            yield self._in_order(groups, emptied)
            return
        for group in groups:
            layout, rows = self._batch(group)
            if "d" in layout.ops:
                yield self._rows_of(group.topic, layout, rows)
            elif (texts_of := self.texts(group.topic, rows)) is not None:
                yield ImageColumns(group.topic, *texts_of)

    def _batch(self, group: Group) -> tuple[Layout, pa.RecordBatch]:
        layout, made = group.batch()
        rows = pa.record_batch(made)
        if ABSENT in rows.schema.names or layout.unavailable:
            self.undecidable[group.topic] = _PARTIAL
        return layout, rows

    def _rows_of(self, topic: str, layout: Layout, rows: pa.RecordBatch) -> Iterator[Image]:
        gone = pc.equal(rows.column(OP), "d").to_pylist() if "d" in layout.ops else ()
        return self.images(topic, rows, gone, rows.column(POSITION).to_pylist())

    def images(
        self, topic: str, rows: pa.RecordBatch, gone: Sequence[bool | None], positions: Sequence[str]
    ) -> Iterator[Image]:
        """Those of rows that are read.

        Args:
            topic: of which table.
            rows: with the columns that are shown.
            gone: of each whether it says that there is no such row any more; nothing: all are there.
            positions: of each.
        """
        if (found := self.texts(topic, rows)) is None or (told := self._told_of(topic, rows)) is None:
            return
        keys_of, whole = found[0], list[bytes | None](found[1])
        if any(gone):
            whole = [None if removed else row for row, removed in zip(whole, gone, strict=True)]
        yield from map(Image, repeat(topic), keys_of, whole, positions, told)

    def texts(self, topic: str, rows: pa.RecordBatch) -> tuple[list[bytes], list[bytes]] | None:
        """The keys and the rows; None where they do not fit the table."""
        types = self._types.get(topic)
        nothing = pa.nulls(rows.num_rows)
        present = {name: rows.column(name) for name in self._columns[topic] if name in rows.schema.names}
        try:
            columns = {name: _as_held(column, types, name) for name, column in present.items()}
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            self._unfit(topic, error)
            return None
        found = list(keys({name: columns[name] for name in self._keys[topic]}))
        documents, floats = self._documents[topic], self._floats[topic]
        identified = identifiable(self._columns[topic], self._keys[topic])
        made = (
            texts(
                columns.get(name, nothing),
                document=name in documents,
                short=name in floats,
                identified=name in identified,
            )
            for name in self._columns[topic]
        )
        return found, joined(list(made))

    def _told_columns(self, topic: str) -> frozenset[str]:
        told = self._told.get(topic)
        return (told[0].columns if told is not None else None) or frozenset()

    def _told_of(self, topic: str, rows: pa.RecordBatch) -> Iterable[bytes] | None:
        """The ledger's hash of each row, nothing where it has none; None where they do not fit its columns."""
        names = sorted(self._told_columns(topic))
        if not names or not rows.num_rows or not {*names} <= {*rows.schema.names}:
            return repeat(b"")
        shown, hashed = self._told[topic]
        identified = identifiable(names, shown.key)
        try:
            columns = [
                texts(
                    self._cast(rows.column(name), shown.types.get(name)),
                    document=name in shown.documents,
                    identified=name in identified,
                )
                for name in names
            ]
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            self._unfit(topic, error)
            return None
        return map(hashed, joined(columns))

    def _unfit(self, topic: str, error: Exception) -> None:
        self.undecidable[topic] = f"the source's values do not fit the table's columns: {first_line(error)}"

    def _cast(self, column: pa.Array, name: str | None) -> pa.Array:
        wanted = None if name is None else self._type_named(name)
        return column if wanted is None or column.type == wanted else column.cast(wanted)


def _as_held(column: pa.Array, types: pa.Schema | None, name: str) -> pa.Array:
    """A column in the type that the table has."""
    if types is None or column.type == types.field(name).type:
        return column
    return column.cast(types.field(name).type)


def first_line(error: Exception) -> str:
    """The first line that an error says."""
    return str(error).strip().partition("\n")[0]
