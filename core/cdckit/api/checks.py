"""What `cdc validate --connect` finds out about a system before a pipeline runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, Self, runtime_checkable

from cdckit.api.record import Offset
from cdckit.errors import CdcError, number_of


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        name: what was looked at, such as `binlog_format`.
        status: `warn`: it runs, but not as one may expect; `fail`: it cannot run.
        message: what was found.
        remedy: what to do about it, with the command that does it; "" where nothing is needed.
        number: of this kind of finding, such as `CDC1203`, which `cdc doctor --explain` tells of; "": a general one.
    """

    name: str
    status: Literal["ok", "warn", "fail"]
    message: str
    remedy: str = ""
    number: str = ""

    @classmethod
    def of(cls, name: str, error: CdcError, remedy: str = "") -> Self:
        """What an error is as a finding; it bears the error's number."""
        return cls(name, "fail", str(error), remedy, number_of(error))


@runtime_checkable
class Checks(Protocol):
    """What the class of a source, a sink or a serializer may offer besides its contract."""

    @classmethod
    def check(cls, config: Any) -> Sequence[Finding]:
        """Connects, looks at permissions and settings, and changes nothing.

        What keeps it from connecting at all is a finding too, not an error.
        """
        ...


@runtime_checkable
class PositionChecks(Protocol):
    """What the class of a source may offer besides: whether a pipeline can go on from where it stood."""

    @classmethod
    def check_position(cls, config: Any, offset: Offset) -> Sequence[Finding]:
        """Connects, looks for the offset's place, and changes nothing; asked where `check` found no fault."""
        ...


@runtime_checkable
class TopicChecks(Protocol):
    """What the class of a sink may offer besides: what becomes of the events in the topics that it writes to."""

    @classmethod
    def check_topics(cls, config: Any, prefix: str, topics: Sequence[str]) -> Sequence[Finding]:
        """Connects, looks at how long events stay there, and changes nothing.

        Args:
            config: the sink's options.
            prefix: what the source's topics begin with, as far as no transform renames them.
            topics: those of the captured tables, whether they are there yet or not.
        """
        ...


class Unmatched(NamedTuple):
    """An entry of an include list that matches nothing; as a text, a sentence.

    Attributes:
        option: whose value the list is.
        message: what is said of the entry, with the nearest name.
    """

    option: str
    message: str

    def __str__(self) -> str:
        return f"source.{self.option}: {self.message}"


def unmatched_findings(entries: Iterable[Unmatched]) -> Iterator[Finding]:
    """What is said of entries of the include lists."""
    for entry in entries:
        yield Finding(
            entry.option,
            "warn",
            entry.message,
            "correct the name, or leave it for one that is to come",
            number="CDC1211",
        )


def why_unwritable(folder: Path) -> str | None:
    """Why nothing can be made in a folder of this machine, or None where something can. Changes nothing."""
    try:
        if not folder.exists():
            return f"there is no folder {folder}"
        if not folder.is_dir():
            return f"{folder} is no folder"
    except OSError as error:
        return f"{folder} cannot be looked at: {error.strerror}"
    return None if os.access(folder, os.W_OK | os.X_OK) else f"this user may not write into {folder}"
