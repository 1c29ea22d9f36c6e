"""The definitions that a piece of the log does not name, packed: its table marks tell of all captured tables.

Few pieces have statements that make marks, and of their readers few look at other tables than the marks are about. So
these travel as bytes, of which thousands of tables of a few shapes need a few for each name.
"""

from __future__ import annotations

import bz2
import pickle
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from cdckit_mysql.table import Table, TableId


@dataclass(frozen=True, slots=True)
class OtherTables:
    """Tables as bytes.

    Attributes:
        packed: they, shape by shape.
    """

    packed: bytes

    @classmethod
    def of(cls, tables: Iterable[Table]) -> OtherTables:
        """These tables."""
        shapes: dict[tuple[object, ...], Table] = {}
        names: defaultdict[tuple[object, ...], list[TableId]] = defaultdict(list)
        for table in tables:
            shape = _shape(table)
            shapes.setdefault(shape, table)
            names[shape].append(table.id)
        content = [(table, [tuple(name) for name in names[shape]]) for shape, table in shapes.items()]
        return cls(bz2.compress(pickle.dumps(content, pickle.HIGHEST_PROTOCOL)))

    def tables(self) -> Iterator[Table]:
        """They, in any order."""
        content = pickle.loads(bz2.decompress(self.packed))  # noqa: S301 - this project's own planner wrote it
        for table, names in content:
            yield from (replace(table, database=database, name=name) for database, name in names)


def _shape(table: Table) -> tuple[object, ...]:
    """The same for tables that differ by their names alone; those that were read from one text share their columns."""
    rest = table.primary_key, table.indexes, table.charset, table.collation, table.comment, table.period
    return id(table.columns), *rest, table.system_versioned, table.history_partitions, table.sequence
