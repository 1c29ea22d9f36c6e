"""Which rows a Delta table refuses: those for which what it asks of rows does not hold, found by DataFusion.

delta-rs tells of a few rows, and of no place. So only once a table has refused a write are its rules evaluated here,
over the rows of that write, in a table without rules that is gone afterwards.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, write_deltalake

from cdckit.tables.delta.sql import literal, quoted
from cdckit.tables.layout import POSITION

if TYPE_CHECKING:
    from arro3.core.types import ArrowArrayExportable

MOST = 10_000
"""So many rows are looked for at a time; where there are more, the batch without these is refused again."""
_CONSTRAINT = "delta.constraints."
"""What the names of properties that are CHECK constraints begin with (Delta's protocol, "CHECK Constraints")."""
_INVARIANTS = "delta.invariants"
"""The part of a column's metadata in which an older kind of them stands (Delta's protocol, "Column Invariants")."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What a table asks of its rows.

    Attributes:
        said: of a row that breaks it.
        broken: whether a row breaks it, as SQL.
    """

    said: str
    broken: str


def refused_rows(table: DeltaTable, rows: Iterable[ArrowArrayExportable]) -> Mapping[str, str]:
    """The positions of the rows that a table refuses, with what is said of each.

    Args:
        table: the table.
        rows: with their positions, by the names of its columns.
    """
    rules, batches = list(rules_of(table)), map(pa.record_batch, rows)
    first = next(batches, None)
    if not rules or first is None:
        return {}
    reader = pa.RecordBatchReader.from_batches(first.schema, _all(first, batches))
    with tempfile.TemporaryDirectory(prefix="cdckit-refused-") as folder:
        write_deltalake(folder, reader)
        said = " ".join(f"when {rule.broken} then {literal(rule.said)}" for rule in rules)
        sought = f"select {quoted(POSITION)} as place, case {said} end as reason from rows"  # noqa: S608
        query = f"select place, reason from ({sought}) where reason is not null limit {MOST}"  # noqa: S608
        found = pa.table(QueryBuilder().register("rows", DeltaTable(folder)).execute(query).read_all())
    return dict(zip(found.column("place").to_pylist(), found.column("reason").to_pylist(), strict=True))


def _all(first: pa.RecordBatch, rest: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest


def rules_of(table: DeltaTable) -> Iterator[Rule]:
    """Those of a table."""
    for field in table.schema().fields:
        if not field.nullable:
            yield Rule(f"column '{field.name}' takes no null", f"{quoted(field.name)} is null")
        if found := (field.metadata or {}).get(_INVARIANTS):
            yield _holds(f"invariant of column '{field.name}'", json.loads(str(found))["expression"]["expression"])
    for name, text in table.metadata().configuration.items():
        if name.startswith(_CONSTRAINT):
            yield _holds(f"constraint '{name.removeprefix(_CONSTRAINT)}'", text)


def _holds(name: str, text: str) -> Rule:
    # To Delta a constraint holds only where it is true: null is not.
    return Rule(f"{name} ({text}) does not hold", f"not coalesce(({text}), false)")
