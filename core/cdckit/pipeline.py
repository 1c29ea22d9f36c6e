"""The parts of a resolved pipeline, made in whichever process needs them.

A `ResolvedPipeline` can be pickled and sent to a worker process; the parts made from it need not be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cdckit.chain import TransformChain, make_chain
from cdckit.config.pipeline import Component, ResolvedPipeline
from cdckit.messages import Messages
from cdckit.plugins import make, plugin_manager
from cdckit.record import Record
from cdckit.serializer import Serializer
from cdckit.sink import Sink, TableSink
from cdckit.source import Notify, Source


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
    sink: Sink | TableSink = _made(pipeline.sink)
    return sink


def make_encoder(pipeline: ResolvedPipeline) -> Encoder:
    """Transforms and serializer in one.

    Raises:
        ConfigError: a package that one of them needs is missing.
    """
    serializer: Serializer = _made(pipeline.serializer)
    return Encoder(make_chain(pipeline.transforms), serializer, position_header=pipeline.position_header)


def _made(component: Component) -> Any:
    return make(component.registration, component.config)


def notifier(pipeline: str) -> Notify:
    """Calls the lifecycle hooks of every plugin for one pipeline."""
    hooks = plugin_manager().hook

    def notify(notice: str, /, **facts: Any) -> None:
        getattr(hooks, f"cdckit_{notice}")(pipeline=pipeline, **facts)

    return notify
