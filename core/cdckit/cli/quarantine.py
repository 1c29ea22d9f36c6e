"""`cdc quarantine`: the records that a pipeline could not deliver and has kept."""

from __future__ import annotations

import json
from typing import Any

import click

from cdckit.cli.held import held
from cdckit.cli.in_quarantine import choosing, chosen as chosen_in, quarantine_of, require_there
from cdckit.cli.pipelines import load
from cdckit.cli.settings import Chosen, Command, pipeline_options
from cdckit.cli.tables import print_table
from cdckit.engine.quarantine.condition import kept_text
from cdckit.engine.quarantine.places import open_quarantine
from cdckit.engine.quarantine.store import Quarantined
from cdckit.errors import ConfigError

_COLUMNS = ("number", "kept", "stage", "by", "topic", "position", "reason")


@click.group("quarantine")
def quarantine() -> None:
    """Show or drop the records that a pipeline could not deliver and has kept."""


@quarantine.command("list", cls=Command)
@pipeline_options
@choosing
@click.option("--json", "as_json", is_flag=True, help="Print a JSON line for each.")
def list_kept(
    chosen: Chosen, topics: tuple[str, ...], stages: tuple[str, ...], where: str | None, as_json: bool
) -> None:
    """Show the records in quarantine, in the order in which they came; the pipeline may be running."""
    records = chosen_in(quarantine_of(load(chosen, incomplete=True)), (), topics, stages, where)
    if as_json:
        for record in records:
            click.echo(json.dumps(_facts(record)))
    else:
        print_table(_COLUMNS, ([str(fact) for fact in _facts(record).values()] for record in records))


@quarantine.command("show", cls=Command)
@pipeline_options
@click.argument("number", type=int)
def show(chosen: Chosen, number: int) -> None:
    """Print the record NUMBER as JSON, with what was kept of it; the pipeline may be running."""
    place = quarantine_of(load(chosen, incomplete=True))
    require_there(place, (number,))
    for record in chosen_in(place, (number,)):
        click.echo(json.dumps({**_facts(record), "content": json.loads(record.content)}, indent=2))


@quarantine.command("drop", cls=Command)
@pipeline_options
@click.argument("numbers", type=int, nargs=-1)
@choosing
@click.option("--all", "everything", is_flag=True, help="All of them.")
def drop(
    chosen: Chosen,
    numbers: tuple[int, ...],
    topics: tuple[str, ...],
    stages: tuple[str, ...],
    where: str | None,
    everything: bool,
) -> None:
    """Forget the records NUMBERS, those that the options choose, or all; they are lost.

    The pipeline must not be running.
    """
    if not (numbers or topics or stages or where or everything):
        raise ConfigError(
            "name the records' numbers, --topic TOPIC, --stage STAGE, --where EXPRESSION, or --all", number="CDC2507"
        )
    pipeline = load(chosen, incomplete=True)
    place = quarantine_of(pipeline)
    with held(pipeline):
        require_there(place, numbers)
        dropped = [record.number for record in chosen_in(place, numbers, topics, stages, where)]
        store = open_quarantine(place)
        try:
            store.remove(dropped)
        finally:
            store.close()
    click.echo(f"dropped {len(dropped):,} records, {store.count:,} are left")


def _facts(record: Quarantined) -> dict[str, Any]:
    facts = record.number, kept_text(record), record.stage, record.by, record.topic, record.position, record.reason
    return dict(zip(_COLUMNS, facts, strict=True))
