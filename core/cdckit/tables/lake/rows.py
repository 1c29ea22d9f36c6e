"""What waits for a commit: rows and marks of each table, in memory or, where there are very many, in files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from arro3.core import RecordBatch

from cdckit.api.record import lane_of
from cdckit.tables.definitions import Fitting
from cdckit.tables.fitted_rows import fitted, moved_to
from cdckit.tables.groups import Group
from cdckit.tables.lake.arrow_types import arrow_schema
from cdckit.tables.lake.data_files import FiledRows
from cdckit.tables.layout import Layout
from cdckit.tables.marks import Mark, left_marks

if TYPE_CHECKING:
    from arro3.core.types import ArrowArrayExportable

    from cdckit.tables.lake.spilled_rows import SpilledRows


class Batches(Protocol):
    """Rows of one layout."""

    @property
    def rows(self) -> int:
        """How many there are."""

    def __iter__(self) -> Iterator[RecordBatch]:
        """The rows, in order."""


@dataclass(frozen=True, slots=True)
class Held:
    """Rows in memory."""

    batch: RecordBatch

    @classmethod
    def of(cls, batch: ArrowArrayExportable) -> Held:
        """Rows that any library has."""
        return cls(RecordBatch.from_arrow(batch))

    @property
    def rows(self) -> int:
        """How many there are."""
        return self.batch.num_rows

    def __iter__(self) -> Iterator[RecordBatch]:
        yield self.batch


@dataclass(frozen=True, slots=True)
class Part:
    """Some rows of one table.

    Attributes:
        position: the first one's.
        layout: what they have in common.
        batches: the rows.
    """

    position: str
    layout: Layout
    batches: Batches


@dataclass(frozen=True, slots=True)
class TableRows:
    """What a batch holds for one table.

    Attributes:
        parts: its rows, in the order in which they came.
        marks: the table marks among the rows.
        spilled: whether rows are in files, since there are too many for the memory.
    """

    parts: Sequence[Part]
    marks: Sequence[Mark] = ()
    spilled: bool = False

    @property
    def count(self) -> int:
        """How many rows there are."""
        return sum(part.batches.rows for part in self.parts)

    @property
    def layouts(self) -> list[tuple[str, Layout]]:
        """Each layout with the position of its first row, lane by lane."""
        first: dict[tuple[str, Layout], str] = {}
        for part in self.parts:
            place = (lane_of(part.position), part.layout)
            first[place] = min(part.position, first.get(place, part.position))
        return [(position, layout) for (_, layout), position in first.items()]

    @property
    def sources(self) -> set[str]:
        """The sources of whole rows."""
        return {part.layout.source for part in self.parts if part.layout.kind == "rows"}

    def without(self, sources: Set[str]) -> TableRows:
        """What there is of other source tables than these, and that one of these is gone."""
        parts = [part for part in self.parts if part.layout.table not in sources]
        return replace(self, parts=parts, marks=left_marks(self.marks, sources))

    def and_groups(self, groups: Iterable[Group]) -> TableRows:
        """These rows, and those of groups behind them."""
        made = [(group.position, *group.batch()) for group in groups]
        return replace(self, parts=[*self.parts, *(Part(at, layout, Held(batch)) for at, layout, batch in made)])

    def typed(self, columns: Mapping[str, str], fitting: Fitting) -> Iterator[RecordBatch]:
        """The rows with just these columns; one that a row lacks has there what older rows have, or null."""
        wanted = arrow_schema(columns)
        for part in self.parts:
            given, moved = fitting.missing(part.position, part.layout), fitting.moved(part.position, part.layout)
            for batch in part.batches:
                shown = moved_to(batch, moved) if moved else batch
                yield fitted(shown, wanted, given, fitting.tolerant)


class WaitingRows:
    """The rows and marks of one table.

    Attributes:
        bytes: how much memory the rows take.
    """

    def __init__(self) -> None:
        self.bytes = 0
        self._parts: list[Part] = []
        self._marks: list[Mark] = []
        self._files: dict[tuple[Layout, str, int], SpilledRows] = {}
        self._first: list[Part] = []
        self._filed: list[Part] = []

    def add(self, position: str, layout: Layout, batch: ArrowArrayExportable) -> None:
        """Takes rows."""
        held = Held.of(batch)
        self.bytes += held.batch.nbytes
        self._parts.append(Part(position, layout, held))

    def add_file(self, position: str, layout: Layout, rows: FiledRows) -> None:
        """Takes rows that are in a data file."""
        self._filed.append(Part(position, layout, rows))

    def add_mark(self, mark: Mark) -> None:
        """Takes a mark."""
        self._marks.append(mark)

    def spill(self, folder: Path) -> None:
        """Puts the rows into files."""
        for part in self._parts:
            for batch in part.batches:
                self._file_of(part, batch, folder).write(batch)
        self._parts, self.bytes = [], 0

    def _file_of(self, part: Part, batch: RecordBatch, folder: Path) -> SpilledRows:
        from cdckit.tables.lake.spilled_rows import SpilledRows  # noqa: PLC0415 - few pipelines have so many rows

        place = part.layout, str(batch.schema), self._marks_before(part.position)
        file = self._files.get(place)
        if file is None:
            file = self._files[place] = SpilledRows(folder / f"{id(self)}-{len(self._files)}.arrow", batch.schema)
            self._first.append(Part(part.position, part.layout, file))
        return file

    def _marks_before(self, position: str) -> int:
        """How many have come: rows behind one may have the columns of rows before it, and not their places."""
        lane = lane_of(position)
        return sum(mark.position < position and lane_of(mark.position) == lane for mark in self._marks)

    def taken(self) -> TableRows:
        """All of it."""
        spilled = bool(self._files or self._filed)
        return TableRows([*self._first, *self._filed, *self._parts], self._marks, spilled=spilled)

    def discard(self) -> None:
        """Removes the data files that no table has."""
        for part in self._filed:
            if isinstance(part.batches, FiledRows):
                part.batches.discard()
