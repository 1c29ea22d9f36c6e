"""Which source tables have rows in a mirror: what empties one of them must leave the others' alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Set

from cdckit.errors import SinkError
from cdckit.tables.layout import Layout
from cdckit.tables.target import Target

MAKER, SOURCE = "pipeline", "source"
"""The notes, never changed, of the pipeline that has made a table, and the source table whose rows came first."""
NOTE = "sources"
"""The note with the names of pipelines, and of the sources of the rows that each has written."""


class Sources:
    """The sources of one mirror.

    Args:
        target: the mirror.
        pipeline: the name of the pipeline that writes now.
    """

    def __init__(self, target: Target, pipeline: str) -> None:
        self._target = target
        self._pipeline = pipeline
        self._noted: dict[str, list[str]] | None = None

    @property
    def names(self) -> set[str]:
        """The sources, as layouts name them; those of other pipelines with the pipeline's name behind."""
        noted = self._load()
        others = {f"{name} (pipeline {one})" for one, names in noted.items() if one != self._pipeline for name in names}
        return others | self.own

    @property
    def own(self) -> set[str]:
        """The sources whose rows this pipeline has written."""
        return set(self._load().get(self._pipeline, ()))

    def begin(self, *, here: bool) -> None:
        """Sees to it that the pipeline has begun the mirror, and so told it all rows.

        Args:
            here: whether it does so now.

        Raises:
            SinkError: other pipelines have, and it has not.
        """
        noted = self._load()
        if not noted or self._pipeline in noted:  # one that says nothing was made by an older version
            return
        if not here:
            raise SinkError(
                f"table {self._target}: was begun by pipeline {_named(noted)}, and pipeline '{self._pipeline}' comes "
                "with changes alone, so that rows would be missing: have its rows read with `cdc resnapshot FILE "
                "--table NAME`, or write to another place",
                number="CDC4402",
            )
        self._keep({**noted, self._pipeline: []})

    def first(self, names: Set[str]) -> dict[str, str]:
        """The note of a table that is made for rows of these."""
        return {NOTE: json.dumps({self._pipeline: sorted(names)})}

    def add(self, names: Set[str]) -> None:
        """Rows of these come."""
        noted = self._load()
        known = self.own
        if not names <= known:
            self._keep({**noted, self._pipeline: sorted(known | names)})

    def restart(self, names: Set[str]) -> None:
        """There are rows of no others any more."""
        wanted = {self._pipeline: sorted(names)}
        if self._load() != wanted:
            self._keep(wanted)

    def _load(self) -> dict[str, list[str]]:
        if self._noted is None:
            self._noted = json.loads(self._target.notes().get(NOTE, "{}"))
        return self._noted

    def _keep(self, noted: dict[str, list[str]]) -> None:
        self._target.note({NOTE: json.dumps(noted)})
        self._noted = noted


def origin(pipeline: str, layouts: Iterable[tuple[str, Layout]]) -> dict[str, str]:
    """The notes of a table that is made which say by whom, and for which source table's rows first."""
    found = min(((position, layout.source) for position, layout in layouts if layout.kind == "rows"), default=("", ""))
    return {MAKER: pipeline, **({SOURCE: found[1]} if found[1] else {})}


def noted_sources(notes: Mapping[str, str], pipeline: str) -> set[str]:
    """The sources whose rows a pipeline has written, as far as a table's notes say."""
    of_mirror = json.loads(notes.get(NOTE, "{}")).get(pipeline)
    first = {notes[SOURCE]} if SOURCE in notes and notes.get(MAKER) == pipeline else set[str]()
    return first if of_mirror is None else set(of_mirror)


def _named(noted: Mapping[str, object]) -> str:
    return ", ".join(f"'{name}'" for name in sorted(noted))
