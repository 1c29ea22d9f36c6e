"""Delta tables read back without Spark, and the rows that a pipeline's records would be in them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import dataset

from cdckit import ConfigError, Image, Images, Record, Shown, SinkError
from cdckit.tables.destinations import folder_name
from cdckit.tables.documents import DOCUMENT
from cdckit.tables.encoder import TableEncoder
from cdckit.tables.layout import ABSENT, OP, POSITION, Layout
from cdckit.tables.sink import Packet, rows_of
from cdckit_spark.config import LakeConfig

_BATCH_ROWS = 16_384
_PARTIAL = (
    "rows changed while it was read, and the source's log did not carry all values of them (binlog_row_image): compare "
    "while they stand still"
)
_READ = frozenset({"timestampNtz", "typeWidening", "typeWidening-preview"})
"""The features of tables that are read here: files of another type are cast."""
_SORTED = orjson.OPT_SORT_KEYS
_NULL, _BETWEEN = "\x1d", "\x1f"
"""What stands for no value, and between the columns of a row."""
_ESCAPES = {"\x1e": "\x1e0", "\x1d": "\x1e1", "\x1f": "\x1e2"}
"""What stands for these in values; the first one, which the others begin with, comes first."""


class DeltaImages(Images):
    """Of the tables of the sink `spark`.

    Args:
        config: the sink's options.

    Raises:
        ConfigError: its tables cannot be read back.
    """

    def __init__(self, config: LakeConfig) -> None:
        super().__init__()
        self._folder = _local_folder(config)
        self._mirror = config.mode == "mirror"
        self.by_position, self.once = not self._mirror, True
        self._declared = config.declared_columns
        self._encoder = TableEncoder("mirror", config.unavailable_value_placeholder, config.declared_columns)
        self._columns: dict[str, list[str]] = {}
        self._documents: dict[str, frozenset[str]] = {}
        self._keys: dict[str, tuple[str, ...]] = {}
        self._types: dict[str, pa.Schema] = {}

    def show(self, topic: str, shown: Shown) -> None:
        """Notes as well what the table's columns are by now, which both sides are brought to."""
        columns = self._document_columns() if shown.columns is None else shown.columns
        self._columns[topic], self._keys[topic] = sorted({*columns, *shown.key}), shown.key
        self._documents[topic] = shown.documents
        self._types.pop(topic, None)
        table = self._table(topic)
        if table is None:
            return
        if unread := sorted(set(table.protocol().reader_features or ()) - _READ):
            self.undecidable[topic] = f"its table cannot be read without Spark: it has {', '.join(unread)}"
            return
        schema = self._types[topic] = pa.schema(table.schema().to_arrow())
        if lacking := [name for name in self._columns[topic] if name not in schema.names]:
            self.undecidable[topic] = f"its table has no column {', '.join(lacking)} (schema.evolution)"

    def fields(self, topic: str, row: bytes) -> dict[str, Any]:
        """Those of the table's row."""
        texts = row.decode().split(_BETWEEN)
        return {name: _unescaped(text) for name, text in zip(self._columns[topic], texts, strict=True)}

    def _document_columns(self) -> list[str]:
        declared = [column.name for column in self._declared]
        return declared or [DOCUMENT]

    def of(self, records: Sequence[Record]) -> Iterator[Image]:
        """As the rows of a mirror; rows of several layouts are put in order by their positions."""
        packets = list(self._encoder(records))
        images = (image for packet in packets for image in self._packet(packet))
        if len({packet.topic for packet in packets}) == len(packets):
            yield from images
        else:
            yield from sorted(images, key=lambda image: image.position)

    def _packet(self, packet: Packet) -> Iterator[Image]:
        if packet.mark is not None:
            yield Image(packet.topic, None, None, packet.position)
            return
        layout = Layout.loads(packet.layout)
        for rows in rows_of(packet.data):
            if ABSENT in rows.schema.names or layout.unavailable:
                self.undecidable[packet.topic] = _PARTIAL
            gone = pc.equal(rows.column(OP), "d").to_pylist()
            yield from self._images(packet.topic, rows, gone, rows.column(POSITION).to_pylist())

    def held(self, topics: Collection[str]) -> Iterator[Sequence[Image]]:
        """The rows of the newest version of each table, whatever is written meanwhile."""
        for topic in topics:
            if topic in self.undecidable or (table := self._table(topic)) is None:
                continue
            wanted = [*self._columns[topic], POSITION, *(() if self._mirror else ("__deleted", "__op"))]
            try:
                for rows in _files(table).to_batches(
                    columns=wanted, batch_size=_BATCH_ROWS, batch_readahead=1, fragment_readahead=1
                ):
                    yield list(self._rows(topic, rows))
            except (pa.ArrowException, OSError) as error:
                raise SinkError(f"table {self._path(topic)}: {_first_line(error)}; nothing can be compared") from error

    def _rows(self, topic: str, rows: pa.RecordBatch) -> Iterator[Image]:
        positions = rows.column(POSITION).to_pylist()
        if self._mirror:
            yield from self._images(topic, rows, [False] * len(positions), positions)
            return
        emptied = [
            position for op, position in zip(rows.column("__op").to_pylist(), positions, strict=True) if op == "t"
        ]
        yield from (Image(topic, None, None, position) for position in emptied)
        kept = rows.filter(pc.not_equal(pc.fill_null(rows.column("__op"), ""), "t")) if emptied else rows
        yield from self._images(topic, kept, kept.column("__deleted").to_pylist(), kept.column(POSITION).to_pylist())

    def _images(
        self, topic: str, rows: pa.RecordBatch, gone: Sequence[bool | None], positions: Sequence[str]
    ) -> Iterator[Image]:
        types = self._types.get(topic)
        nothing = pa.nulls(rows.num_rows)
        present = {name: rows.column(name) for name in self._columns[topic] if name in rows.schema.names}
        try:
            columns = {name: _as_held(column, types, name) for name, column in present.items()}
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            self.undecidable[topic] = f"the source's values do not fit the table's columns: {_first_line(error)}"
            return
        keys = _keys({name: columns[name] for name in self._keys[topic]})
        documents = self._documents[topic]
        texts = [_texts(columns.get(name, nothing), document=name in documents) for name in self._columns[topic]]
        whole = pc.binary_join_element_wise(*texts, _BETWEEN).cast(pa.binary()).to_pylist()
        if any(gone):
            whole = [None if removed else row for row, removed in zip(whole, gone, strict=True)]
        yield from map(Image, repeat(topic), keys, whole, positions)

    def _table(self, topic: str) -> Any:
        from deltalake import DeltaTable  # noqa: PLC0415 - the extra need not be there

        path = self._path(topic)
        return DeltaTable(str(path)) if DeltaTable.is_deltatable(str(path)) else None

    def _path(self, topic: str) -> Path:
        return self._folder / folder_name(topic)

    def close(self) -> None:
        """Nothing is open."""


