"""How runs of a pipeline end in a history: well, with a command that helps, or as they must not."""

from __future__ import annotations

import re

from cdckit.errors import CdcError, number_of

_ADVICE = re.compile(r"`cdc ((?:resnapshot|schema accept) FILE[^`]*)`")
"""The command that a pipeline names which cannot go on by itself."""
_LONGEST = 600
"""So much of an error is shown."""


class DivergedError(AssertionError):
    """A sink's tables do not equal the source's, or the pipeline stopped."""


def said(error: Exception) -> str:
    """An error, in short."""
    return f"{type(error).__name__}: {str(error)[:_LONGEST]}"


def advised(error: Exception, file: object) -> list[list[str]]:
    """The commands that an error names for a pipeline's file."""
    return [command.replace("FILE", str(file)).split() for command in _ADVICE.findall(str(error))]


def number(error: Exception) -> str:
    """An error's number; "" of one that is none of the pipeline's own."""
    return number_of(error) if isinstance(error, CdcError) else ""
