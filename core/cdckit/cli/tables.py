"""Tables and texts on standard output: as wide as the terminal, or as wide as they need to be on a pipe."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

_NO_END = 100_000
_WIDEST_TEXT = 100
_INDENT = "    "


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints a table; on a terminal the last column is broken where it does not fit."""
    terminal = sys.stdout.isatty()
    console = Console(file=sys.stdout, width=None if terminal else _NO_END)
    table = Table(box=SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, overflow="fold", ratio=1 if terminal and column == columns[-1] else None)
    for row in rows:
        table.add_row(*map(Text, row))
    with console.capture() as captured:
        console.print(table)
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def print_entry(heading: str, text: str) -> None:
    """Prints a heading, and a text below it: in one line on a pipe."""
    click.echo(heading)
    if not sys.stdout.isatty():
        click.echo(f"{_INDENT}{text}")
        return
    width = min(shutil.get_terminal_size().columns, _WIDEST_TEXT)
    click.echo(textwrap.fill(text, width, initial_indent=_INDENT, subsequent_indent=_INDENT))
