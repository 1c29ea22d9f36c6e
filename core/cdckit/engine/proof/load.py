"""How much of the source a proof may take: rows a second, and how busy the server may be by its own figures."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Self

from cdckit.api.source import Source
from cdckit.errors import ConfigError

log = logging.getLogger("cdckit.proof")

_STEP_SECONDS = 0.2
_ASKED_SECONDS = 1.0
"""So often a server that is too busy is asked again."""


@dataclass(frozen=True, slots=True)
class MaxLoad:
    """What must not be exceeded.

    Attributes:
        rows: rows a second; None: as many as come.
        figures: the most that each of the server's figures may be, by their names.
    """

    rows: int | None = None
    figures: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def parsed(cls, text: str) -> Self:
        """Reads `ROWS`, and `NAME=NUMBER`, with commas between them.

        Raises:
            ConfigError: a part is neither.
        """
        rows: int | None = None
        figures: dict[str, int] = {}
        for part in text.split(","):
            name, equals, number = part.strip().rpartition("=")
            if not number.isdecimal() or int(number) < 1 or (equals and not name.isidentifier()):
                raise ConfigError(f"--max-load: should be rows a second, or such as Threads_running=25, not '{part}'")
            if equals:
                figures[name] = int(number)
            else:
                rows = int(number)
        return cls(rows, figures)


FREE = MaxLoad()
"""As much as there is."""


class Brake:
    """Holds one reading back.

    Args:
        load: what must not be exceeded.
        source: the source, open.
        stopping: once true, nothing is waited for.
    """

    def __init__(self, load: MaxLoad, source: Source, stopping: Callable[[], bool]) -> None:
        self._load = load
        self._source = source
        self._stopping = stopping
        self._begun = time.monotonic()
        self._rows = 0

    def took(self, rows: int) -> None:
        """Some rows were read: waits until so many may have been."""
        if self._load.rows is None:
            return
        self._rows += rows
        due = self._begun + self._rows / self._load.rows
        while (early := due - time.monotonic()) > 0 and not self._stopping():
            time.sleep(min(early, _STEP_SECONDS))

    def before_part(self) -> None:
        """A part of a table is to be read: waits while the server is too busy. No query is open meanwhile.

        Raises:
            ConfigError: the server has no such figure.
            SourceError: it does not answer.
        """
        said = False
        while (busy := self._exceeded()) and not self._stopping():
            if not said:
                log.info("waiting while the source is busy: %s (--max-load)", busy)
            said = True
            until = time.monotonic() + _ASKED_SECONDS
            while time.monotonic() < until and not self._stopping():
                time.sleep(_STEP_SECONDS)

    def _exceeded(self) -> str:
        limits = self._load.figures
        if not limits:
            return ""
        found = self._source.load(list(limits))
        if unknown := [name for name in limits if name not in found]:
            raise ConfigError(f"--max-load: the server has no figure '{unknown[0]}'")
        return ", ".join(f"{name} is {found[name]}" for name, most in limits.items() if found[name] > most)
