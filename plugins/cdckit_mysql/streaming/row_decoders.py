"""Which decoder and which records belong to a table that the log announces."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from cdckit import UNAVAILABLE_HEADER, DecodeError, Header, Record, names_text
from cdckit.connector.table_events import MakeRecords
from cdckit_mysql.binlog.rows_event import Change, RowsEvent
from cdckit_mysql.binlog.tables import TableMap
from cdckit_mysql.events.versions import TableVersion, TableVersions
from cdckit_mysql.filters import Filters
from cdckit_mysql.rows import RowDecoder
from cdckit_mysql.streaming.current_rows import CurrentRows, row_end_place
from cdckit_mysql.streaming.definitions import Definitions
from cdckit_mysql.streaming.failures import InconsistentSchemaError
from cdckit_mysql.streaming.hidden_columns import HiddenColumns, hidden_columns
from cdckit_mysql.streaming.reselection import Reselection, TableReselection
from cdckit_mysql.table import Table

log = logging.getLogger("cdckit.mysql")

_KEPT = 4096
"""As many as the log's reader keeps announcements: an announcement that is read anew has no maker yet."""
_IMAGES_KEPT = 1000
_LETTERS: dict[Change, str] = {"write": "c", "update": "u", "delete": "d"}
"""What `skipped.operations` calls the kinds of change."""


@dataclass(frozen=True, slots=True)
class Gaps:
    """What an event's images leave out.

    Attributes:
        header: names the columns that no image of a row holds; None where there are none.
        required: whether an image lacks a column that can be neither null nor the placeholder.
    """

    header: Header | None
    required: bool


class RowMaker:
    """Rows events of one announced table to rows, and rows to records.

    Attributes:
        definition: the table's, which it is made for.
        table: the table's name.
        name: the same as text.
        rows: for each kind of change, what gives an event's rows, or pairs of rows for an update.
        records: for each kind of change, what makes records of rows, see `TableEvents`.
        updates_made: says how many events there are of pairs of rows.
        current: of a system-versioned table, tells what an event changes in the rows of now; None of any other.
        with_gaps: gives the maker for events that lack columns which this one requires.
    """

    __slots__ = (
        "_decoder",
        "_fields",
        "_gaps",
        "_required",
        "_reselection",
        "current",
        "definition",
        "name",
        "records",
        "rows",
        "table",
        "updates_made",
        "with_gaps",
    )

    def __init__(
        self,
        definition: Table,
        decoder: RowDecoder,
        version: TableVersion,
        skipped: frozenset[str],
        with_gaps: Callable[[], RowMaker],
        reselection: TableReselection | None = None,
        current: CurrentRows | None = None,
    ) -> None:
        self._reselection = reselection
        self.current = current
        self.definition = definition
        self.table = version.table.id
        self.name = str(version.table.id)
        self.rows: dict[Change, Callable[[RowsEvent], Sequence[Any]]] = {
            "write": decoder.write_rows if reselection is None else reselection.writes(decoder),
            "update": decoder.update_rows if reselection is None else reselection.updates(decoder),
            "delete": decoder.delete_rows,
        }
        self.rows |= {change: _nothing for change, letter in _LETTERS.items() if letter in skipped}
        events = version.events
        self.records: dict[Change, MakeRecords] = {
            "write": events.creates,
            "update": events.updates,
            "delete": events.deletes,
        }
        self.updates_made = events.updates_made
        self.with_gaps = with_gaps
        self._decoder = decoder
        self._fields = [field.name for field in events.row_schema.fields]
        shown = [value for value in version.values if value is not None]
        self._required = [value.absent is None and not value.schema.optional for value in shown]
        self._gaps: dict[tuple[bytes, bytes], Gaps] = {}

    def marked(self, records: list[Record], lacking: Header) -> list[Record]:
        """The records of the event whose rows were asked for last, with a header that names what they lack."""
        if self._reselection is not None:
            return self._reselection.marked(records, lacking)
        return [record.replace(headers=(*record.headers, lacking)) for record in records]

    def parts(self, event: RowsEvent) -> Sequence[RowsEvent]:
        """What an event changes in the rows of now, see `CurrentRows`: the event itself, of any other table."""
        return (event,) if self.current is None else self.current.parts(event)

    def gaps(self, event: RowsEvent) -> Gaps:
        """What the event's images leave out."""
        images = (event.columns, event.columns_after)
        gaps = self._gaps.get(images)
        if gaps is None:
            if len(self._gaps) >= _IMAGES_KEPT:
                self._gaps.clear()
            gaps = self._gaps[images] = self._gaps_of(event)
        return gaps

    def _gaps_of(self, event: RowsEvent) -> Gaps:
        names = names_text(self._fields[place] for place in self._decoder.absent(event))
        required = any(self._required[place] for place in self._decoder.incomplete(event))
        return Gaps(Header(UNAVAILABLE_HEADER, names) if names else None, required)


