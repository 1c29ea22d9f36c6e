"""Which source tables have rows in a mirror: what empties one of them must leave the others' alone."""

from __future__ import annotations

import json
from collections.abc import Set

from cdckit_spark.targets import Target

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
        return others | set(noted.get(self._pipeline, ()))

    def add(self, names: Set[str]) -> None:
        """Rows of these come."""
        noted = self._load()
        known = set(noted.get(self._pipeline, ()))
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
