"""The layout of a table's events: the schemas of key, row and envelope, and what makes them of messages' rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cdckit import DecodeError, Schema, Struct, struct_schema
from cdckit.connector.envelope import envelope_schema
from cdckit_ticdc.columns.column import Column
from cdckit_ticdc.columns.rows import MisfitError, compile_row, fault_of, row_schema

Row = Mapping[str, Any]


class Images(NamedTuple):
    """The rows of one change, and the layout that fits them.

    Attributes:
        layout: whose columns they have.
        before: the row before, or None.
        after: the row after, or None.
        key: the key after the change, or None where the table has none.
    """

    layout: Layout
    before: Struct | None
    after: Struct | None
    key: Struct | None


class Layout:
    """What events of one table look like, as long as its columns stay.

    Args:
        topic: where the events go; their schemas' names begin with it.
        database: the table's database.
        table: the table's name.
        columns: in order.
        key: the names of the key's columns; none for a table without a key.
        source: the schema of the source block.
    """

    def __init__(
        self, topic: str, database: str, table: str, columns: Sequence[Column], key: Sequence[str], source: Schema
    ) -> None:
        self.topic, self.database, self.table = topic, database, table
        self.columns = tuple(columns)
        self.key = tuple(key)
        self.row = row_schema(f"{topic}.Value", columns)
        self.envelope = envelope_schema(f"{topic}.Envelope", self.row, source)
        known = {column.name: column for column in columns}
        self.key_columns = tuple(known[name] for name in key)
        fields = {column.name: column.schema for column in self.key_columns}
        self.key_schema = struct_schema(f"{topic}.Key", fields) if key else None
        self.make_row = compile_row(self.row, self.columns)
        self._key_places = tuple(self.row.index[name] for name in key)
        self._source = source
        self._narrower: dict[frozenset[str], Layout] = {}

    def images(self, operation: str, before: Row | None, after: Row | None) -> Images:
        """The rows of one change.

        Raises:
            DecodeError: a value does not fit its column, or a row has a column that the layout lacks.
        """
        try:
            made_before = None if before is None else self.make_row(before)
            made_after = None if after is None else self.make_row(after)
        except (MisfitError, KeyError):
            return self._other_columns(operation, before, after)
        except (ValueError, TypeError, ArithmeticError, AttributeError) as error:
            raise DecodeError(self._fault(before, after)) from error
        made = made_before if made_after is None else made_after
        if made is None:
            raise DecodeError(f"table {self.database}.{self.table}: a change '{operation}' without a row")
        return Images(self, made_before, made_after, self.key_of(made))

    def key_of(self, row: Struct) -> Struct | None:
        """The key of a row."""
        places = self._key_places
        if self.key_schema is None:
            return None
        if len(places) == 1:
            return Struct(self.key_schema, (row.values[places[0]],))
        values = row.values
        return Struct(self.key_schema, tuple([values[place] for place in places]))

    def has_key(self, row: Struct, key: Struct) -> bool:
        """Whether a row's key is `key`."""
        values = row.values
        if len(self._key_places) == 1:
            return bool(values[self._key_places[0]] == key.values[0])
        return all(values[place] == value for place, value in zip(self._key_places, key.values, strict=True))

    def _other_columns(self, operation: str, before: Row | None, after: Row | None) -> Images:
        """Rows that lack columns, such as virtual ones, or of which only the key or only what changed was sent."""
        row = before if after is None else after
        assert row is not None
        unknown = [name for image in (row, before or {}) for name in image if name not in self.row.index]
        if unknown:
            raise DecodeError(
                f"table {self.database}.{self.table}: the row has a column '{unknown[0]}' that the schema does not name"
            )
        present = frozenset(row)
        if operation == "d" and present == frozenset(self.key) and len(present) < len(self.columns):
            return Images(self, None, None, self._only_key(row))
        if present == frozenset(self.row.index) and before is not None:
            return self.images(operation, {name: before.get(name, value) for name, value in row.items()}, after)
        if not present.issuperset(self.key):
            raise DecodeError(f"table {self.database}.{self.table}: the row lacks columns of its key")
        return self._narrowed(present).images(operation, before, after)

    def _only_key(self, row: Row) -> Struct:
        assert self.key_schema is not None
        try:
            return compile_row(self.key_schema, self.key_columns)(row)
        except (ValueError, TypeError, ArithmeticError, AttributeError) as error:
            raise DecodeError(self._fault(row, None)) from error

    def _narrowed(self, present: frozenset[str]) -> Layout:
        made = self._narrower.get(present)
        if made is None:
            columns = [column for column in self.columns if column.name in present]
            made = Layout(self.topic, self.database, self.table, columns, self.key, self._source)
            self._narrower[present] = made
        return made

    def _fault(self, *rows: Row | None) -> str:
        faults = (fault_of(self.columns, row) for row in rows if row is not None)
        why = next((fault for fault in faults if not fault.startswith("the row")), "the row cannot be read")
        return f"table {self.database}.{self.table}: {why}"
