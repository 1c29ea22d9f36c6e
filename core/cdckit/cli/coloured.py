"""Diffs on standard output: red and green on a terminal, plain elsewhere and where NO_COLOR is set."""

from __future__ import annotations

import os
from collections.abc import Iterable

import click

from cdckit.engine.samples.differences import Difference

_COLOURS = {"-": "red", "+": "green"}


def print_differences(lines: Iterable[Difference], indent: int) -> None:
    """Prints the lines of a diff behind so many blanks."""
    for line in lines:
        shown = f"{' ' * indent}{line.sign} {line.text}"
        click.echo(shown if os.environ.get("NO_COLOR") else click.style(shown, fg=_COLOURS[line.sign]))