DecodedRows: TypeAlias = tuple[RowMaker | None, Header | None, RowsEvent, Sequence[Any]]
"""The rows of an event, or of a part of it (pairs of them for an update), behind what makes records of them (None of a
table that is not captured), the header that names the columns which they lack, and that event. Made for each event."""


def _nothing(_event: RowsEvent) -> Sequence[Any]:
    """The rows of an operation that is left out."""
    return ()


def _current_rows(announced: TableMap, table: Table, hidden: HiddenColumns) -> CurrentRows | None:
    if not table.system_versioned:
        return None
    return CurrentRows(announced, row_end_place(announced, table, hidden=hidden.period))


class RowDecoders:
    """Makes and keeps the makers for the tables that the log announces, for as long as its definition holds."""

    def __init__(
        self,
        filters: Filters,
        versions: TableVersions,
        definitions: Definitions,
        skipped: frozenset[str],
        reselection: Reselection | None = None,
    ) -> None:
        self._reselection = reselection
        self._skipped = skipped
        self._filters = filters
        self._versions = versions
        self._definitions = definitions
        self._makers: dict[TableMap, RowMaker | None] = {}
        self._at = definitions.changes
        self._gaps_told = not versions.complete_images

    def decoded(self, event: RowsEvent) -> Sequence[DecodedRows]:
        """An event's rows, of a system-versioned table those of now, in parts by what they are; raises as `of`."""
        maker, lacking = self._of_event(event)
        if maker is None:
            return ((None, None, event, ()),)
        if maker.current is None:
            return ((maker, lacking, event, maker.rows[event.change](event)),)
        return [self._part(part) for part in maker.parts(event)]

    def _part(self, part: RowsEvent) -> DecodedRows:
        maker, lacking = self._of_event(part)
        return maker, lacking, part, () if maker is None else maker.rows[part.change](part)

    def _of_event(self, event: RowsEvent) -> tuple[RowMaker | None, Header | None]:
        """The maker for an event's rows, and the header that names the columns which they lack; raises as `of`."""
        maker = self.of(event.table)
        if maker is None:
            return None, None
        gaps = maker.gaps(event)
        if gaps.header is not None and not self._gaps_told:
            self._tell_gaps(maker, gaps.header)
        return (maker.with_gaps() if gaps.required else maker), gaps.header

    def of(self, announced: TableMap) -> RowMaker | None:
        """The maker for a table, or None for one that is not captured.

        Raises:
            DecodeError: its definition is not known, or is not the one that the log announces.
        """
        if self._at != self._definitions.changes:
            self._keep_unchanged()
            self._at = self._definitions.changes
        try:
            return self._makers[announced]
        except KeyError:
            if len(self._makers) >= _KEPT:
                self._makers.clear()
            maker = self._makers[announced] = self._maker(announced)
            return maker

    def _keep_unchanged(self) -> None:
        """Forgets the makers of tables whose definition is another one now: of thousands it is mostly one."""
        self._makers = {
            announced: maker
            for announced, maker in self._makers.items()
            if maker is not None and self._definitions.of(announced) is maker.definition
        }

    def _maker(self, announced: TableMap) -> RowMaker | None:
        if not self._filters.captures(announced.database, announced.name):
            return None
        table = self._definitions.of(announced)
        if table is None:
            raise InconsistentSchemaError(
                "the schema history knows no such table here; a new snapshot of the definitions is needed: "
                "start with a new state folder",
                number="CDC5102",
            )
        if table.sequence:
            return None
        return self._make(announced, table, self._versions)

    def _make(self, announced: TableMap, table: Table, versions: TableVersions) -> RowMaker:
        version = versions.of(table)
        try:
            hidden = hidden_columns(announced, table)
            decoder = RowDecoder(announced, (*version.values, *[None] * hidden.count))
            current = _current_rows(announced, table, hidden)
        except DecodeError as error:
            raise InconsistentSchemaError(str(error)) from error
        with_gaps = cache(lambda: self._make(announced, table, versions.with_gaps))
        reselection = None if self._reselection is None else self._reselection.of(announced, version, hidden.count)
        return RowMaker(table, decoder, version, self._skipped, with_gaps, reselection, current)

    def _tell_gaps(self, maker: RowMaker, lacking: Header) -> None:
        """Once: which columns were missing first, though the server's own setting is to log all of them."""
        self._gaps_told = True
        log.warning(
            "%s: the log lacks columns of changed rows (%s), since a session set binlog_row_image: "
            "such columns become unavailable.value.placeholder or null",
            maker.name,
            lacking.value,
        )
