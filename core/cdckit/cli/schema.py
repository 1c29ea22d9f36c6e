"""`cdc schema`: what editors need to check pipeline files; and changes of definitions that are accepted."""

from __future__ import annotations

import json

import click

from cdckit.cli.held import held
from cdckit.cli.pipelines import load
from cdckit.cli.settings import Chosen, Command, pipeline_options
from cdckit.engine.accepted import accept as keep_accepted
from cdckit.engine.config.json_schema import pipeline_schema


@click.group("schema", invoke_without_command=True)
@click.pass_context
def schema(context: click.Context) -> None:
    """Print the JSON Schema of a pipeline file, with the options of every installed plugin."""
    if context.invoked_subcommand is None:
        click.echo(json.dumps(pipeline_schema(), indent=2, ensure_ascii=False))


@schema.command("accept", cls=Command)
@pipeline_options
@click.option(
    "--table", "tables", multiple=True, required=True, metavar="NAME", help="A source table, as the message names it."
)
def accept(chosen: Chosen, tables: tuple[str, ...]) -> None:
    """Have tables of a lake follow a change that stopped the pipeline, at the next `cdc run`, once.

    What a mirror's column cannot take over becomes null; a changelog's older values stay in a column of another name.
    """
    pipeline = load(chosen, incomplete=True)
    with held(pipeline) as state:
        keep_accepted(state, tables)
    click.echo(f"{', '.join(tables)}: the next change of the definition is accepted")
