"""The parts of a resolved pipeline, made in whichever process needs them.

A `ResolvedPipeline` can be pickled and sent to a worker process; the parts made from it need not be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from cdckit.api.messages import Messages
from cdckit.api.plugins import make
from cdckit.api.record import Record
from cdckit.api.serializer import Serializer
from cdckit.api.sink import Sink, SinkContext, TableSink
from cdckit.api.source import Source
from cdckit.engine.chain import TransformChain, make_chain
from cdckit.engine.config.pipeline import Component, ResolvedPipeline
from cdckit.engine.serializers.separate import SeparateSerializer

PORTION_BYTES = 8 << 20
"""About so much of a batch is encoded at a time."""
_UNKNOWN_BYTES = PORTION_BYTES // 32
"""A message is taken for so long while none of its topic was seen."""


class Encoder:
    """Records to messages: the transform chain, then the serializer, for one process."""

    def __init__(self, chain: TransformChain, serializer: Serializer, *, position_header: bool) -> None:
        self.chain = chain
        self.serializer = serializer
        self.position_header = position_header
        self.tap: Callable[[Sequence[Record]], None] | None = None
        """Is given what comes of the transforms."""
        self._sizes: dict[str, int] = {}

    def __call__(self, records: Sequence[Record]) -> Messages:
        """The messages that the records become; none, one or several for each.

        Raises:
            TransformError: a transform or the serializer failed on a named record.
        """
        made = self.chain.apply(records)
        if self.tap is not None:
            self.tap(made)
        messages = self.serializer.serialize(made)
        if not self.position_header:
            messages.positions = [""] * len(messages)
        return messages

    def portions(self, records: Sequence[Record]) -> Iterator[Messages]:
        """The messages of a batch, a portion at a time: however wide tables are, about `PORTION_BYTES` in each.

        Raises:
            TransformError: as `__call__`.
        """
        topics = {record.topic for record in records}
        at = 0
        while at < len(records):
            largest = max(self._sizes.get(topic, _UNKNOWN_BYTES) for topic in topics)
            part = records[at : at + max(1, PORTION_BYTES // largest)]
            messages = self(part)
            self._measure(part, messages)
            at += len(part)
            yield messages

    def _measure(self, records: Sequence[Record], messages: Messages) -> None:
        """Notes how long the last message of each table is. What rows add to that, their source bounds."""
        samples = dict(zip(messages.topics, messages.values, strict=True)).values()
        size = max((len(value) for value in samples if value is not None), default=0)
        if size:
            for topic in {record.topic for record in records}:
                self._sizes[topic] = size

    def close(self) -> None:
        """Lets go of what the transforms hold."""
        self.chain.close()


def make_source(pipeline: ResolvedPipeline) -> Source:
    """The source, not yet opened.

    Raises:
        ConfigError: a package that it needs is missing.
    """
    source: Source = _made(pipeline.source)
    return source


def make_sink(pipeline: ResolvedPipeline) -> Sink | TableSink:
    """The sink, not yet opened.

    Raises:
        ConfigError: a package that it needs is missing.
    """
    sink: Sink | TableSink = _made(pipeline.sink, spark=pipeline.runner == "spark")
    return sink


def make_tail_sink(pipeline: ResolvedPipeline) -> Sink | TableSink:
    """The sink by which a direct process goes on where Spark's ends, not yet opened; raises as `make_sink`."""
    sink: Sink | TableSink = _made(pipeline.tail_sink or pipeline.sink)
    return sink


def make_encoder(pipeline: ResolvedPipeline, *, positions: bool = False) -> Encoder:
    """Transforms and serializer in one.

    Args:
        pipeline: the pipeline.
        positions: messages have positions even where the pipeline's headers do not.

    Raises:
        ConfigError: a package that one of them needs is missing.
    """
    chain, position_header = make_chain(pipeline.transforms), positions or pipeline.position_header
    return Encoder(chain, _serializer(pipeline), position_header=position_header)


def _serializer(pipeline: ResolvedPipeline) -> Serializer:
    whole: Serializer = _made(pipeline.serializer)
    keys, headers = pipeline.key_serializer, pipeline.header_serializer
    if keys is None and headers is None:
        return whole
    return SeparateSerializer(
        whole if keys is None else _made(keys), whole, whole if headers is None else _made(headers)
    )


def sink_context(
    name: str,
    serializer: Serializer,
    *,
    once: bool = False,
    stopping: Callable[[], bool] = lambda: False,
    refused: Callable[[Messages, str], None] | None = None,
) -> SinkContext:
    """What a sink is told before it gets what the serializer writes."""
    return SinkContext(
        name,
        once,
        stopping,
        serializer.key_form,
        serializer.value_form,
        serializer.header_form,
        serializer.around_position,
        refused,
        serializer.read_back,
    )


def _made(component: Component, *, spark: bool = False) -> Any:
    return make(component.registration, component.config, spark=spark)
