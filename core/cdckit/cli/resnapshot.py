"""`cdc resnapshot`: asks for tables to be read again."""

from __future__ import annotations

import click

from cdckit.api.record import Offset
from cdckit.api.source import Source, SourceContext
from cdckit.api.state_store import StateStore
from cdckit.cli.held import held
from cdckit.cli.pipelines import load
from cdckit.cli.settings import Chosen, Command, pipeline_options
from cdckit.connector.resnapshot import ask, named
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.pipeline import make_source
from cdckit.errors import ConfigError, StateError


@click.command("resnapshot", cls=Command)
@pipeline_options
@click.option(
    "--table", "tables", multiple=True, required=True, metavar="NAME", help="A captured table: DATABASE.TABLE."
)
def resnapshot(chosen: Chosen, tables: tuple[str, ...]) -> None:
    """Have tables read again by the next `cdc run`, as a snapshot does; the others go on where they are.

    Rows of a mirror that the source does not have are gone. The pipeline must not be running.
    """
    pipeline = load(chosen)
    with held(pipeline) as state:
        offset = _offset(pipeline, state)
        names = _names(pipeline, state, tables)
        made = ask(state, offset, names)
    click.echo(f"{', '.join(made.tables)}: read again when the pipeline is started next")


def _offset(pipeline: ResolvedPipeline, state: StateStore) -> Offset:
    offset = state.load_offset()
    if offset is None:
        raise StateError(
            f"state {pipeline.shown_state}: the pipeline has no offset: its first run reads all tables that "
            "snapshot.mode asks for, and there is nothing to read again",
            number="CDC7402",
        )
    return offset


def _names(pipeline: ResolvedPipeline, state: StateStore, tables: tuple[str, ...]) -> list[str]:
    source: Source = make_source(pipeline)
    try:
        source.open(SourceContext(pipeline.name, state))
        if not source.streams:
            raise ConfigError(
                "source.snapshot.mode: follows no log, so that no table can be read again behind it; "
                "`cdc offsets reset` has all of them read anew",
                number="CDC2503",
            )
        return named(tables, source.readable(), source.gone())
    finally:
        source.close()
