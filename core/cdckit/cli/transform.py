"""`cdc transform`: a dry run of a pipeline's transforms on recorded events."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from itertools import islice
from typing import IO

import click

from cdckit.api.plugins import config_model, find, make
from cdckit.api.record import Record
from cdckit.api.sink import Sink
from cdckit.cli.coloured import print_differences
from cdckit.cli.pipelines import load
from cdckit.cli.sample_option import events_option
from cdckit.cli.settings import Chosen, Command, pipeline_options
from cdckit.connector.connect_json.reader import read_records
from cdckit.engine.chain import make_chain
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.pipeline import make_encoder, sink_context
from cdckit.engine.samples.differences import differences
from cdckit.engine.samples.explaining import Effect, effects
from cdckit.engine.samples.lines import SampleLines

BATCH = 1000


@click.command("transform", cls=Command)
@pipeline_options
@events_option
@click.option("--explain", is_flag=True, help="Print what each transform did to each event, instead of the results.")
def transform(chosen: Chosen, events: IO[bytes], explain: bool) -> None:
    """Run the transforms of the pipeline in FILE on recorded events, and print what they become."""
    pipeline = load(chosen, incomplete=True, needed=("transforms", "predicates", "serializer"))
    records = read_records(events)
    if explain:
        _explain(pipeline, records)
    else:
        _print_results(pipeline, records)


def _print_results(pipeline: ResolvedPipeline, records: Iterable[Record]) -> None:
    with closing(make_encoder(pipeline)) as encode:
        stdout = _stdout()
        stdout.open(sink_context(pipeline.name, encode.serializer, once=True))
        left = iter(records)
        while batch := list(islice(left, BATCH)):
            stdout.write(encode(batch))
        stdout.flush()


def _stdout() -> Sink:
    registration = find("sink", "stdout")
    sink: Sink = make(registration, config_model(registration)())
    return sink


def _explain(pipeline: ResolvedPipeline, records: Iterable[Record]) -> None:
    chain, lines = make_chain(pipeline.transforms), SampleLines()
    with closing(chain):
        for number, record in enumerate(records, 1):
            click.secho(f"event {number}, topic {record.topic}", bold=True)
            for effect in effects(chain, record):
                _print_effect(effect, lines)


def _print_effect(effect: Effect, lines: SampleLines) -> None:
    """What one step did to one record: a heading, and below it the diff."""
    if not effect.seen:
        click.echo(f"  {effect.step}: not meant by its predicate")
    elif not effect.after:
        click.echo(f"  {effect.step}: dropped")
    elif len(effect.after) > 1:
        click.echo(f"  {effect.step}: became {len(effect.after)} records")
        for number, after in enumerate(effect.after, 1):
            click.echo(f"    record {number}")
            print_differences(differences(lines.document(effect.before), lines.document(after)), 6)
    else:
        found = differences(lines.document(effect.before), lines.document(effect.after[0]))
        click.echo(f"  {effect.step}" + ("" if found else ": unchanged"))
        print_differences(found, 4)
