"""Pipelines whose sources go through kinds of changes, and that do what their messages say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from cdckit.cli.main import call
from delta_sink.kinds import KINDS, Kind
from delta_sink.shop import Shop
from histories.lakes import LoggedRows, MirroredRows
from histories.rows import Row, Types, at_source, columns_of, difference
from testkit.running import Pipeline

COMMAND = re.compile(r"`cdc ([^`]*)`")
"""A command that a message names."""
_MOST_STOPS = 40
Commands = set[tuple[str, str]]
"""What was called, and for which table."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What mirrors have come to.

    Attributes:
        unequal: the tables that do not equal their sources.
        rows: of some of them, in order, without where they are from.
    """

    unequal: Set[str]
    rows: Mapping[str, Sequence[tuple[Any, ...]]]


@dataclass(frozen=True)
class Played:
    """A pipeline whose source went through all kinds.

    Attributes:
        shop: its database and its lake.
        sink: the sink's options.
        printed: gives what was printed since it was last asked.
    """

    shop: Shop
    sink: Mapping[str, Any]
    printed: Callable[[], str]

    @property
    def lake(self) -> MirroredRows | LoggedRows:
        """What reads the tables."""
        return self.shop.lake

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline."""
        return self.shop.pipeline(dict(self.sink))

    def called(self, command: str) -> int:
        """Calls a command as a message prints it."""
        file = str(self.pipeline.written())
        return call(["--log-level", "error", *command.replace("FILE", file).split()])

    def stopped(self) -> str:
        """Delivers what there is; what it says where it stops, or ""."""
        self.printed()
        code = self.called("run FILE --once")
        said = self.printed()
        assert code == 0 or (code, "error CDC4401: " in said) == (4, True), said
        return said if code else ""

    def play(self, kinds: Mapping[str, Kind] = KINDS) -> Commands:
        """Has everything happen at the source; the commands that it took to go on."""
        self.shop.run("".join(kind.made(name) for name, kind in kinds.items()))
        assert not self.stopped()
        self.shop.run("".join(kind.changed(name) for name, kind in kinds.items()))
        return self.resolved()

    def resolved(self) -> Commands:
        """Delivers what there is, and does what the pipeline's last words say each time it stops."""
        named: Commands = set()
        for _ in range(_MOST_STOPS):
            if not (said := self.stopped()):
                return named
            command = COMMAND.findall(said)[0]
            words = command.split()
            one = " ".join(words[:-3]), words[-1].rpartition(".")[2]
            assert one not in named, f"twice: {said}"
            named.add(one)
            assert self.called(command) == 0, self.printed()
        raise AssertionError(f"still stops after {named}")

    def found(self, table: str) -> list[tuple[Any, ...]]:
        """The values of a mirror's rows, in order, without where they are from."""
        values = (tuple(value for name, value in row.items() if name[:2] != "__") for row in self.lake.found(table))
        return sorted(values, key=str)

    def unequal(self) -> set[str]:
        """The tables that do not come to their sources' rows; the mirrors also of other columns, and of no source."""
        name = self.shop.name
        tables = columns_of(self.shop.server, name)
        rows = self.lake.rows(tables)
        unequal = {one for one in rows if difference(tables[one], self._at_source(one, tables[one]), rows[one])}
        if self.shop.mode == "changelog":
            return unequal
        found = self.lake.names()
        assert found >= set(tables)
        unequal |= {one for one in found - set(tables) if self.lake.found(one)}
        return unequal | {one for one, types in tables.items() if self._columns(one) != set(types)}

    def _at_source(self, table: str, types: Types) -> Counter[Row]:
        return at_source(self.shop.server, self.shop.name, table, types)

    def _columns(self, table: str) -> set[str]:
        """A mirror's columns but its own; it has rows."""
        return {column for column in self.lake.found(table)[0] if not column.startswith("__")}

    def outcome(self, tables: Iterable[str]) -> Outcome:
        """What the mirrors have come to, with the rows of these."""
        return Outcome(self.unequal(), {table: self.found(table) for table in tables})
