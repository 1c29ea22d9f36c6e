"""`cdc replay`: records in quarantine once more through today's pipeline."""

from __future__ import annotations

from typing import IO

import click

from cdckit.cli.feed import deliver_events
from cdckit.cli.held import held
from cdckit.cli.in_quarantine import choosing, chosen as chosen_in, quarantine_of, require_there
from cdckit.cli.pipelines import load
from cdckit.cli.sample_option import events_from
from cdckit.cli.settings import Chosen, Command, pipeline_options
from cdckit.engine.quarantine.replay import replay as deliver
from cdckit.errors import TransformError


@click.command("replay", cls=Command)
@pipeline_options
@click.option("--id", "numbers", type=int, multiple=True, metavar="NUMBER", help="A single record.")
@choosing
@events_from("Deliver the events of this file instead, as `cdc feed` does.", required=False)
def replay(
    chosen: Chosen,
    numbers: tuple[int, ...],
    topics: tuple[str, ...],
    stages: tuple[str, ...],
    where: str | None,
    events: IO[bytes] | None,
) -> int:
    """Deliver the records in quarantine through the transforms, serializer and sink of FILE as they are now.

    Those that are delivered are taken out of the quarantine. Ends with 6 where some stay. The pipeline must not be
    running.
    """
    if events is not None:
        if numbers or topics or stages or where is not None:
            raise click.UsageError("--from delivers all events of its file: remove what chooses records in quarantine")
        return deliver_events(chosen, events)
    pipeline = load(chosen)
    place = quarantine_of(pipeline)
    delivered = stay = 0
    with held(pipeline) as state:
        require_there(place, numbers)
        wanted = {record.number for record in chosen_in(place, numbers, topics, stages, where)}
        for record, reason in deliver(pipeline, state, lambda record: record.number in wanted):
            delivered, stay = delivered + (not reason), stay + bool(reason)
            if reason:
                click.echo(f"{record.number} stays: {reason}", err=True)
    click.echo(f"delivered {delivered:,} records, {stay:,} stay in quarantine", err=True)
    return TransformError.exit_code if stay else 0
