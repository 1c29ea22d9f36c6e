"""What the ledger knows of the rows of one topic."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

from cdckit.engine.ledger.row_form import RowForm
from cdckit.engine.ledger.sums import Sums

_FOLDED = 8192
"""So many hashes wait at the most until the offset behind them is known; then they are added up."""


@dataclass(slots=True)
class Pending:
    """What came behind the last offset.

    Attributes:
        emptied: whether all rows from before are gone.
        put: the hashes of rows that came.
        gone: those of rows that went.
        sums: what was added up of them already.
    """

    emptied: bool = False
    put: list[int] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)
    sums: Sums | None = None

    def fold(self) -> None:
        """Adds up what has come, where it is much."""
        if len(self.put) + len(self.gone) >= _FOLDED:
            self.sums = self.sums or Sums()
            self.into(self.sums)
            self.put, self.gone = [], []

    def into(self, sums: Sums) -> None:
        """Adds the hashes to sums."""
        sums.add(self.put, len(self.put))
        sums.remove(self.gone, len(self.gone))

    def empty(self) -> None:
        """All rows are gone."""
        self.emptied, self.put, self.gone, self.sums = True, [], [], None


@dataclass(slots=True)
class TableLedger:
    """The sums of one topic's rows, and whether they are the whole.

    Attributes:
        form: how rows become texts; None: no row has come yet.
        sums: up to the last offset.
        void: why they tell nothing; "": they do.
        reading: whether a snapshot is reading the rows.
        interrupted: whether it was broken off, so that what comes is not the whole.
        sources: the tables whose rows arrive there.
        pending: what came behind the last offset.
        changed: whether it was not saved as it is.
        seen: whether rows of a snapshot have come since the pipeline started.
    """

    form: RowForm | None = None
    sums: Sums = field(default_factory=Sums)
    void: str = ""
    reading: bool = False
    interrupted: bool = False
    sources: set[str] = field(default_factory=set)
    pending: Pending = field(default_factory=Pending)
    changed: bool = True
    seen: bool = False

    def begin(self, form: RowForm, source: str) -> None:
        """All rows are told from here on."""
        if self.sources - {source}:
            self.spoil(f"its rows are those of several tables ({', '.join(sorted(self.sources | {source}))}), one of "
                       "which was read again")  # fmt: skip
            return
        self.form, self.void, self.sources = form, "", set()
        self.pending.empty()
        self.reading = self.changed = True

    def spoil(self, why: str) -> None:
        """The sums tell nothing from here on; the first reason stays."""
        self.void = self.void or why
        self.changed = True

    def settle(self) -> None:
        """The offset behind what came is known."""
        pending = self.pending
        if not (pending.emptied or pending.put or pending.gone or pending.sums):
            return
        if pending.emptied:
            self.sums = Sums()
        if pending.sums is not None:
            self.sums.add_all(pending.sums)
        pending.into(self.sums)
        self.pending, self.changed = Pending(), True

    def read(self) -> None:
        """A snapshot has ended."""
        if self.reading or (self.interrupted and self.seen):
            self.reading = self.interrupted = False
            self.changed = True

    def drop(self) -> None:
        """What came behind the last offset comes again; of a snapshot perhaps more than that."""
        self.pending = Pending()
        if self.reading:
            self.reading, self.interrupted = False, True
            self.spoil("a snapshot of it was broken off, and went on")

    def to_json(self) -> dict[str, Any]:
        """What is kept."""
        form = self.form
        return {
            "sums": self.sums.to_text(),
            "rows": self.sums.rows,
            "void": self.void,
            "reading": self.reading,
            "interrupted": self.interrupted,
            "sources": sorted(self.sources),
            "form": None if form is None else [list(form.columns.items()), form.documents, form.times],
        }

    @classmethod
    def from_json(cls, kept: Any) -> Self:
        """Reads what `to_json` gave; damage shows as an error of `cdckit.connector.damage`."""
        form = None
        if kept["form"] is not None:
            columns, documents, times = kept["form"]
            form = RowForm({str(name): str(kind) for name, kind in columns}, tuple(documents), tuple(times))
        return cls(
            form,
            Sums.from_text(kept["sums"], int(kept["rows"])),
            str(kept["void"]),
            bool(kept["reading"]),
            bool(kept["interrupted"]),
            set(kept["sources"]),
            changed=False,
        )
