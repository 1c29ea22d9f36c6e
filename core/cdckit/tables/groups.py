"""Rows of one table and one layout, gathered and made into an Arrow batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any, Literal

from arro3.core import Array, RecordBatch

from cdckit.api.names_text import names_in
from cdckit.api.record import UNAVAILABLE_HEADER, Datum, Header, Record
from cdckit.api.schema import BOOLEAN, OPTIONAL_INT64, OPTIONAL_STRING, Schema
from cdckit.api.struct import Struct
from cdckit.connector.envelope import OLD_KEY as OLD_KEY_HEADER
from cdckit.tables.arrays import BINARY, INSTANT, STRING, Values, array, batch_of, microseconds, nulls
from cdckit.tables.layout import ABSENT, END, FROM, OLD_KEY, OP, POSITION, TO, Comments, Kind, Layout
from cdckit.tables.shapes import FACT_COLUMNS, Facts
from cdckit.tables.sink import Packet
from cdckit.tables.types import ColumnType, column_type, text_of

Mode = Literal["changelog", "mirror", "history"]
Older = tuple[tuple[str, str | None], ...]

_FACT_TYPES = tuple(
    (name, column_type({"string": OPTIONAL_STRING, "boolean": BOOLEAN, "bigint": OPTIONAL_INT64}[ddl]))
    for name, ddl in FACT_COLUMNS
)
_AS_TUPLE = attrgetter(*Facts.__slots__)
_VALIDITY = [(FROM, "timestamp"), (TO, "timestamp"), (END, "string")]


class Group:
    """Gathers the rows of one table that have the same columns.

    Args:
        mode: what the table is.
        placeholder: what stands for an unavailable value.
        kind: what the rows are.
        columns: the row's columns, in the order of its values.
        first: the record of the first row.
        source: whose columns these are.
        key: the names of the columns that identify a row.
        documents: whether more columns are to be read off the documents that the rows hold.
    """

    def __init__(
        self,
        mode: Mode,
        placeholder: str,
        kind: Kind,
        columns: list[tuple[str, ColumnType]],
        first: Record,
        source: str,
        key: tuple[str, ...],
        documents: bool = False,
    ) -> None:
        self.documents = documents
        self.older: Older = ()
        self.comments: Comments | None = None
        self.named = ""
        self.mode = mode
        self.placeholder = placeholder
        self.kind = kind
        self.columns = columns
        self.topic, self.position = first.topic, first.position
        self.source = source
        self.key = key
        self.rows: list[tuple[Any, ...]] = []
        self.positions: list[str] = []
        self.facts: list[Facts] = []
        self.absent: dict[int, str] = {}
        self.old_keys: dict[int, tuple[Any, ...]] = {}

    def add(
        self,
        row: tuple[Any, ...],
        position: str,
        facts: Facts,
        absent: str | None = None,
        old_key: tuple[Any, ...] | None = None,
    ) -> None:
        """Takes one row.

        Args:
            row: its values.
            position: where it comes from.
            facts: what its event says besides.
            absent: names the columns that the log did not carry, as `names_text` does.
            old_key: the key, in the order of `key`, under which the row was known before.
        """
        if absent is not None:
            self.absent[len(self.rows)] = absent
        if old_key is not None:
            self.old_keys[len(self.rows)] = old_key
        self.rows.append(row)
        self.positions.append(position)
        self.facts.append(facts)

    def extend(self, rows: Sequence[tuple[Any, ...]], positions: Sequence[str], facts: Facts) -> None:
        """Takes rows of whose events the same is to be said besides."""
        self.rows += rows
        self.positions += positions
        self.facts += [facts] * len(rows)

    def packet(self) -> Packet:
        """All rows as one packet."""
        from cdckit.tables.streams import arrow_stream  # noqa: PLC0415 - it loads pyarrow, which Spark needs

        layout, rows = self.batch()
        return Packet(self.topic, layout.dumps(), self.position, len(self.rows), arrow_stream(rows))

    def batch(self) -> tuple[Layout, RecordBatch]:
        """All rows, column by column, and what they have in common."""
        columns: list[Values] = list(zip(*self.rows, strict=True)) if self.columns else []
        arrays = {name: kind.column(values) for (name, kind), values in zip(self.columns, columns, strict=True)}
        if self.mode == "changelog":
            self._add_facts(arrays)
        else:
            arrays |= self._marks()
        arrays[POSITION] = array(self.positions, STRING)
        if self.mode == "history":
            arrays |= self._validity()
        unavailable = tuple(self._unavailable(columns)) if self.mode != "changelog" else ()
        return self.layout(unavailable), batch_of(arrays)

    def layout(self, unavailable: tuple[str, ...] = ()) -> Layout:
        """What all rows have in common, of which these columns may lack values."""
        return Layout(
            self.kind,
            self.source,
            tuple(self._shown()),
            self.key,
            self._operations(),
            unavailable,
            self.documents,
            self.older,
            bool(self.old_keys),
            self.comments,
            self.named,
        )

    def _shown(self) -> Iterator[tuple[str, str]]:
        """The table's columns; of those about the change a flattened row's own of the same name are kept instead."""
        own = {name: kind.ddl for name, kind in self.columns}
        yield from own.items()
        if self.mode == "changelog":
            yield from ((name, kind.ddl) for name, kind in _FACT_TYPES if name not in own)
        yield POSITION, "string"
        if self.mode == "history":
            yield from _VALIDITY

    def _validity(self) -> dict[str, Array]:
        """From when on a version is valid; its end is not known yet."""
        made = (facts.source_ts_ms for facts in self.facts)
        begun = microseconds([None if ms is None else ms * 1000 for ms in made], INSTANT)
        count = len(self.rows)
        return {FROM: begun, TO: nulls(count, INSTANT), END: nulls(count, STRING)}

    def _marks(self) -> dict[str, Array]:
        """Columns that say what a row does to a mirror, or a history."""
        operations = ["d" if facts.deleted else "c" for facts in self.facts]
        for row in self.old_keys:
            operations[row] = "m"
        marks = {OP: array(operations, STRING)}
        if self.absent:
            names = (self.absent.get(row) for row in range(len(self.rows)))
            marks[ABSENT] = array([n and f",{n}," for n in names], STRING)
        if self.old_keys:
            kinds, none = dict(self.columns), (None,) * len(self.key)
            before = zip(*(self.old_keys.get(row, none) for row in range(len(self.rows))), strict=True)
            for name, values in zip(self.key, before, strict=True):
                marks[OLD_KEY + name] = kinds[name].column(values)
        return marks

    def _add_facts(self, arrays: dict[str, Array]) -> None:
        """Columns about the change."""
        columns = zip(*map(_AS_TUPLE, self.facts), strict=True)
        for (name, kind), values in zip(_FACT_TYPES, columns, strict=True):
            if name not in arrays:
                arrays[name] = kind.column(values)

    def _operations(self) -> str:
        return "".join(sorted({facts.op or "c" for facts in self.facts}))

    def _unavailable(self, columns: Sequence[Values]) -> Iterator[str]:
        absent = {name for names in set(self.absent.values()) for name in names_in(names)}
        sought = {STRING: self.placeholder, BINARY: self.placeholder.encode()}
        for (name, kind), values in zip(self.columns, columns, strict=True):
            if name in absent or (kind.arrow in sought and sought[kind.arrow] in values):
                yield name


class RowGroup(Group):
    """Whole rows. Members of the key that are no column of the row (a router's, for one) become columns too."""

    def __init__(self, mode: Mode, placeholder: str, record: Record, row: Schema, facts: Facts) -> None:
        key = _key_schema(record.key)
        columns = [(field.name, column_type(field.schema)) for field in row.fields]
        added = [field for field in key.fields if field.name not in row.index] if key else []
        columns += [(field.name, column_type(field.schema)) for field in added]
        names = tuple(field.name for field in key.fields) if key else ()
        super().__init__(mode, placeholder, "rows", columns, record, source_name(row, facts), names)
        self._added = tuple(field.index for field in added)
        self.older, self.comments, self.named = _older(row), _comments(row), _named(row, self.source)
        self._defaults = {f.name: f.schema.stored and f.schema.stored.default for f in row.fields}
        self._headers: tuple[Header, ...] = ()
        self._absent: str | None = None

    @property
    def needs_records(self) -> bool:
        """Whether rows need their record's key besides their values."""
        return bool(self._added)

    def add_record(self, row: tuple[Any, ...], record: Record, facts: Facts) -> None:
        """Takes the row of one record."""
        if self._added:
            assert isinstance(record.key, Struct)
            row = (*row, *(record.key.values[at] for at in self._added))
        if record.headers is not self._headers:  # many records share theirs
            self._headers = record.headers
            header = record.header(UNAVAILABLE_HEADER)
            self._absent = None if header is None else header.value
        if self._absent is None or facts.deleted:
            self.add(row, record.position, facts, self._absent)
            return
        old_key = self._old_key(record)
        if old_key is None and facts.op == "c":
            self.add(self._with_defaults(row, self._absent), record.position, facts)
        else:
            self.add(row, record.position, facts, self._absent, old_key if self.mode != "changelog" else None)

    def _old_key(self, record: Record) -> tuple[Any, ...] | None:
        """The key before, where it has changed; what a transform has added to the key is the same as now."""
        header = record.header(OLD_KEY_HEADER)
        if header is None or not isinstance(header.value, Struct) or not isinstance(record.key, Struct):
            return None
        old, new = header.value, record.key
        if len(old.values) == len(self.key):  # a transform may have renamed the fields of the key alone
            return old.values
        return tuple(old[name] if name in old else new[name] for name in self.key)

    def _with_defaults(self, row: tuple[Any, ...], absent: str) -> tuple[Any, ...]:
        """An inserted row has its columns' defaults where the log carries no value."""
        lacking = set(names_in(absent))
        return tuple(
            self._defaults.get(name, value) if name in lacking else value
            for (name, _), value in zip(self.columns, row, strict=True)
        )


def key_group(mode: Mode, placeholder: str, record: Record, key: Schema, facts: Facts) -> Group:
    """Deletes of which only the key is known."""
    columns = [(field.name, column_type(field.schema)) for field in key.fields]
    names = tuple(name for name, _ in columns)
    group = Group(mode, placeholder, "keys", columns, record, source_name(key, facts), names)
    group.named = _named(key, group.source)
    return group


def truncate_group(mode: Mode, placeholder: str, record: Record, facts: Facts) -> Group:
    """Marks that a table was emptied."""
    return Group(mode, placeholder, "truncate", [], record, source_name(None, facts), ())


def _older(row: Schema) -> Older:
    """What older rows have in columns that were added, made once for each schema."""
    found: Older | None = row.derived.get("tables.older")
    if found is None:
        told = [(field.name, field.schema) for field in row.fields if field.schema.stored is not None]
        found = row.derived["tables.older"] = tuple(_older_values(told))
    return found


def _older_values(columns: Sequence[tuple[str, Schema]]) -> Iterator[tuple[str, str | None]]:
    for name, schema in columns:
        assert schema.stored is not None
        if schema.stored.older is not None:
            yield name, text_of(column_type(schema), schema.stored.older)
        elif schema.stored.older_unknown:
            yield name, None


def _comments(row: Schema) -> Comments:
    """What columns and the table are for, made once for each schema."""
    found: Comments | None = row.derived.get("tables.comments")
    if found is None:
        told = [
            ("", row.stored and row.stored.comment),
            *((field.name, _comment(field.schema)) for field in row.fields),
        ]
        found = row.derived["tables.comments"] = tuple((name, text) for name, text in told if text)
    return found


def _comment(column: Schema) -> str | None:
    """What a column is for, as its source says; connectors that others run say so with the schema."""
    if column.stored is not None:
        return column.stored.comment
    return column.doc if column.type != "struct" else None  # of geometries the type's own


def _key_schema(key: Datum | None) -> Schema | None:
    return key.schema if isinstance(key, Struct) else None


def _named(schema: Schema, source: str) -> str:
    """What commands call the source's table, where the rows do not say it themselves."""
    told = schema.stored.table if schema.stored is not None else None
    return "" if told in (None, source) else str(told)


def source_name(schema: Schema | None, facts: Facts) -> str:
    """Whose columns these are: the source's table, or the name of the rows' schema where they do not say."""
    if facts.table is not None:
        return f"{facts.db}.{facts.table}"
    return (schema.name if schema is not None else None) or ""
