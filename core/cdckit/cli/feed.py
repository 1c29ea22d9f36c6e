"""`cdc feed`: recorded events through a pipeline's chain into its sink."""

from __future__ import annotations

import logging
from typing import IO

import click

from cdckit.cli.pipelines import load
from cdckit.cli.sample_option import events_option
from cdckit.cli.settings import INTERRUPTED, Chosen, Command, pipeline_options
from cdckit.connector.connect_json.reader import read_records
from cdckit.engine.runners.stop import StopSignal
from cdckit.engine.samples.feeding import feed as feed_records

log = logging.getLogger("cdckit.feed")


@click.command("feed", cls=Command)
@pipeline_options
@events_option
def feed(chosen: Chosen, events: IO[bytes]) -> int:
    """Deliver recorded events as if the source of the pipeline in FILE had given them.

    They pass its transforms and its serializer into its sink. Its source is not asked, and no offset is saved.
    """
    return deliver_events(chosen, events)


def deliver_events(chosen: Chosen, events: IO[bytes]) -> int:
    """Feeds a pipeline; gives the exit code."""
    with StopSignal() as stopping:
        fed = feed_records(load(chosen), read_records(events), stopping)
    log.info("fed %d records", fed, extra={"records": fed})
    return INTERRUPTED if stopping.interrupted else 0
