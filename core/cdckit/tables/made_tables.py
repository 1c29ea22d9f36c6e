"""Which tables a pipeline has rows in, remembered elsewhere than with these: so that one which is gone is missed.

A table that is made anew has the rows alone that come from then on. Of one that never had a row these are all; of one
that somebody has removed they are not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cdckit.api.marks import EMPTYING
from cdckit.errors import SinkError

if TYPE_CHECKING:
    from cdckit.tables.marks import Mark

_NAMED = 10
"""So many tables are named at the most."""
_TOLD = 18
"""So much of a UUID tells tables apart, and is kept for each of thousands."""


class TablesGoneError(SinkError):
    """Tables that the pipeline has written are not there.

    Args:
        tables: where they were.
        sources: the source tables whose rows they had.
        replaced: those of the tables in whose place there are others.
    """

    number = "CDC4407"

    def __init__(self, tables: Sequence[str], sources: Sequence[str], replaced: Sequence[str] = ()) -> None:
        self.tables, self.sources, self.replaced = sorted(tables), sorted({*sources}), sorted(replaced)
        options = " ".join(f"--table {name}" for name in self.sources[:_NAMED])
        super().__init__(
            f"{_listed(self.tables)} gone{self._instead}, and this pipeline has written rows there: made anew, there "
            f"would be those alone that change from now on. `cdc resnapshot FILE {options}{_more(self.sources)}` has "
            "them read again, `cdc offsets keep FILE` goes on without them; or put back what is gone"
        )

    @property
    def _instead(self) -> str:
        if not self.replaced:
            return ""
        which = "its place" if len(self.tables) == 1 else f"the place of {', '.join(self.replaced[:_NAMED])}"
        return f", with another one in {which}{_more(self.replaced)}"

    @classmethod
    def of(cls, errors: Sequence[TablesGoneError]) -> TablesGoneError:
        """That of several tables."""
        return cls(
            [table for error in errors for table in error.tables],
            [source for error in errors for source in error.sources],
            [table for error in errors for table in error.replaced],
        )


def _listed(tables: Sequence[str]) -> str:
    several = len(tables) > 1
    named = ", ".join(tables[:_NAMED])
    return f"table{'s' if several else ''} {named}{_more(tables)}: {'are' if several else 'is'}"


def _more(names: Sequence[str]) -> str:
    return f" … ({len(names)} in all)" if len(names) > _NAMED else ""


@dataclass(frozen=True, slots=True)
class MadeTable:
    """That a topic's table has rows of a source table.

    Attributes:
        topic: the table's.
        source: what layouts of the rows say in `source`.
        table: the source's `database.table`; None where no mark has told it.
        made: whether it has; else that is to be forgotten.
        identity: what tells the topic's table from others that may take its place; None where that is not known.
    """

    topic: str
    source: str
    table: str | None = None
    made: bool = True
    identity: str | None = None


class MadeTables:
    """Those of one pipeline; several threads may write, each a table of its own.

    Args:
        kept: what was remembered before.
        keep: remembers more, durably; None: nothing is remembered, and no table is missed.
    """

    def __init__(
        self, kept: Iterable[MadeTable] = (), keep: Callable[[Sequence[MadeTable]], None] | None = None
    ) -> None:
        self._keep = keep
        self._known: dict[str, dict[str, str | None]] = {}
        self._identities: dict[str, str] = {}
        self._changes: dict[tuple[str, str], MadeTable] = {}
        for one in kept:
            self._known.setdefault(one.topic, {})[one.source] = one.table
            if one.identity is not None:
                self._identities[one.topic] = one.identity

    @property
    def remembers(self) -> bool:
        """Whether anything is remembered."""
        return self._keep is not None

    def knows(self, topic: str) -> bool:
        """Whether a topic's table is remembered, or none is."""
        return self._keep is None or bool(self._known.get(topic))

    def is_another(self, topic: str, identity: str | None) -> bool:
        """Whether a table is known to be another one than a topic's that is remembered."""
        known = self._identities.get(topic)
        return identity is not None and known is not None and known != identity[:_TOLD]

    def require_told(
        self,
        target: object,
        topic: str,
        marks: Sequence[Mark],
        asked: Collection[str],
        *,
        replaced: bool = False,
    ) -> None:
        """Makes sure of a table that is not there that all its rows are told from here on.

        Args:
            target: what errors call it.
            topic: the table's.
            marks: what comes with the rows.
            asked: the source tables that are to be read again.
            replaced: whether another one is there.

        Raises:
            SinkError: it had rows that are not.
        """
        begun = _begun(marks)
        untold = [
            table or source
            for source, table in self._known.get(topic, {}).items()
            if source not in begun and not _is_asked(source, table, asked)
        ]
        if untold:
            raise TablesGoneError([str(target)], untold, [str(target)] if replaced else ())

    def wrote(
        self,
        topic: str,
        sources: Set[str],
        marks: Sequence[Mark],
        *,
        before: bool,
        there: bool,
        identity: str | None = None,
    ) -> None:
        """A batch was written.

        Args:
            topic: the table's.
            sources: whose rows it has, as far as that is known.
            marks: what came with these.
            before: whether the table was there before.
            there: whether it is now.
            identity: what tells it from others, if that is known.
        """
        if self._keep is None:
            return
        if there:
            self._identify(topic, identity)
            self._have(topic, sources, {mark.source: mark.table for mark in marks})
        if not before:
            self._lack(topic, self._known.get(topic, {}).keys() - sources if there else _begun(marks))

    def waits(self, topic: str, sources: Set[str], marks: Sequence[Mark] = (), *, waiting: bool) -> None:
        """Changes wait beside a topic's table, or none do.

        Args:
            topic: what is remembered of them is remembered as of a table of this topic.
            sources: whose changes have come.
            marks: what came with these.
            waiting: whether some wait.
        """
        if self._keep is None:
            return
        if waiting:
            self._have(topic, sources, {mark.source: mark.table for mark in marks})
        else:
            self._lack(topic, self._known.get(topic, {}).keys())

    def _identify(self, topic: str, identity: str | None) -> None:
        told = None if identity is None else identity[:_TOLD]
        if told is not None and self._identities.get(topic) != told:
            self._identities[topic] = told
            for source in self._known.get(topic, {}):
                self._changed(topic, source)

    def _have(self, topic: str, sources: Set[str], names: Mapping[str, str]) -> None:
        known = self._known.setdefault(topic, {})
        for source in sources:
            table = known.get(source) or names.get(source)
            if source not in known or known[source] != table:
                known[source] = table
                self._changed(topic, source)

    def _lack(self, topic: str, sources: Set[str]) -> None:
        known = self._known.get(topic, {})
        for source in sources & known.keys():
            del known[source]
            self._changes[topic, source] = MadeTable(topic, source, made=False)

    def _changed(self, topic: str, source: str) -> None:
        known = self._known[topic][source]
        self._changes[topic, source] = MadeTable(topic, source, known, identity=self._identities.get(topic))

    def save(self) -> None:
        """Remembers what was written since, durably.

        Raises:
            StateError: that cannot be kept.
        """
        if self._changes and self._keep is not None:
            self._keep(list(self._changes.values()))
            self._changes.clear()


def _begun(marks: Iterable[Mark]) -> set[str]:
    """The sources all of whose rows are told behind marks."""
    return {mark.source for mark in marks if mark.kind in EMPTYING}


def _is_asked(source: str, table: str | None, asked: Collection[str]) -> bool:
    """Whether a source table is among some; of flattened rows only the name of their schema may be known."""
    return any(name in (source, table) or (table is None and f".{name}." in f".{source}.") for name in asked)
