"""Tables on standard output: as wide as the terminal, or as wide as they need to be on a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

PIPE_WIDTH = 200


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints a table; its last column takes what width there is."""
    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else PIPE_WIDTH)
    table = Table(box=SIMPLE_HEAD)
    for column in columns:
        last = column == columns[-1]
        table.add_column(column, overflow="fold", ratio=1 if last else None)
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)
