"""`cdc record`: keeps a sample of what a pipeline's source gives."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import IO

import click

from cdckit.cli.pipelines import load
from cdckit.cli.settings import INTERRUPTED, Chosen, Command, pipeline_options
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.runners.stop import StopSignal
from cdckit.engine.samples.lines import SampleLines
from cdckit.engine.samples.recording import sampled

log = logging.getLogger("cdckit.record")


@click.command("record", cls=Command)
@pipeline_options
@click.option(
    "--out", type=click.File("wb"), required=True, metavar="EVENTS",
    help="The file of JSON lines to write anew; `-` is standard output.",
)  # fmt: skip
@click.option("--limit", type=click.IntRange(min=1), help="So many records at the most.")
@click.option(
    "--seconds", type=click.FloatRange(min=0, min_open=True),
    help="Follow the log for so long, instead of ending where it ends now.",
)  # fmt: skip
def record(chosen: Chosen, out: IO[bytes], limit: int | None, seconds: float | None) -> int:
    """Keep a sample of the records that the source of the pipeline in FILE gives, before any transform.

    The pipeline's own offset and state are neither used nor changed: it begins as a new pipeline does.
    """
    with StopSignal() as stopping:
        pipeline = load(chosen)
        out.write(b"")  # the file is there though nothing may come
        with _ends_after(seconds, stopping):
            kept = _keep(pipeline, out, stopping, limit=limit, follow=seconds is not None)
    log.info("kept %d records", kept, extra={"records": kept})
    return INTERRUPTED if stopping.interrupted else 0


def _keep(pipeline: ResolvedPipeline, out: IO[bytes], stopping: StopSignal, *, limit: int | None, follow: bool) -> int:
    lines, kept = SampleLines(), 0
    with closing(sampled(pipeline, stopping, follow=follow)) as batches:
        for batch in batches:
            part = batch.records if limit is None else batch.records[: limit - kept]
            whole = len(part) == len(batch.records)
            out.write(lines.lines(part, batch.offset if whole else None))
            out.flush()
            kept += len(part)
            if kept == limit:
                break
    return kept


@contextmanager
def _ends_after(seconds: float | None, stopping: StopSignal) -> Iterator[None]:
    if seconds is None:
        yield
        return
    timer = threading.Timer(seconds, stopping.stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
