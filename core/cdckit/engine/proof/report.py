"""What a proof found, kept in the pipeline's folder as `proof.json`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self

Outcome = Literal["equal", "unequal", "undecided"]
LostBy = Literal["capture", "delivery", ""]
FILE = "proof.json"
_VERSION = 1
_CODES = {"equal": 0, "unequal": 1, "undecided": 5}


@dataclass(frozen=True, slots=True)
class Difference:
    """One row that is not what it should be.

    Attributes:
        key: the key, as JSON.
        fault: `missing`, `extra`, `changed` or `doubled`, as the sink has it.
        columns: the columns that differ.
        source: the row at the source, its values by name; None: there is none.
        sink: the row in the sink; None: there is none.
        source_position: where the log tells of the source's row.
        sink_position: the same of the sink's.
        hashes: those of the row at the source and in the sink, as the ledger has them; empty where there is none.
        lost_by: who lost it, where the ledger tells.
    """

    key: str
    fault: str
    columns: tuple[str, ...]
    source: dict[str, Any] | None
    sink: dict[str, Any] | None
    source_position: str
    sink_position: str
    hashes: tuple[bytes, bytes] = (b"", b"")
    lost_by: LostBy = ""


@dataclass(frozen=True, slots=True)
class TableProof:
    """What was found of one table, or of the tables that share a topic.

    Attributes:
        table: `database.table`; several with commas between.
        topic: where their rows arrive.
        outcome: whether both sides are equal.
        rows: how many rows the source has.
        missing: how many of them the sink lacks.
        extra: how many the sink has besides.
        changed: how many are otherwise there, or twice.
        position: the place in the log for which that holds.
        seconds: how long it took.
        note: why it is undecided, and what else should be known.
        differences: some of the rows that differ.
        exact: whether both sides were read at that very place; else rows that changed meanwhile may be as any change
            since has left them.
        plain_key: whether keys are numbers and texts as the source itself has them, of one table alone.
    """

    table: str
    topic: str
    outcome: Outcome
    rows: int = 0
    missing: int = 0
    extra: int = 0
    changed: int = 0
    position: str = ""
    seconds: float = 0.0
    note: str = ""
    differences: tuple[Difference, ...] = field(default=(), repr=False)
    plain_key: bool = False
    exact: bool = False

    def to_json(self) -> dict[str, Any]:
        """What is kept: no value of any row."""
        return {
            "topic": self.topic,
            "outcome": self.outcome,
            "rows": self.rows,
            "missing": self.missing,
            "extra": self.extra,
            "changed": self.changed,
            "position": self.position,
            "exact": self.exact,
            "seconds": round(self.seconds, 3),
            "note": self.note,
        }

    @classmethod
    def from_json(cls, table: str, kept: Mapping[str, Any]) -> Self:
        """Reads what `to_json` gave; damage shows as an error of `cdckit.connector.damage`."""
        return cls(table, **{name: kept[name] for name in _KEPT})


_KEPT = ("topic", "outcome", "rows", "missing", "extra", "changed", "position", "seconds", "note", "exact")


def keep(folder: Path, tables: Sequence[TableProof]) -> None:
    """Writes what was found into the pipeline's folder, in the place of what was found before."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {
        "version": _VERSION,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "tables": {table.table: table.to_json() for table in tables},
    }
    beside = folder / f"{FILE}.{os.getpid()}"
    beside.write_text(json.dumps(found, indent=2))
    beside.replace(folder / FILE)


def exit_code(tables: Sequence[TableProof]) -> int:
    """0 where all are equal, 1 where one is not, else 5."""
    outcomes = {table.outcome for table in tables}
    if "unequal" in outcomes:
        return _CODES["unequal"]
    return _CODES["undecided"] if "undecided" in outcomes or not outcomes else _CODES["equal"]