def _local_folder(config: LakeConfig) -> Path:
    """The tables' folder on this machine.

    Raises:
        ConfigError: tables are elsewhere, or of another kind.
    """
    try:
        import deltalake  # noqa: F401, PLC0415 - the extra need not be there
    except ImportError as error:
        raise ConfigError("sink.type: cdc diff reads its tables by deltalake: pip install 'cdckit[diff]'") from error
    if config.format != "delta":
        raise ConfigError(f"sink.format: cdc diff reads Delta tables back, and these are '{config.format}'")
    if config.path is None:
        raise ConfigError("sink.database: cdc diff reads tables back by their folder, and a catalog's are not found so")
    path = str(config.path).removeprefix("file://")
    if "://" in path or path.startswith("file:"):
        raise ConfigError(f"sink.path {config.path}: cdc diff reads back tables on this machine alone")
    if config.infers_columns:
        raise ConfigError("sink.document.columns: cdc diff cannot tell columns that are 'inferred' from documents")
    return Path(path)


def _files(table: Any) -> pa.dataset.Dataset:
    """The files of a table's version, with its columns: files may lack some, or have them in narrower types."""
    read = dataset.ParquetFileFormat(read_options={"coerce_int96_timestamp_unit": "us"})
    return dataset.dataset(table.file_uris(), pa.schema(table.schema().to_arrow()), format=read)


def _as_held(column: pa.Array, types: pa.Schema | None, name: str) -> pa.Array:
    """A column in the type that the table has."""
    if types is None or column.type == types.field(name).type:
        return column
    return column.cast(types.field(name).type)


def _texts(column: pa.Array, *, document: bool) -> pa.Array:
    """A column's values as texts, none of which holds what stands between columns, or is that of no value."""
    kind = column.type
    if document:
        values = (None if text is None else parsed(text) for text in column.to_pylist())
        column = pa.array([v if v is None else orjson.dumps(v, option=_SORTED).decode() for v in values], pa.string())
    elif pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
    elif pa.types.is_date32(kind):
        column = column.cast(pa.int32())
    elif pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        column = pa.array([v if v is None else repr(v) for v in column.to_pylist()], pa.string())
    texts = column.cast(pa.string())
    if pa.types.is_string(column.type) and pc.any(pc.match_substring_regex(texts, "[\x1d-\x1f]")).as_py():
        for mark, escaped in _ESCAPES.items():
            texts = pc.replace_substring(texts, mark, escaped)
    return pc.fill_null(texts, _NULL)


def _unescaped(text: str) -> str | None:
    if text == _NULL:
        return None
    for mark, escaped in reversed(_ESCAPES.items()):
        text = text.replace(escaped, mark)
    return text


def _values(column: pa.Array) -> list[Any]:
    """A column's values as JSON takes them, each kind of value in one form alone."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        values: list[Any] = column.cast(pa.timestamp("us", kind.tz)).cast(pa.int64()).to_pylist()
    elif pa.types.is_date32(kind):
        values = column.cast(pa.int32()).to_pylist()
    elif pa.types.is_decimal(kind):
        values = column.cast(pa.string()).to_pylist()
    elif pa.types.is_floating(kind):
        values = [_number(value) for value in column.to_pylist()]
    elif pa.types.is_nested(kind):
        values = [None if value is None else repr(value) for value in column.to_pylist()]
    elif pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        values = [None if value is None else value.hex() for value in column.to_pylist()]
    else:
        values = column.to_pylist()
    return values


def parsed(text: str) -> Any:
    """What a JSON text says; the text itself where it is none."""
    try:
        return orjson.loads(text)
    except ValueError:
        return text


def _number(value: float | None) -> float | str | None:
    """JSON knows no infinity and no NaN."""
    return value if value is None or math.isfinite(value) else repr(value)


def _keys(columns: Mapping[str, pa.Array]) -> Iterable[bytes]:
    """The keys as JSON objects."""
    if all(pa.types.is_integer(column.type) for column in columns.values()):
        parts: list[Any] = []
        for name, column in columns.items():
            parts += [f"{',' if parts else '{'}{orjson.dumps(name).decode()}:", column.cast(pa.string())]
        keys: list[bytes] = pc.binary_join_element_wise(*parts, "}", "").cast(pa.binary()).to_pylist()
        return keys
    names, dumps = list(columns), orjson.dumps
    values = zip(*map(_values, columns.values()), strict=True)
    return (dumps(dict(zip(names, row, strict=True))) for row in values)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
