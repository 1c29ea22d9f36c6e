"""Tables read back for `cdc diff`, and the rows that a pipeline's records would be in them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cdckit.api.held import Image, Images, Shown
from cdckit.api.record import Record
from cdckit.errors import SinkError
from cdckit.tables.documents import DOCUMENT
from cdckit.tables.encoder import TableEncoder
from cdckit.tables.groups import Group
from cdckit.tables.layout import ABSENT, OP, POSITION
from cdckit.tables.options import TableOptions
from cdckit.tables.row_texts import joined, keys, split, texts, unescaped

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
        self._mirror = config.mode == "mirror"
        self.by_position, self.once = not self._mirror, True
        self._declared = config.declared_columns
        self._encoder = TableEncoder("mirror", config.unavailable_value_placeholder, config.declared_columns)
        self._columns: dict[str, list[str]] = {}
        self._documents: dict[str, frozenset[str]] = {}
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
        self._documents[topic] = shown.documents
        self._types.pop(topic, None)
        schema = self._schema(topic)
        if schema is None:
            return
        if (why := self._unread(topic)) is not None:
            self.undecidable[topic] = why
            return
        self._types[topic] = schema
        if lacking := [name for name in self._columns[topic] if name not in schema.names]:
            self.undecidable[topic] = f"its table has no column {', '.join(lacking)} (schema.evolution)"

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
        images = chain(
            chain.from_iterable(map(self._group, groups)),
            (Image(topic, None, None, mark.position) for topic, mark in emptied),
        )
        topics = [*(group.topic for group in groups), *(topic for topic, _ in emptied)]
        if len(set(topics)) == len(topics):
            yield from images
        else:
            yield from sorted(images, key=lambda image: image.position)

    def _group(self, group: Group) -> Iterator[Image]:
        layout, rows = group.batch()
        if ABSENT in rows.schema.names or layout.unavailable:
            self.undecidable[group.topic] = _PARTIAL
        gone = pc.equal(rows.column(OP), "d").to_pylist() if "d" in layout.ops else ()
        return self._images(group.topic, rows, gone, rows.column(POSITION).to_pylist())

    def held(self, topics: Collection[str]) -> Iterator[Sequence[Image]]:
        """The rows of the newest version of each table, whatever is written meanwhile."""
        for topic in topics:
            if topic not in self.undecidable and self._schema(topic) is not None:
                try:
                    yield from self._held(topic)
                except (pa.ArrowException, OSError) as error:
                    raise SinkError(f"table of topic {topic}: {_first_line(error)}; nothing can be compared") from error

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
        types = self._types.get(topic)
        nothing = pa.nulls(rows.num_rows)
        present = {name: rows.column(name) for name in self._columns[topic] if name in rows.schema.names}
        try:
            columns = {name: _as_held(column, types, name) for name, column in present.items()}
            told = self._told_of(topic, rows)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            self.undecidable[topic] = f"the source's values do not fit the table's columns: {_first_line(error)}"
            return
        found = keys({name: columns[name] for name in self._keys[topic]})
        documents = self._documents[topic]
        whole: Sequence[bytes | None] = joined(
            [texts(columns.get(name, nothing), document=name in documents) for name in self._columns[topic]]
        )
        if any(gone):
            whole = [None if removed else row for row, removed in zip(whole, gone, strict=True)]
        yield from map(Image, repeat(topic), found, whole, positions, told)

    def _told_columns(self, topic: str) -> frozenset[str]:
        told = self._told.get(topic)
        return (told[0].columns if told is not None else None) or frozenset()

    def _told_of(self, topic: str, rows: pa.RecordBatch) -> Iterable[bytes]:
        """The ledger's hash of each row; nothing where there is none."""
        names = sorted(self._told_columns(topic))
        if not names or not rows.num_rows or not {*names} <= {*rows.schema.names}:
            return repeat(b"")
        shown, hashed = self._told[topic]
        columns = [
            texts(self._cast(rows.column(name), shown.types.get(name)), document=name in shown.documents)
            for name in names
        ]
        return map(hashed, joined(columns))

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
