"""What a direct process that has the tail of a pipeline on Spark writes by, and where there can be none."""

from __future__ import annotations

from collections.abc import Iterator

from cdckit.api.sink import TableSink
from cdckit.engine.config.components import ComponentReader
from cdckit.engine.config.pipeline import Component, PipelineConfig, ResolvedPipeline
from cdckit.errors import ConfigError, Problem, problems_of
from cdckit.tables.direct import DirectTableSink


def has_tail(pipeline: PipelineConfig | ResolvedPipeline) -> bool:
    """Whether a direct process has the tail of a pipeline on Spark."""
    return pipeline.runner == "spark" and pipeline.tail == "direct"


def tail_sink(pipeline: PipelineConfig, sink: Component, reader: ComponentReader) -> Component | None:
    """What such a process writes by, where it is not the pipeline's sink itself; faults are noted.

    Args:
        pipeline: the pipeline's own options.
        sink: its sink.
        reader: checks the options of the other one.
    """
    if not has_tail(pipeline):
        return None
    try:
        options = sink.config.tail_sink()
    except ConfigError as error:
        reader.problems += problems_of(error)
        return None
    return None if options is None else reader.component("sink", "sink", options)


def beyond_tail(pipeline: ResolvedPipeline, sink: object) -> Iterator[str]:
    """What such a process cannot do, a sentence each.

    Args:
        pipeline: the pipeline.
        sink: what makes its sink.
    """
    if not has_tail(pipeline):
        return
    keeps_tables = isinstance(sink, type) and issubclass(sink, TableSink) and not issubclass(sink, DirectTableSink)
    if keeps_tables and pipeline.tail_sink is None:
        name = pipeline.sink.registration.name
        yield _refused(f"cannot go on with the tables of the sink '{name}'")
    if pipeline.checkpoint is not None:
        yield _refused("saves offsets in the state alone, ahead of its copies beside 'checkpoint': take that away")
    if pipeline.source_config.reads_in_order:
        yield _refused("takes no signals and sends no notifications: remove source.signal.* and notification.*")
    if pipeline.ledger:
        yield _refused("keeps no ledger that Spark could go on with: set 'ledger: false'")


def _refused(why: str) -> str:
    return Problem(f"tail: 'direct' {why}, or set 'tail: spark'", "CDC2402")
