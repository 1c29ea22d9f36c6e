"""A pipeline as it was resolved from its file, and the parts made from it, in any process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cdckit.chain import TransformChain, build_chain
from cdckit.config.pipeline import ResolvedPipeline
from cdckit.messages import Messages
from cdckit.plugins import make, plugin_manager
from cdckit.record import Record
from cdckit.serializer import Serializer
from cdckit.sink import Sink, TableSink
from cdckit.source import Notify, Source

__all__ = ["Encoder", "Parts", "ResolvedPipeline", "notifier"]


class Encoder:
    """Records to messages: the transform chain, then the serializer, for one process."""

    def __init__(self, chain: TransformChain, serializer: Serializer, *, position_header: bool) -> None:
        self.chain = chain
        self.serializer = serializer
        self.position_header = position_header

    def __call__(self, records: Sequence[Record]) -> Messages:
        """The messages that the records become; none, one or several for each.

        Raises:
            TransformError: a transform or the serializer failed on a named record.
        """
        messages = self.serializer.serialize(self.chain.apply(records))
        if not self.position_header:
            messages.positions = [""] * len(messages)
        return messages

    def close(self) -> None:
        """Lets go of what the transforms hold."""
        self.chain.close()


class Parts:
    """Makes the parts of a resolved pipeline; the resolved pipeline can be pickled, the parts need not be."""

    def __init__(self, pipeline: ResolvedPipeline) -> None:
        self.pipeline = pipeline

    def source(self) -> Source:
        """The source, not yet opened.

        Raises:
            ConfigError: a package that it needs is missing.
        """
        made: Source = make(self.pipeline.source.registration, self.pipeline.source.config)
        return made

    def sink(self) -> Sink | TableSink:
        """The sink, not yet opened.

        Raises:
            ConfigError: a package that it needs is missing.
        """
        made: Sink | TableSink = make(self.pipeline.sink.registration, self.pipeline.sink.config)
        return made

    def chain(self) -> TransformChain:
        """The transforms in their order.

        Raises:
            ConfigError: a transform's options are wrong.
        """
        return build_chain(self.pipeline.transforms, self.pipeline.predicates)

    def encoder(self) -> Encoder:
        """Transforms and serializer in one."""
        serializer: Serializer = make(self.pipeline.serializer.registration, self.pipeline.serializer.config)
        return Encoder(self.chain(), serializer, position_header=self.pipeline.position_header)


def notifier(pipeline: str) -> Notify:
    """Calls the lifecycle hooks of every plugin for one pipeline."""
    hooks = plugin_manager().hook

    def notify(notice: str, /, **facts: Any) -> None:
        getattr(hooks, f"cdckit_{notice}")(pipeline=pipeline, **facts)

    return notify
