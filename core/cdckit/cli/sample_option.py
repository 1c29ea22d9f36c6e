"""The option `--from`: where a command takes recorded events."""

from __future__ import annotations

import click

events_option = click.option(
    "--from", "--input", "events", type=click.File("rb"), required=True, metavar="EVENTS",
    help="A JSON line for each event, as `cdc record` and the file sink write them; `-` is standard input.",
)  # fmt: skip
