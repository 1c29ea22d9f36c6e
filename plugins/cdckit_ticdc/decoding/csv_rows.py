"""The CSV of TiCDC's storage sink (TiCDC's manual, "CSV Protocol").

A line is the operation (I, U, D), the table, the database, commit_ts where `include-commit-ts` is on, whether the line
is half of an update where `output-old-value` is on, and the columns in the order of the schema file.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from cdckit import DecodeError
from cdckit_ticdc.columns.binary import BINARY_FORMS
from cdckit_ticdc.columns.texts import Forms, TextColumns
from cdckit_ticdc.decoding.decoder import Decoder, DecoderOptions
from cdckit_ticdc.definitions import Definition, Definitions
from cdckit_ticdc.events import Event
from cdckit_ticdc.layout import Layout
from cdckit_ticdc.message import Message
from cdckit_ticdc.reading.storage import table_of
from cdckit_ticdc.records import Stamp

_OPERATIONS = {"I": "c", "U": "u", "D": "d"}
_LEADING = 3


@dataclass(frozen=True, slots=True)
class CsvForm:
    """How the sink writes: its options `delimiter`, `quote` and `null`."""

    delimiter: str = ","
    quote: str = '"'
    null: str = "\\N"


class CsvDecoder(Decoder):
    """Decodes lines of CSV.

    Args:
        stored: gives the definitions in the schema files, asked again when one is missing.
    """

    times_rows = False

    def __init__(
        self,
        options: DecoderOptions,
        known: Definitions,
        form: CsvForm,
        stored: Callable[[], Iterable[Definition]],
    ) -> None:
        super().__init__(options, known)
        self._form = form
        self._stored = stored
        self._columns = TextColumns(
            options.columns, Forms(BINARY_FORMS[options.columns.binary_form], labels="labels", bit=int)
        )

    def events(self, message: Message) -> Sequence[Event]:
        """The records of a line."""
        database, table, version = table_of(message.file or "")
        definition = self._definition(database, table, version)
        cells = self._cells((message.value or b"").decode())
        names = [column.name for column in definition.columns]
        leading = len(cells) - len(names)
        if not _LEADING <= leading <= _LEADING + 2 or cells[0] not in _OPERATIONS:
            raise DecodeError(
                f"table {database}.{table}: a line of {len(cells)} values, where version {version} has "
                f"{len(names)} columns"
            )
        commit_ts = next((int(cell) for cell in cells[_LEADING:leading] if cell.isdecimal()), 0)
        row = {name: self._value(cell) for name, cell in zip(names, cells[leading:], strict=True)}
        operation = _OPERATIONS[cells[0]]
        layout = self._layout(definition)
        images = layout.images("d", row, None) if operation == "d" else layout.images(operation, None, row)
        return self.maker.records(message, operation, images, Stamp(commit_ts or version, commit_ts))

    def _cells(self, line: str) -> list[str]:
        form = self._form
        try:
            if not form.quote:
                return next(csv.reader([line], delimiter=form.delimiter, quoting=csv.QUOTE_NONE, strict=True))
            return next(csv.reader([line], delimiter=form.delimiter, quotechar=form.quote, strict=True))
        except (csv.Error, StopIteration) as error:
            raise DecodeError(f"no line of CSV: {error}") from error

    def _value(self, cell: str) -> str | None:
        return None if cell == self._form.null else cell

    def _definition(self, database: str, table: str, version: int) -> Definition:
        found = self.definitions.version(database, table, version)
        if found is None:
            for definition in self._stored():
                self.definitions.learn(definition)
            found = self.definitions.version(database, table, version)
        if found is None:
            raise DecodeError(
                f"table {database}.{table}: there is no schema file of version {version}", number="CDC5202"
            )
        return found

    def _layout(self, definition: Definition) -> Layout:
        table = (definition.database, definition.table)
        return self.layout(definition, "default", table, lambda: self._columns.of_table(definition))
