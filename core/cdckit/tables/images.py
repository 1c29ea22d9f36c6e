"""Tables read back for `cdc diff`, and the rows that a pipeline's records would be in them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from cdckit.api.held import Image, ImageColumns, Images, Shown
from cdckit.api.record import Record
from cdckit.errors import SinkError
from cdckit.tables.documents import DOCUMENT
from cdckit.tables.encoder import TableEncoder
from cdckit.tables.groups import Group
from cdckit.tables.layout import ABSENT, OP, POSITION, Layout
from cdckit.tables.marks import Mark
from cdckit.tables.options import TableOptions
from cdckit.tables.row_texts import joined, keys, split, texts, unescaped

Part = TypeVar("Part")

_PARTIAL = (
    "rows changed while it was read, and the source's log did not carry all values of them (binlog_row_image): compare "
    "while they stand still"
)


_TOLD = ("__op", "__db", "__table")
"""The columns of a changelog by which it is known what a row empties."""
_Place = tuple[str | None, str | None]
"""The source's database and table, as rows tell them."""


class TableImages(Images):
    """Of the tables of one sink: mirrors, or changelogs.

    Args:
        config: the sink's options.
    """

    def __init__(self, config: TableOptions) -> None:
        super().__init__()
        self._mirror = config.mode != "changelog"
        self.by_position, self.once = not self._mirror, True
        self._declared = config.declared_columns
        self._encoder = TableEncoder("mirror", config.unavailable_value_placeholder, config.declared_columns)
        self._columns: dict[str, list[str]] = {}
        self._documents: dict[str, frozenset[str]] = {}
        self._floats: dict[str, frozenset[str]] = {}
        self._keys: dict[str, tuple[str, ...]] = {}
        self._types: dict[str, pa.Schema] = {}
        self._told: dict[str, tuple[Shown, Callable[[bytes], bytes]]] = {}

    @abstractmethod
    def _schema(self, topic: str) -> pa.Schema | None:
        """The columns of a topic's table as it is now; None where there is none."""

    @abstractmethod
    def _scan(self, topic: str, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Some columns of the rows of the newest version of a topic's table, whatever is written meanwhile."""

    def _type_named(self, name: str) -> pa.DataType | None:
        """The type that a text of Spark's names; None: values are as they are."""
        return None

    def _unread(self, topic: str) -> str | None:
        """Why a table that is there cannot be read; None: it can."""
        return None

    def show(self, topic: str, shown: Shown) -> None:
        """Notes as well what the table's columns are by now, which both sides are brought to."""
        columns = self._document_columns() if shown.columns is None else shown.columns
        self._columns[topic], self._keys[topic] = sorted({*columns, *shown.key}), shown.key
        self._documents[topic], self._floats[topic] = shown.documents, shown.floats
        self._types.pop(topic, None)
        schema = self._schema(topic)
        if schema is None:
            return
        if (why := self._unread(topic)) is not None:
            self.undecidable[topic] = why
            return
        if lacking := [name for name in self._columns[topic] if name not in schema.names]:
            self.undecidable[topic] = f"its table has no column {', '.join(lacking)} (schema.evolution)"
            return
        self._types[topic] = schema

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
            elif (texts_of := self._texts(group.topic, rows)) is not None:
                yield ImageColumns(group.topic, *texts_of)

    def _batch(self, group: Group) -> tuple[Layout, pa.RecordBatch]:
        layout, made = group.batch()
        rows = pa.record_batch(made)
        if ABSENT in rows.schema.names or layout.unavailable:
            self.undecidable[group.topic] = _PARTIAL
        return layout, rows

    def _rows_of(self, topic: str, layout: Layout, rows: pa.RecordBatch) -> Iterator[Image]:
        gone = pc.equal(rows.column(OP), "d").to_pylist() if "d" in layout.ops else ()
        return self._images(topic, rows, gone, rows.column(POSITION).to_pylist())

    def held(self, topics: Collection[str]) -> Iterator[Sequence[Image]]:
        """The rows of the newest version of each table, whatever is written meanwhile."""
        return self._of_topics(topics, self._held)

    def held_columns(self, topics: Collection[str]) -> Iterator[ImageColumns | Iterable[Image]]:
        """By columns where the tables are mirrors."""
        return self._of_topics(topics, self._held_columns)

    def _of_topics(self, topics: Collection[str], read: Callable[[str], Iterator[Part]]) -> Iterator[Part]:
        for topic in topics:
            if topic not in self.undecidable and self._schema(topic) is not None:
                try:
                    yield from read(topic)
                except (pa.ArrowException, OSError) as error:
                    raise SinkError(f"table of topic {topic}: {_first_line(error)}; nothing can be compared") from error

    def _held_columns(self, topic: str) -> Iterator[ImageColumns | Iterable[Image]]:
        if not self._mirror:
            yield from self._held(topic)
            return
        for rows in self._scan(topic, self._columns[topic]):
            if (texts_of := self._texts(topic, rows)) is not None:
                yield ImageColumns(topic, *texts_of)

    def _held(self, topic: str) -> Iterator[Sequence[Image]]:
        names = self._names(topic)
        if self._mirror:
            for rows in self._scan(topic, names):
                yield list(self._images(topic, rows, (), rows.column(POSITION).to_pylist()))
            return
        emptied: dict[_Place, str] = {}
        for rows in self._scan(topic, [*_TOLD, POSITION]):
            for place, position in _emptied(rows):
                emptied[place] = max(position, emptied.get(place, ""))
        for rows in self._scan(topic, names):
            kept = rows.filter(_is_behind(rows, emptied)) if emptied else rows
            gone = kept.column("__deleted").to_pylist()
            yield list(self._images(topic, kept, gone, kept.column(POSITION).to_pylist()))

    def _names(self, topic: str) -> list[str]:
        """The columns that are read."""
        told = self._told_columns(topic).intersection(self._types[topic].names if topic in self._types else ())
        return [*sorted({*self._columns[topic], *told}), POSITION, *(() if self._mirror else ("__deleted", *_TOLD))]

    def _images(
        self, topic: str, rows: pa.RecordBatch, gone: Sequence[bool | None], positions: Sequence[str]
    ) -> Iterator[Image]:
        if (found := self._texts(topic, rows)) is None or (told := self._told_of(topic, rows)) is None:
            return
        keys_of, whole = found[0], list[bytes | None](found[1])
        if any(gone):
            whole = [None if removed else row for row, removed in zip(whole, gone, strict=True)]
        yield from map(Image, repeat(topic), keys_of, whole, positions, told)

    def _texts(self, topic: str, rows: pa.RecordBatch) -> tuple[list[bytes], list[bytes]] | None:
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
        made = (
            texts(columns.get(name, nothing), document=name in documents, short=name in floats)
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
        try:
            columns = [
                texts(self._cast(rows.column(name), shown.types.get(name)), document=name in shown.documents)
                for name in names
            ]
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            self._unfit(topic, error)
            return None
        return map(hashed, joined(columns))

    def _unfit(self, topic: str, error: Exception) -> None:
        self.undecidable[topic] = f"the source's values do not fit the table's columns: {_first_line(error)}"

    def _cast(self, column: pa.Array, name: str | None) -> pa.Array:
        wanted = None if name is None else self._type_named(name)
        return column if wanted is None or column.type == wanted else column.cast(wanted)

    def close(self) -> None:
        """Nothing is open."""


def _emptied(rows: pa.RecordBatch) -> Iterator[tuple[_Place, str]]:
    """The source tables that were emptied, and where."""
    told = rows.filter(pc.equal(pc.fill_null(rows.column("__op"), ""), "t"))
    columns = (told.column(name).to_pylist() for name in ("__db", "__table", POSITION))
    yield from (((database, table), position) for database, table, position in zip(*columns, strict=True))


def _is_behind(rows: pa.RecordBatch, emptied: Mapping[_Place, str]) -> list[bool]:
    """Of each row, whether its source table was not emptied there or behind it."""
    columns = (rows.column(name).to_pylist() for name in ("__db", "__table", POSITION))
    return [position > emptied.get((database, table), "") for database, table, position in zip(*columns, strict=True)]


def _as_held(column: pa.Array, types: pa.Schema | None, name: str) -> pa.Array:
    """A column in the type that the table has."""
    if types is None or column.type == types.field(name).type:
        return column
    return column.cast(types.field(name).type)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
