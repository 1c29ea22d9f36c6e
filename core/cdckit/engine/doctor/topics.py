"""The topics that a pipeline writes to, and what is found of them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress

from cdckit.api.checks import TopicChecks
from cdckit.api.plugins import factory
from cdckit.api.record import Record
from cdckit.api.source import SourceContext
from cdckit.engine.chain import TransformChain, make_chain
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.doctor.examination import Examined
from cdckit.engine.pipeline import make_source
from cdckit.errors import CdcError, TransformError

log = logging.getLogger("cdckit.doctor")


def topic_findings(pipeline: ResolvedPipeline) -> Iterator[Examined]:
    """What the sink says of the topics that there are; nothing where it has none."""
    made_by = factory(pipeline.sink.registration)
    if not isinstance(made_by, TopicChecks):
        return
    prefix = pipeline.source_config.logical_name or pipeline.name
    for finding in made_by.check_topics(pipeline.sink.config, prefix, _routed(pipeline, prefix)):
        yield Examined("sink", finding)


def _routed(pipeline: ResolvedPipeline, prefix: str) -> Sequence[str]:
    """The topics of the captured tables, as the transforms change them."""
    chain = make_chain(pipeline.transforms)
    steps = [TransformChain([step]) for step in chain.steps]
    try:
        return sorted({topic for table in _tables(pipeline) for topic in _passed(steps, f"{prefix}.{table}")})
    finally:
        chain.close()


def _tables(pipeline: ResolvedPipeline) -> Sequence[str]:
    """Those that the source reads now, as far as it can tell."""
    with closing(make_source(pipeline)) as source:
        try:
            source.open(SourceContext(pipeline.name))
            return source.readable()
        except CdcError as error:
            log.debug("which tables are captured is not known: %s", error)
            return ()


def _passed(steps: Sequence[TransformChain], topic: str) -> Iterator[str]:
    """Where a record that is a topic alone goes; a step that cannot do with it leaves it as it is."""
    records: Sequence[Record] = [Record(topic, None, None)]
    for step in steps:
        with suppress(TransformError):
            records = step.apply(records)
    for record in records:
        yield record.topic
