"""The one tree of errors. Each branch has the exit code that `cdc` ends with, and each kind of fault a number."""

from __future__ import annotations

from typing import Self

_CAUSES = 20
"""How deep causes of causes are looked for: an error may be its own."""


class CdcError(Exception):
    """Anything that stops a pipeline for a reason that can be told.

    Args:
        said: the message.
        number: that of this kind of fault, such as `CDC3102`, which `cdc doctor --explain` tells of; the class's where
            it is not given. The first digit is the exit code; 9 stands for 1.
    """

    exit_code = 1
    number: str = "CDC9000"

    def __init__(self, *said: object, number: str = "") -> None:
        super().__init__(*said)
        if number:
            self.number = number


class Problem(str):
    """One sentence about a fault in what a user has written, with the number of its kind."""

    number: str

    def __new__(cls, said: str, number: str) -> Self:
        """The sentence."""
        problem = super().__new__(cls, said)
        problem.number = number
        return problem

    def __reduce__(self) -> tuple[type[Self], tuple[str, str]]:
        return type(self), (str(self), self.number)


class ConfigError(CdcError):
    """The pipeline file, an option, or the combination of parts cannot work.

    Args:
        problems: one sentence for each fault, each with the option's full name and what to do; a `Problem` where it
            has a number of its own.
        number: that of the others.
    """

    exit_code = 2
    number = "CDC2000"

    def __init__(self, *problems: str, number: str = "") -> None:
        super().__init__("\n".join(problems), number=number)
        self.problems = problems


class StoppedError(CdcError):
    """The pipeline was asked to stop while it waited; everything before is as it was."""

    number = "CDC9001"

    def __init__(self) -> None:
        super().__init__("asked to stop while it waited")


class SourceError(CdcError):
    """The source refuses, or cannot give, what the pipeline needs."""

    exit_code = 3
    number = "CDC3000"


class RetriableSourceError(SourceError):
    """The source is away for the moment: reading again from the last batch's offset may succeed."""

    number = "CDC3001"


class SnapshotDueError(SourceError):
    """The place to go on from is gone at the source, and its options allow a snapshot for that: plan anew."""

    number = "CDC3002"


class SinkError(CdcError):
    """The sink did not take what was written."""

    exit_code = 4
    number = "CDC4000"


class RetriableSinkError(SinkError):
    """The sink could not take it for the moment: writing the same again may succeed."""

    number = "CDC4001"


class RowsRefusedError(SinkError):
    """A table does not take rows for what they hold, such as a value that breaks a constraint; it would take others."""

    number = "CDC4405"


class DecodeError(CdcError):
    """What the source sent cannot be understood at a named position."""

    exit_code = 5
    number = "CDC5000"


class TransformError(CdcError):
    """A transform or a serializer failed on a named record."""

    exit_code = 6
    number = "CDC6000"


class StateError(CdcError):
    """Offsets, schema history or snapshot progress cannot be read or written."""

    exit_code = 7
    number = "CDC7000"


class StateHeldError(StateError):
    """Another process holds the state; it can be opened once that one has ended."""

    number = "CDC7001"


def number_of(error: CdcError) -> str:
    """An error's number; of one with a general number (`CDC300x`), that of the error of its branch behind it."""
    own, at = error.number, error.__cause__
    for _ in range(_CAUSES):
        if own[4:6] != "00" or not isinstance(at, CdcError) or at.number[:4] != own[:4]:
            break
        own, at = at.number, at.__cause__
    return own


def problems_of(error: ConfigError) -> list[str]:
    """The sentences of an error, to be told among others: a `Problem` each, unless its number is the general one."""
    return [said if number == ConfigError.number else Problem(said, number) for number, said in numbered(error)]


def numbered(error: CdcError) -> list[tuple[str, str]]:
    """The sentences of an error, each behind its number."""
    number = number_of(error)
    if isinstance(error, ConfigError):
        return [(getattr(problem, "number", number), str(problem)) for problem in error.problems]
    return [(number, str(error))]
