"""`cdc list`: the pipelines whose files stand in a folder, and what they are at."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from cdckit.cli.settings import Command
from cdckit.cli.status import exit_code, stale_after
from cdckit.cli.tables import print_table
from cdckit.engine.config.formats import SUFFIXES
from cdckit.engine.config.loading import NoPipelineError, load_pipeline
from cdckit.engine.metrics.status import PipelineStatus, pipeline_status
from cdckit.engine.state.place import StatePlace
from cdckit.errors import ConfigError, StateError


@dataclass(frozen=True, slots=True)
class Listed:
    """A file that should describe a pipeline: its status, or what is wrong with it."""

    file: Path
    status: PipelineStatus | None
    problem: str = ""

    @property
    def exit_code(self) -> int:
        """Not 0 where somebody should look at it."""
        return 1 if self.status is None else exit_code(self.status)

    @property
    def row(self) -> tuple[str, str, str, str]:
        """Its line in the table."""
        if self.status is None:
            return self.file.name, "", "broken", self.problem
        lag = "" if self.status.lag_seconds is None else f"{self.status.lag_seconds:.1f} s behind"
        state = "stale" if self.status.stale else self.status.state
        return self.file.name, self.status.pipeline, state, self.status.error or lag


@click.command("list", cls=Command)
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@stale_after
def list_pipelines(folder: Path, as_json: bool, stale_after: int) -> int:
    """Show the pipelines whose files stand in DIR, and what they are at; their secrets are not needed.

    Ends with 1 where one has failed, was killed, is stale, or has a broken file.
    """
    found = list(_found(folder, stale_after))
    if as_json:
        click.echo(json.dumps([_json(listed) for listed in found], indent=2))
    elif not found:
        click.echo(f"{folder}: no file in it describes a pipeline", err=True)
    else:
        print_table(("file", "pipeline", "state", "lag or error"), [listed.row for listed in found])
    return max((listed.exit_code for listed in found), default=0)


def _found(folder: Path, stale_after: int) -> Iterator[Listed]:
    for file in sorted(folder.iterdir()):
        if file.suffix.lower() not in SUFFIXES or not file.is_file():
            continue
        try:
            pipeline = load_pipeline(file, incomplete=True)
            yield Listed(file, pipeline_status(StatePlace.of(pipeline), stale_after))
        except NoPipelineError:
            continue
        except (ConfigError, StateError) as error:
            yield Listed(file, None, str(error))


def _json(listed: Listed) -> dict[str, object]:
    told = {"error": listed.problem} if listed.status is None else listed.status.to_json()
    return {"file": str(listed.file), **told}
