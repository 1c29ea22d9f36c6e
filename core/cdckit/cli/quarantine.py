"""`cdc quarantine`: the records that a pipeline could not deliver and has kept."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import click

from cdckit.cli.held import held
from cdckit.cli.in_quarantine import chosen_by, folder_of, require_there, topic_option
from cdckit.cli.pipelines import load
from cdckit.cli.settings import Chosen, Command, pipeline_options
from cdckit.cli.tables import print_table
from cdckit.engine.quarantine.store import Quarantined, QuarantineStore, kept_records
from cdckit.errors import ConfigError

_COLUMNS = ("number", "kept", "stage", "by", "topic", "position", "reason")


@click.group("quarantine")
def quarantine() -> None:
    """Show or drop the records that a pipeline could not deliver and has kept."""


@quarantine.command("list", cls=Command)
@pipeline_options
@topic_option
@click.option("--json", "as_json", is_flag=True, help="Print a JSON line for each.")
def list_kept(chosen: Chosen, topics: tuple[str, ...], as_json: bool) -> None:
    """Show the records in quarantine, in the order in which they came; the pipeline may be running."""
    wanted = chosen_by((), topics)
    records = filter(wanted, kept_records(folder_of(load(chosen, incomplete=True))))
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
    folder = folder_of(load(chosen, incomplete=True))
    require_there(folder, (number,))
    for record in filter(chosen_by((number,), ()), kept_records(folder)):
        click.echo(json.dumps({**_facts(record), "content": json.loads(record.content)}, indent=2))


@quarantine.command("drop", cls=Command)
@pipeline_options
@click.argument("numbers", type=int, nargs=-1)
@topic_option
@click.option("--all", "everything", is_flag=True, help="All of them.")
def drop(chosen: Chosen, numbers: tuple[int, ...], topics: tuple[str, ...], everything: bool) -> None:
    """Forget the records NUMBERS, those of a topic, or all; they are lost. The pipeline must not be running."""
    if not (numbers or topics or everything):
        raise ConfigError("name the records' numbers, --topic TOPIC, or --all")
    pipeline = load(chosen, incomplete=True)
    folder = folder_of(pipeline)
    with held(pipeline):
        require_there(folder, numbers)
        dropped = [record.number for record in filter(chosen_by(numbers, topics), kept_records(folder))]
        store = QuarantineStore(folder)
        try:
            store.remove(dropped)
        finally:
            store.close()
    click.echo(f"dropped {len(dropped):,} records, {store.count:,} are left")


def _facts(record: Quarantined) -> dict[str, Any]:
    kept = datetime.fromtimestamp(record.kept, UTC).isoformat(timespec="seconds")
    facts = record.number, kept, record.stage, record.by, record.topic, record.position, record.reason
    return dict(zip(_COLUMNS, facts, strict=True))
