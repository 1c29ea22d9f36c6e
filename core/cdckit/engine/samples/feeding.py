"""Records of a sample through a pipeline's chain and serializer into its sink."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from itertools import islice

from cdckit.api.record import Record
from cdckit.api.sink import Sink
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.pipeline import make_encoder, make_sink, sink_context
from cdckit.errors import ConfigError

_BATCH = 1000


def feed(pipeline: ResolvedPipeline, records: Iterable[Record], stopping: Callable[[], bool]) -> int:
    """Delivers records as if the pipeline's source had given them; no offset is read or saved.

    Args:
        pipeline: whose chain, serializer and sink are meant.
        records: in order.
        stopping: once true, it ends behind the batch in hand.

    Returns:
        How many records were fed.

    Raises:
        ConfigError: the sink keeps Spark tables, or the offset.
        CdcError: what failed; what came before it is in the sink, as far as that took it.
    """
    sink = make_sink(pipeline)
    if not isinstance(sink, Sink):
        kind = pipeline.sink.registration.name
        raise ConfigError(
            f"sink.type: '{kind}' keeps Spark tables, which cannot be fed; name another one by --sink", number="CDC2401"
        )
    if sink.transactions is not None:
        raise ConfigError(
            f"sink: the transactions of '{pipeline.sink.registration.name}' carry the pipeline's offset, and a sample "
            "has none: have it deliver at least once here (kafka: --set sink.delivery.guarantee=at-least-once)",
            number="CDC2402",
        )
    fed = 0
    left = iter(records)
    with ExitStack() as stack:
        encode = make_encoder(pipeline)
        stack.callback(encode.close)
        stack.callback(sink.close)
        sink.open(sink_context(pipeline.name, encode.serializer, once=True, stopping=stopping))
        while not stopping() and (batch := list(islice(left, _BATCH))):
            for messages in encode.portions(batch):
                sink.write(messages)
            fed += len(batch)
        sink.flush()
    return fed
