"""The option `--from`: where a command takes recorded events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def events_from(help: str, *, required: bool = True) -> Callable[[Any], Any]:
    """The option, described by `help`."""
    return click.option(
        "--from", "--input", "events", type=click.File("rb"), required=required, metavar="EVENTS", help=help
    )


events_option = events_from(
    "A JSON line for each event, as `cdc record` and the file sink write them; `-` is standard input."
)
