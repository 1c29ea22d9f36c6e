"""What the ledger knows of the rows of one topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from cdckit.engine.ledger.row_form import RowForm
from cdckit.engine.ledger.sums import Sums

_FOLDED = 2048
"""So many hashes wait at the most until the offset behind them is known; then they are added up."""


@dataclass(slots=True)
class Pending:
    """Hashes that are not added up yet; up to two marks they belong to the last offset, behind them they came later.

    Attributes:
        put: the hashes of rows that came.
        gone: those of rows that went.
        put_at: the mark in `put`.
        gone_at: the mark in `gone`.
        emptied: whether all rows from before the marks are gone.
        sums: what came behind the offset and was added up already.
    """

    put: list[bytes] = field(default_factory=list)
    gone: list[bytes] = field(default_factory=list)
    put_at: int = 0
    gone_at: int = 0
    emptied: bool = False
    sums: Sums | None = None

    def settled_into(self, sums: Sums) -> None:
        """Adds up what belongs to the last offset."""
        sums.add(self.put[: self.put_at])
        sums.remove(self.gone[: self.gone_at])
        del self.put[: self.put_at], self.gone[: self.gone_at]
        self.put_at = self.gone_at = 0

    def fold(self) -> None:
        """Adds up what came behind the offset."""
        self.sums = self.sums or Sums()
        self.sums.add(self.put)
        self.sums.remove(self.gone)
        self.put, self.gone = [], []

    def __len__(self) -> int:
        return len(self.put) + len(self.gone)


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
        key: the columns that identify a row, where rows are taken from records.
        keyed: whether rows are known by their keys, beside the sums, which do not count yet.
        pending: what is not added up yet.
        changed: whether it was not saved as it is.
        seen: whether rows of a snapshot have come since the pipeline started.
    """

    form: RowForm | None = None
    sums: Sums = field(default_factory=Sums)
    void: str = ""
    reading: bool = False
    interrupted: bool = False
    sources: set[str] = field(default_factory=set)
    key: tuple[str, ...] = ()
    keyed: bool = False
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
        self.empty()
        self.reading = self.changed = True

    def spoil(self, why: str) -> None:
        """The sums tell nothing from here on; the first reason stays."""
        self.void = self.void or why
        self.changed = True

    def empty(self) -> None:
        """All rows are gone."""
        self.pending.settled_into(self.sums)
        self.pending = Pending(emptied=True)

    def take(self, put: Sequence[bytes], gone: Sequence[bytes]) -> None:
        """Takes hashes, in bounded memory however far the next offset is."""
        pending = self.pending
        pending.put += put
        pending.gone += gone
        if len(pending) >= _FOLDED:
            pending.settled_into(self.sums)
            pending.fold()

    def settle(self) -> None:
        """The offset behind what came is known."""
        pending = self.pending
        if pending.emptied:
            self.sums, pending.emptied = Sums(), False
        if pending.sums is not None:
            self.sums.add_all(pending.sums)
            pending.sums = None
        pending.put_at, pending.gone_at = len(pending.put), len(pending.gone)
        self.changed = True

    def read(self) -> None:
        """A snapshot has ended."""
        if self.reading or (self.interrupted and self.seen):
            self.reading = self.interrupted = False
            self.changed = True

    def drop(self) -> None:
        """What came behind the last offset comes again; of a snapshot perhaps more than that."""
        pending = self.pending
        del pending.put[pending.put_at :], pending.gone[pending.gone_at :]
        pending.emptied, pending.sums = False, None
        if self.reading and not self.keyed:
            self.reading, self.interrupted = False, True
            self.spoil("a snapshot of it was broken off, and went on")

    def to_json(self) -> dict[str, Any]:
        """What is kept."""
        form = self.form
        self.pending.settled_into(self.sums)
        return {
            "sums": self.sums.to_text(),
            "rows": self.sums.rows,
            "void": self.void,
            "reading": self.reading,
            "interrupted": self.interrupted,
            "sources": sorted(self.sources),
            "key": self.key,
            "keyed": self.keyed,
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
            tuple(kept.get("key", ())),
            bool(kept.get("keyed", False)),
            changed=False,
        )
