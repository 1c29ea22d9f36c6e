"""`cdc transform`: a dry run of a pipeline's transforms on recorded events."""

from __future__ import annotations

from contextlib import closing
from itertools import islice
from typing import IO

import click

from cdckit.api.plugins import config_model, find, make
from cdckit.api.sink import Sink
from cdckit.cli.pipelines import load
from cdckit.cli.settings import Chosen, Command, pipeline_options
from cdckit.connector.connect_json.reader import read_records
from cdckit.engine.pipeline import make_encoder, sink_context

BATCH = 1000


@click.command("transform", cls=Command)
@pipeline_options
@click.option(
    "--input", "events", type=click.File("rb"), required=True, metavar="EVENTS",
    help="A JSON line for each event, as the file sink writes them; `-` is standard input.",
)  # fmt: skip
def transform(chosen: Chosen, events: IO[bytes]) -> None:
    """Run the transforms of the pipeline in FILE on recorded events, and print what they become."""
    pipeline = load(chosen)
    with closing(make_encoder(pipeline)) as encode:
        stdout = _stdout()
        stdout.open(sink_context(pipeline.name, encode.serializer, once=True))
        records = read_records(events)
        while batch := list(islice(records, BATCH)):
            stdout.write(encode(batch))
        stdout.flush()


def _stdout() -> Sink:
    registration = find("sink", "stdout")
    sink: Sink = make(registration, config_model(registration)())
    return sink
