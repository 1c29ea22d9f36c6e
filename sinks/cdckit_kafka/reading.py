"""The messages of topics, read back up to where the topics end now."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from cdckit import POSITION_HEADER, UNAVAILABLE_HEADER, HeldMessage, HeldMessages, SinkContext, SinkError
from cdckit.kafka import ClientErrors, open_consumer
from cdckit.waiting import answer_of
from cdckit_kafka.config import KafkaSinkConfig
from cdckit_kafka.ends import Ends, compacted
from cdckit_kafka.settings import CLIENT_OPTIONS, consumer_settings, producer_settings

_BATCH = 1000
_STEP_SECONDS = 0.5
_MOST_TIMES = 3
"""So often it is read on what has come while the rest was read, each time less."""
_Place = tuple[str, int]


def held_messages(config: KafkaSinkConfig, context: SinkContext, topics: Collection[str]) -> HeldMessages:
    """What the brokers have of some topics; one that is not there has nothing.

    Raises:
        SinkError: no broker answers within the sink's `timeout`.
    """
    settings = consumer_settings(producer_settings(config, context.name))
    found = _bounds(config, settings, topics)
    left = {place: high for place, (low, high) in found.items() if high > low}
    return HeldMessages(_Reading(config, context, settings).batches(left, {}), _removed(found))


def held_to(config: KafkaSinkConfig, context: SinkContext, topics: Collection[str], ends: Ends) -> HeldMessages:
    """What the brokers have of some topics before ends that were told, and all of topics that may be compacted.

    Raises:
        SinkError: no broker answers within the sink's `timeout`.
    """
    settings = producer_settings(config, context.name)
    passing = compacted(settings, topics, config.timeout)
    settings = consumer_settings(settings)
    found = _bounds(config, settings, topics)
    until = {
        place: high if place[0] in passing else ends.get(place[0], {}).get(str(place[1]), 0)
        for place, (_, high) in found.items()
    }
    left = {place: end for place, end in until.items() if end > found[place][0]}
    removed = _removed(found)
    return HeldMessages(_Losing(config, context, settings, removed, passing).batches(left, {}), removed, passing)


def _bounds(
    config: KafkaSinkConfig, settings: Mapping[str, str], topics: Collection[str]
) -> dict[_Place, tuple[int, int]]:
    errors = ClientErrors(CLIENT_OPTIONS, settings)
    with closing(open_consumer(settings, errors)) as consumer:
        ends = _Ends(consumer, config.timeout, errors)
        return {place: ends.of(place) for topic in sorted(topics) for place in ends.partitions(topic)}


def _removed(found: Mapping[_Place, tuple[int, int]]) -> dict[str, str]:
    """The topics that have lost messages, and why."""
    return {
        topic: f"the topic begins at offset {low} by now (retention.ms, retention.bytes), and what stood before is gone"
        for (topic, _), (low, _) in sorted(found.items())
        if low > 0
    }


class _Ends:
    """Where partitions begin and end."""

    def __init__(self, consumer: Consumer, timeout: float, errors: ClientErrors) -> None:
        self._consumer = consumer
        self._timeout = timeout
        self._errors = errors

    def partitions(self, topic: str) -> list[_Place]:
        """Those of a topic; none where it is not there."""
        found = self._asked(lambda: self._consumer.list_topics(topic, timeout=self._timeout)).topics[topic]
        return [] if found.error is not None else [(topic, number) for number in found.partitions]

    def of(self, place: _Place) -> tuple[int, int]:
        """Where a partition begins, and where it ends."""
        low, high = self._asked(
            lambda: self._consumer.get_watermark_offsets(TopicPartition(*place), timeout=self._timeout)
        )
        return low, high

    def _asked(self, ask: Any) -> Any:
        try:
            return answer_of(ask)
        except KafkaException as error:
            reason = self._errors.reason() or error.args[0].str()
            raise SinkError(f"Kafka's topics cannot be read: {reason}; nothing can be compared with them") from None


class _Reading:
    def __init__(self, config: KafkaSinkConfig, context: SinkContext, settings: Mapping[str, str]) -> None:
        self._config = config
        self._context = context
        self._settings = settings

    def batches(self, left: dict[_Place, int], begins: Mapping[_Place, int]) -> Iterator[Sequence[HeldMessage]]:
        """All messages before the ends of their partitions, from where that is told, else from where they begin."""
        if not left:
            return
        errors = ClientErrors(CLIENT_OPTIONS, self._settings)
        with closing(open_consumer(self._settings, errors)) as consumer:
            consumer.assign([TopicPartition(*place, begins.get(place, OFFSET_BEGINNING)) for place in left])
            still = 0.0
            while left and not self._context.stopping():
                messages = consumer.consume(_BATCH, _STEP_SECONDS)
                batch = [self._held(message) for message in messages if _is_before(message, left)]
                still = 0.0 if messages else still + _STEP_SECONDS
                if still > self._config.timeout:
                    raise SinkError(f"Kafka gives no messages of {next(iter(left))[0]}: {errors.reason()}")
                yield batch
                for message in messages:
                    _settle(message, left)

    def _held(self, message: Message) -> HeldMessage:
        headers = dict(message.headers() or ())
        before, behind = self._context.around_position
        position = _text(headers.get(POSITION_HEADER)).removeprefix(before).removesuffix(behind)
        key, value = message.key(), message.value()
        try:
            parsed = self._parsed(message, "key", key), self._parsed(message, "value", value)
        except ValueError as error:
            form = "JSON" if self._context.value_form == "json" else "message of the pipeline"
            raise SinkError(
                f"topic {message.topic()}, partition {message.partition()}, offset {message.offset()}: is no {form}, "
                f"so another serializer, or another program, has written it: {error}"
            ) from error
        return HeldMessage(message.topic() or "", *parsed, position, UNAVAILABLE_HEADER in headers)

    def _parsed(self, message: Message, part: str, data: bytes | str | None) -> Any:
        if data is None:
            return None
        given = data.encode() if isinstance(data, str) else data
        return self._context.parsed(message.topic() or "", part, given)


class _Losing(_Reading):
    """Reads what may be removed meanwhile, and says where it was.

    Args:
        config: the sink's options.
        context: what a runner would give it.
        settings: the consumer's.
        removed: takes the topics that have lost messages while they were read.
        passing: the topics that may be compacted.
    """

    def __init__(
        self,
        config: KafkaSinkConfig,
        context: SinkContext,
        settings: Mapping[str, str],
        removed: dict[str, str],
        passing: Collection[str],
    ) -> None:
        super().__init__(config, context, settings)
        self._removed = removed
        self._passing = passing

    def batches(self, left: dict[_Place, int], begins: Mapping[_Place, int]) -> Iterator[Sequence[HeldMessage]]:
        """Those before the ends of their partitions; of topics that may be compacted what has come meanwhile, too.

        Compaction removes a key's message for a newer one, which may stand behind the end of when reading began.
        """
        ends, topics = dict(left), {topic for topic, _ in left}
        yield from super().batches(left, begins)
        for _ in range(_MOST_TIMES):
            found = _bounds(self._config, self._settings, topics & {*self._passing})
            more = {place: high for place, (_, high) in found.items() if high > ends.get(place, 0)}
            if not more:
                break
            yield from super().batches(dict(more), ends)
            ends |= more
        self._removed |= _removed(_bounds(self._config, self._settings, topics))


def _text(header: str | bytes | None) -> str:
    return header.decode() if isinstance(header, bytes) else header or ""


def _place(message: Message) -> _Place:
    return message.topic() or "", message.partition() or 0


def _is_before(message: Message, ends: Mapping[_Place, int]) -> bool:
    return message.error() is None and (message.offset() or 0) < ends.get(_place(message), 0)


def _settle(message: Message, left: dict[_Place, int]) -> None:
    """Takes out a partition whose end was reached: what ends a transaction stands there, too, and is no message."""
    place, error = _place(message), message.error()
    if error is not None and error.code() != KafkaError._PARTITION_EOF:
        raise SinkError(f"topic {place[0]}: {error.str()}; nothing can be compared with it")
    if place in left and (message.offset() or 0) + (error is None) >= left[place]:
        del left[place]
