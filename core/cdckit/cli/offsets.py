"""`cdc offsets`: how far a pipeline has come, and how to send it elsewhere."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from cdckit.cli.pipelines import load
from cdckit.cli.settings import Chosen, Command, pipeline_options
from cdckit.errors import ConfigError
from cdckit.state.authority import current_offset, open_state
from cdckit.state.store import StateStore


@click.group("offsets")
def offsets() -> None:
    """Show, set or reset how far a pipeline has come."""


@offsets.command("show", cls=Command)
@pipeline_options
def show(chosen: Chosen) -> None:
    """Print the saved offset as JSON, `null` where none is saved; the pipeline may be running."""
    click.echo(json.dumps(current_offset(load(chosen).state), indent=2))


@offsets.command("reset", cls=Command)
@pipeline_options
def reset(chosen: Chosen) -> None:
    """Forget the offset: the pipeline starts from its beginning, with a new snapshot. It must not be running."""
    with _held(chosen) as state:
        state.save_offset(None)


@offsets.command("set", cls=Command)
@pipeline_options
@click.argument("offset")
def set_offset(chosen: Chosen, offset: str) -> None:
    """Save OFFSET, a JSON object as `show` prints it, or `-` to read it. The pipeline must not be running."""
    wanted = _parsed(sys.stdin.read() if offset == "-" else offset)
    with _held(chosen) as state:
        state.save_offset(wanted)


@contextmanager
def _held(chosen: Chosen) -> Iterator[StateStore]:
    state = open_state(load(chosen).state)
    try:
        yield state
    finally:
        state.close()


def _parsed(text: str) -> dict[str, Any]:
    try:
        offset = json.loads(text)
    except json.JSONDecodeError as error:
        raise ConfigError(f"OFFSET: no JSON (line {error.lineno}, column {error.colno}: {error.msg})") from error
    if not isinstance(offset, dict):
        raise ConfigError("OFFSET: must be a JSON object, such as `cdc offsets show` prints")
    return offset
