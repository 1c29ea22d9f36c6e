"""The one tree of errors. Each branch has the exit code that `cdc` ends with."""

from __future__ import annotations


class CdcError(Exception):
    """Anything that stops a pipeline for a reason that can be told."""

    exit_code = 1


class ConfigError(CdcError):
    """The pipeline file, an option, or the combination of parts cannot work.

    Args:
        problems: one sentence for each fault, each with the option's full name and what to do.
    """

    exit_code = 2

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class StoppedError(CdcError):
    """The pipeline was asked to stop while it waited; everything before is as it was."""

    def __init__(self) -> None:
        super().__init__("asked to stop while it waited")


class SourceError(CdcError):
    """The source refuses, or cannot give, what the pipeline needs."""

    exit_code = 3


class RetriableSourceError(SourceError):
    """The source is away for the moment: reading again from the last batch's offset may succeed."""


class SnapshotDueError(SourceError):
    """The place to go on from is gone at the source, and its options allow a snapshot for that: plan anew."""


class SinkError(CdcError):
    """The sink did not take what was written."""

    exit_code = 4


class RetriableSinkError(SinkError):
    """The sink could not take it for the moment: writing the same again may succeed."""


class DecodeError(CdcError):
    """What the source sent cannot be understood at a named position."""

    exit_code = 5


class TransformError(CdcError):
    """A transform or a serializer failed on a named record."""

    exit_code = 6


class StateError(CdcError):
    """Offsets, schema history or snapshot progress cannot be read or written."""

    exit_code = 7


class StateHeldError(StateError):
    """Another process holds the state; it can be opened once that one has ended."""
