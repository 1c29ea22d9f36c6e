"""Columns of changed rows that are read from their table once more, as `post.processors` ask for it."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from cdckit import (
    DecodeError,
    Header,
    Record,
    RetriableSourceError,
    SourceError,
    names_in,
    names_text,
)
from cdckit.connector.include_lists import Choice
from cdckit_mysql.binlog.rows_event import RowsEvent
from cdckit_mysql.binlog.tables import TableMap
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.events.versions import TableVersion
from cdckit_mysql.filters import Filters
from cdckit_mysql.options.post_processors import ReselectColumnsConfig, reselections
from cdckit_mysql.rows import RowDecoder
from cdckit_mysql.rows.row_reader import Row
from cdckit_mysql.server.facts import quoted
from cdckit_mysql.server.row_lookup import RowLookup
from cdckit_mysql.streaming.key_literals import KeyColumn

log = logging.getLogger("cdckit.mysql")

Change = tuple[Row, Row]


class _NotFoundError(Exception):
    """There is no such row any more."""


@dataclass(frozen=True, slots=True)
class _Selection:
    """What one post processor does to the rows of a table.

    Attributes:
        nulls: the places of the columns that are read where they are null.
        absent: the places of those that are read where the log does not carry them.
        key: the columns that rows are looked up by.
        fails: whether the pipeline stops at a row that is not found.
    """

    nulls: frozenset[int]
    absent: frozenset[int]
    key: tuple[str, ...]
    fails: bool


class Reselection:
    """Reads columns again for one source, through one connection.

    Args:
        config: the source's options.
        filters: what is captured, and which columns make up keys.
    """

    def __init__(self, config: MySqlConfig, filters: Filters) -> None:
        self._filters = filters
        self._chosen = [(one, _choice(one)) for one in reselections(config)]
        self._lookup = RowLookup(config)
        self._failed: Counter[str] = Counter()

    def of(self, announced: TableMap, version: TableVersion, hidden: int) -> TableReselection | None:
        """What reads columns of a table again; None where none are to be read.

        Args:
            announced: the table as the log announces it.
            version: its definition and what makes its records.
            hidden: how many columns the log has behind those of the definition.
        """
        if not self._chosen or self._filters.signals(*version.table.id):
            return None
        made = [self._selection(config, choice, version) for config, choice in self._chosen]
        selections = [one for one in made if one.key and (one.nulls or one.absent)]
        return TableReselection(self, announced, version, hidden, selections) if selections else None

    def _selection(self, config: ReselectColumnsConfig, choice: Choice, version: TableVersion) -> _Selection:
        table, fields = version.table, version.events.row_schema.fields
        chosen = {place: field for place, field in enumerate(fields) if choice(f"{table.id}:{field.name}")}
        nulls = (place for place, field in chosen.items() if field.schema.optional and field.schema.default is None)
        of_record = self._filters.key_columns(table)
        return _Selection(
            nulls=frozenset(nulls if config.reselect_null_values else ()),
            absent=frozenset(chosen if config.reselect_unavailable_values else ()),
            key=of_record if config.reselect_use_event_key or not of_record else table.key_columns,
            fails=config.reselect_error_handling_mode == "fail",
        )

    def found(self, version: TableVersion, names: Sequence[int], condition: str) -> Row:
        """The values of some of a row's columns, by their places.

        Raises:
            _NotFoundError: there is no such row.
            SourceError: it cannot be asked for.
            DecodeError: what is found does not fit the definition.
        """
        shown = [version.shown[place] for place in names]
        columns = ", ".join(quoted(column.name) for column, _ in shown)
        statement = f"SELECT {columns} FROM {quoted(*version.table.id)} WHERE {condition} LIMIT 1"  # noqa: S608
        row = self._lookup.row(statement, [value for _, value in shown])
        if row is None:
            raise _NotFoundError("there is no such row any more")
        return row

    def failed(self, table: str, event: RowsEvent, error: Exception, *, fails: bool) -> None:
        """Takes a row that stays as it is; the first of each table is logged.

        Raises:
            SourceError: it is to stop the pipeline.
        """
        said = f"{table}: columns of a row of the event at {event.start} cannot be read again: {error}"
        if fails:
            kind = RetriableSourceError if isinstance(error, RetriableSourceError) else SourceError
            raise kind(f"{said}; reselect.error.handling.mode=warn leaves such rows as the log has them") from error
        self._failed[table] += 1
        level = logging.WARNING if self._failed[table] == 1 else logging.DEBUG
        log.log(level, "%s; it stays as the log has it, %d so far of this table", said, self._failed[table])

    def close(self) -> None:
        """Lets the connection go."""
        self._lookup.close()


def _choice(config: ReselectColumnsConfig) -> Choice:
    return Choice(config.reselect_columns_include_list, config.reselect_columns_exclude_list)


class TableReselection:
    """Reads columns of one table again, in one definition of it.

    Attributes:
        filled: the places of the columns that the log did not carry, and every row of the last event has now.
    """

    def __init__(
        self,
        owner: Reselection,
        announced: TableMap,
        version: TableVersion,
        hidden: int,
        selections: Sequence[_Selection],
    ) -> None:
        self._owner = owner
        self._announced = announced
        self._version = version
        self._hidden = hidden
        self._selections = selections
        self.filled: frozenset[int] = frozenset()

    def writes(self, decoder: RowDecoder) -> Callable[[RowsEvent], list[Row]]:
        """Gives an insert's rows, completed."""

        def read(event: RowsEvent) -> list[Row]:
            rows = decoder.write_rows(event)
            return self._completed(event, rows, decoder.absent(event), self._keys.write_rows)

        return read

    def updates(self, decoder: RowDecoder) -> Callable[[RowsEvent], list[Change]]:
        """Gives an update's rows, completed where they are what the row became."""

        def read(event: RowsEvent) -> list[Change]:
            pairs = decoder.update_rows(event)
            after = [row for _, row in pairs]
            done = self._completed(event, after, decoder.absent(event), self._keys_after)
            return [(before, row) for (before, _), row in zip(pairs, done, strict=True)]

        return read

    def marked(self, records: list[Record], lacking: Header) -> list[Record]:
        """The last event's records, with a header that names what they still lack."""
        fields = self._version.events.row_schema.fields
        filled = {fields[place].name for place in self.filled}
        names = [name for name in names_in(str(lacking.value)) if name not in filled]
        if not names:
            return records
        header = Header(lacking.key, names_text(names))
        return [record.replace(headers=(*record.headers, header)) for record in records]

    @cached_property
    def _keys(self) -> RowDecoder:
        """Reads the columns that rows are looked up by, in forms that the server understands."""
        wanted = {name for one in self._selections for name in one.key}
        values = [KeyColumn(column).value if column.name in wanted else None for column in self._version.table.columns]
        return RowDecoder(self._announced, (*values, *[None] * self._hidden))

    def _keys_after(self, event: RowsEvent) -> list[Row]:
        return [after for _, after in self._keys.update_rows(event)]

    def _completed(
        self, event: RowsEvent, rows: list[Row], absent: list[int], keys: Callable[[RowsEvent], list[Row]]
    ) -> list[Row]:
        self.filled = filled = frozenset(absent)
        key_rows: list[Row] | None = None
        for selection in self._selections:
            for number, row in enumerate(rows):
                places = sorted((selection.absent & filled) | {at for at in selection.nulls if row[at] is None})
                if not places:
                    self.filled &= selection.absent
                    continue
                key_rows = key_rows or keys(event)
                read = self._reselected(selection, event, places, key_rows[number])
                self.filled &= frozenset(places if read is not None else ())
                if read is not None:
                    rows[number] = _with(row, places, read)
        return rows

    def _reselected(self, selection: _Selection, event: RowsEvent, places: Sequence[int], key: Row) -> Row | None:
        """The columns at these places as they are now; None where they stay as they are."""
        try:
            return self._owner.found(self._version, places, self._condition(selection, event, key))
        except (SourceError, DecodeError, _NotFoundError) as error:
            self._owner.failed(str(self._version.table.id), event, error, fails=selection.fails)
            return None

    def _condition(self, selection: _Selection, event: RowsEvent, key: Row) -> str:
        if self._keys.absent(event):
            raise SourceError("the log does not carry the columns of its key")
        table = self._version.table
        named = [column for column in table.columns if any(column.name in one.key for one in self._selections)]
        literals = {column.name: KeyColumn(column).literal(value) for column, value in zip(named, key, strict=True)}
        return " AND ".join(f"{quoted(name)} = {literals[name]}" for name in selection.key)


def _with(row: Row, places: Sequence[int], values: Row) -> Row:
    """A row with other values at some places."""
    changed = list(row)
    for place, value in zip(places, values, strict=True):
        changed[place] = value
    return tuple(changed)
