"""Topics of Kafka as a log, through librdkafka's consumer with partitions assigned by hand."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicCollection, TopicPartition

from cdckit import DecodeError, RetriableSourceError, SourceError, StoppedError
from cdckit.java.regex import UserPattern
from cdckit.kafka import (
    ClientErrors,
    ClientOptions,
    KafkaClientError,
    TopicSettings,
    ask,
    open_admin,
    open_consumer,
    topic_settings,
)
from cdckit.waiting import ended_by_stop, let_go
from cdckit_ticdc.message import Message
from cdckit_ticdc.offsets import Partition
from cdckit_ticdc.reading.log import Chunk, MessageLog, Range

log = logging.getLogger("cdckit.topics")

Answer = TypeVar("Answer")

_BATCH = 2000
_AT_END = -1
"""The size of a chunk that says that the partition has no more for now."""
_NEW_PARTITIONS_SECONDS = 10.0
_PROBE_SECONDS = 2.0
_SLICE = 0.2
"""For so many seconds the client waits for messages that are there, deaf to a stop."""
_OPTIONS = ClientOptions("source.kafka", "source.bootstrap.servers", patience="request.timeout.ms")
_DEFAULTS = {
    "enable.auto.commit": "false",
    "enable.auto.offset.store": "false",
    # A place that is gone is told, and not passed over in silence as by `earliest` and `latest`.
    "auto.offset.reset": "error",
    # The end of a partition has to be seen: the last offsets may be markers of transactions, which are no messages.
    "enable.partition.eof": "true",
    "fetch.message.max.bytes": "10485760",
    "queued.max.messages.kbytes": "65536",
    "fetch.wait.max.ms": "100",
    "allow.auto.create.topics": "false",
    # librdkafka does not look by default, and a batch that is damaged on a broker's disk would be read as if it were
    # none.
    "check.crcs": "true",
}
_OF_CONSUMERS = re.compile(r"(enable|auto|fetch|queued|group|check|allow|isolation|partition|max\.poll)\.")
"""Settings that only consumers have."""
_GONE = frozenset(
    (
        KafkaError._UNKNOWN_PARTITION,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.UNKNOWN_TOPIC_ID,
    )
)


class _Reports(ClientErrors):
    """What the client reports of its own accord, and what of it no waiting helps against."""

    lasting: KafkaError | None = None
    too_large = False

    def report(self, error: KafkaError) -> None:
        """The client's error callback."""
        super().report(error)
        self.too_large |= error.code() == KafkaError._BAD_MSG and "receive.message.max.bytes" in error.str()
        if self.lasting is None and self.fault(error).lasting:
            self.lasting = error

    def clear(self) -> None:
        """Forgets what is over."""
        super().clear()
        self.lasting, self.too_large = None, False


class KafkaLog(MessageLog):
    """Reads topics.

    Args:
        servers: the brokers to ask first.
        topics: names; one that begins with `^` is a regular expression of names.
        group: the consumer group that is told how far reading has come.
        settings: librdkafka's, the user's.
        seconds: for how long an answer is waited for.
    """

    def __init__(
        self, servers: str, topics: Sequence[str], group: str, settings: Mapping[str, str], seconds: float
    ) -> None:
        self._seconds = seconds
        self._topics = [topic for topic in topics if not topic.startswith("^")]
        self._patterns = [UserPattern(topic, topic, "source.topics") for topic in topics if topic.startswith("^")]
        limits = {"socket.timeout.ms": str(int(seconds * 1000))}
        self._settings = {**_DEFAULTS, **limits, **settings, "bootstrap.servers": servers, "group.id": group}
        self._consumer: Consumer | None = None
        self._errors = _Reports(_OPTIONS, self._settings)
        self._at: dict[Partition, int] = {}
        self._followed: dict[str, str] = {}
        self._damage: DecodeError | None = None

    # -- the contract

    def ranges(self) -> dict[Partition, Range]:
        """The low and high watermarks of every partition."""
        return {partition: self._range(partition) for partition in self._partitions()}

    def read(
        self, start: Mapping[Partition, int], end: Mapping[Partition, int] | None, idle_seconds: float
    ) -> Iterator[list[Chunk]]:
        """Messages of all partitions, as they come."""
        if end is not None:
            yield from self._bounded(start, end)
        else:
            yield from self._following(start, idle_seconds)

    def tail(self, partition: Partition, messages: int) -> list[Message]:
        """The last few messages of a partition."""
        low, high = self._range(partition)
        found = self._bounded({partition: max(low, high - messages)}, {partition: high})
        return [message for chunks in found for chunk in chunks for message in chunk.messages]

    def known_ends(self, partitions: Iterable[Partition]) -> dict[Partition, int] | None:
        """As the brokers said when they were last read from; they are asked about the others."""
        return {partition: self._seen_end(partition) for partition in partitions}

    def identities(self) -> dict[str, str]:
        """The topics' ids, which brokers give since Kafka 2.8."""
        names = sorted({partition.topic for partition in self._partitions()})
        settings = self._of_admin()
        errors = ClientErrors(_OPTIONS, settings)
        try:
            admin = open_admin(settings, errors)
            asked = admin.describe_topics(TopicCollection(names), request_timeout=self._seconds)
            found = ask(errors, admin.poll, lambda: {name: str(each.result().topic_id) for name, each in asked.items()})
        except KafkaClientError as fault:
            log.warning("the topics' ids are not told, so that one that is made anew is not seen: %s", fault)
            return {}
        return {name: identity for name, identity in found.items() if identity.strip("A=0-")}

    def topic_settings(self) -> dict[str, TopicSettings]:
        """How the topics are configured; those that the user may not look at are left out."""
        names = sorted({partition.topic for partition in self._partitions()})
        settings = self._of_admin()
        return topic_settings(open_admin(settings, ClientErrors(_OPTIONS, settings)), names, self._seconds)

    def time_of(self, partition: Partition, at: int) -> int | None:
        """When a message was written, in ms since 1970; None where that is not told."""
        for chunks in self._bounded({partition: at}, {partition: at + 1}):
            for message in (message for chunk in chunks for message in chunk.messages):
                return message.timestamp
        return None

    def _of_admin(self) -> dict[str, str]:
        return {name: value for name, value in self._settings.items() if not _OF_CONSUMERS.match(name)}

    def _seen_end(self, partition: Partition) -> int:
        try:
            _, high = self._connected().get_watermark_offsets(TopicPartition(*partition), cached=True)
        except KafkaException as error:
            raise self._fault(error.args[0]) from error
        return high if high >= 0 else self._range(partition).high

    def commit(self, resume: Mapping[Partition, int]) -> None:
        """Commits to the consumer group; what it cannot take is logged, since the state store decides."""
        places = [TopicPartition(*partition, at) for partition, at in resume.items()]
        try:
            if places:
                self._connected().commit(offsets=places, asynchronous=True)
        except KafkaException as error:
            log.warning(
                "the offsets could not be committed to the consumer group: %s", self._errors.fault(error.args[0])
            )

    def close(self) -> None:
        """Leaves the brokers."""
        if self._consumer is not None:
            let_go(self._consumer.close)
            self._consumer = None

    # -- reading

    def _bounded(self, start: Mapping[Partition, int], end: Mapping[Partition, int]) -> Iterator[list[Chunk]]:
        left = {partition: stop for partition, stop in end.items() if start.get(partition, 0) < stop}
        if not left:
            return
        self._assign({partition: start.get(partition, 0) for partition in left})
        quiet_since = time.monotonic()
        while left:
            with ended_by_stop():
                found = self._consumed(_SLICE)
            chunks = [_cut(chunk, left[chunk.partition]) for chunk in found if chunk.partition in left]
            if chunks:
                quiet_since = time.monotonic()
                yield chunks
            for chunk in found:
                if chunk.partition in left and (chunk.next >= left[chunk.partition] or chunk.size == _AT_END):
                    del left[chunk.partition]
            if time.monotonic() - quiet_since > self._seconds:
                raise RetriableSourceError(f"Kafka gave nothing for {self._seconds:g} s{self._reason()}")

    def _following(self, start: Mapping[Partition, int], idle_seconds: float) -> Iterator[list[Chunk]]:
        at = dict(start)
        self._assign(at)
        self._followed = self.identities()
        looked = time.monotonic()
        while True:
            found = [chunk for chunk in self._consumed(idle_seconds) if chunk.messages]
            for chunk in found:
                at[chunk.partition] = chunk.next
            yield found
            if time.monotonic() - looked > _NEW_PARTITIONS_SECONDS:
                looked = time.monotonic()
                partitions = self._partitions()
                require_kept(at, partitions)
                # A topic that was deleted and made anew under its name has the same offsets, and other messages.
                require_same(self._followed, self.identities())
                new = {partition: self._range(partition).low for partition in partitions if partition not in at}
                if new:
                    at |= new
                    self._assign(at)

    def _consumed(self, seconds: float) -> list[Chunk]:
        """What came, and a chunk of size `_AT_END` for each partition that has no more for now.

        Raises:
            DecodeError: the next message is damaged; what came before it was given.
            SourceError: the brokers refuse, or a topic is gone.
        """
        if self._damage is not None:
            raise self._damage
        gathered: dict[Partition, list[Message]] = {}
        ends: list[Chunk] = []
        for message in self._connected().consume(_BATCH, seconds):
            error = message.error()
            if error is None:
                made = _message(message)
                gathered.setdefault(Partition(made.topic, made.partition), []).append(made)
            elif error.code() == KafkaError._PARTITION_EOF:
                ends.append(_end(message))
            elif error.code() == KafkaError._BAD_MSG:
                place = f"topic {message.topic()}, partition {message.partition()}"
                # librdkafka goes on behind a batch that it cannot read, which would leave its messages out. So this is
                # kept, and nothing more is read from there.
                self._damage = DecodeError(
                    f"{place}: {error.str()}: it is damaged on the broker's disk or on its way", number="CDC5110"
                )
                break
            else:
                raise self._refused(message, error)
        chunks = [
            Chunk(partition, messages, messages[-1].offset + 1, sum(_size(message) for message in messages))
            for partition, messages in gathered.items()
        ]
        self._at.update((chunk.partition, chunk.next) for chunk in chunks)
        self._check()
        return [*chunks, *ends]

    def _assign(self, places: Mapping[Partition, int]) -> None:
        self._at, self._damage = dict(places), None
        self._connected().assign([TopicPartition(*partition, at) for partition, at in places.items()])

    # -- what the brokers say

    def _partitions(self) -> list[Partition]:
        known = self._asked(lambda consumer: consumer.list_topics(timeout=self._seconds)).topics
        missing = [topic for topic in self._topics if topic not in known]
        if missing:
            raise SourceError(
                f"source.topics: there is no topic '{missing[0]}' at {self._settings['bootstrap.servers']}, or the "
                "user may not describe it; create it, or correct the name",
                number="CDC3401",
            )
        wanted = {*self._topics, *(name for name in known if any(one.fullmatch(name) for one in self._patterns))}
        return sorted(Partition(topic, number) for topic in wanted for number in known[topic].partitions)

    def _range(self, partition: Partition) -> Range:
        place = TopicPartition(*partition)
        low, high = self._asked(lambda consumer: consumer.get_watermark_offsets(place, timeout=self._seconds))
        return Range(low, high)

    def _connected(self) -> Consumer:
        if self._consumer is None:
            self._consumer = open_consumer(self._settings, self._errors)
        return self._consumer

    def _asked(self, call: Callable[[Consumer], Answer]) -> Answer:
        """What the brokers answer. Where a stop ends the wait, a thread still holds the consumer."""
        consumer = self._connected()
        try:
            return ask(self._errors, consumer.poll, lambda: call(consumer))
        except KafkaClientError as fault:
            raise self._source_error(fault) from fault
        except StoppedError:
            self._consumer = None
            raise

    def _check(self) -> None:
        """Raises what was reported since, where it cannot pass by itself."""
        if self._errors.lasting is not None:
            raise self._fault(self._errors.lasting)
        if self._errors.too_large:
            raise self._too_large()

    def _too_large(self) -> SourceError:
        """The error for a message that the client does not take, which it tells without its place.

        Each partition is asked by a new client: an answer that one still waits for may be of another partition.
        """
        for partition, at in self._at.items():
            self.close()
            self._errors.clear()
            self._connected().assign([TopicPartition(*partition, at)])
            self._asked(lambda consumer: consumer.consume(1, _PROBE_SECONDS))
            if self._errors.too_large:
                return SourceError(
                    f"topic {partition.topic}, partition {partition.number}, offset {at}: the message is larger than "
                    "the client takes: raise source.kafka.receive.message.max.bytes",
                    number="CDC3305",
                )
        return RetriableSourceError(f"Kafka sent a message that is too large for the client{self._reason()}")

    def _reason(self) -> str:
        reason = self._errors.reason()
        return f": {reason}" if reason else ""

    def _refused(self, message: Any, error: KafkaError) -> SourceError:
        """The error that came in a message's place.

        Raises:
            SourceError: its topic is gone, or another one by now.
        """
        if error.code() in _GONE:
            require_kept(self._at, self._partitions())
        if error.code() != KafkaError._AUTO_OFFSET_RESET:
            return self._fault(error)
        # A topic that was made anew has other offsets, and is asked for those of the one before.
        require_same(self._followed, self.identities())
        place = f"topic {message.topic()}, partition {message.partition()}"
        said = f"{self._at_brokers()}: {place}: {self._errors.redacted(error.str())}"
        return SourceError(
            f"{said}: messages between the saved offset and the oldest one left are lost", number="CDC3101"
        )

    def _fault(self, error: KafkaError) -> SourceError:
        return self._source_error(self._errors.fault(error))

    def _source_error(self, fault: KafkaClientError) -> SourceError:
        kind = SourceError if fault.lasting else RetriableSourceError
        return kind(f"{self._at_brokers()}: {fault}", number="CDC3202" if fault.lasting else "CDC3201")

    def _at_brokers(self) -> str:
        return f"Kafka at {self._settings['bootstrap.servers']}"


def require_kept(read: Iterable[Partition], found: Sequence[Partition]) -> None:
    """Makes sure that what was read is still there.

    Raises:
        SourceError: a partition is gone.
    """
    for partition in read:
        if partition not in found:
            raise SourceError(
                f"{partition} was read and is gone: its topic was deleted; take it out of source.topics, or begin "
                "anew with a new state folder once it is there again",
                number="CDC3104",
            )


def require_same(before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Makes sure that topics are those that they were.

    Raises:
        SourceError: one was made anew.
    """
    for topic, identity in before.items():
        if now.get(topic, identity) != identity:
            raise SourceError(
                f"topic '{topic}' was deleted and made anew: what stands there now is not what the saved offset tells "
                "of, and what was deleted before it was read is lost; a new state folder begins anew",
                number="CDC3104",
            )


def _message(message: Any) -> Message:
    kind, time_ms = message.timestamp()
    headers = message.headers()
    return Message(
        message.topic(),
        message.partition(),
        message.offset(),
        message.key(),
        message.value(),
        time_ms if kind else None,
        tuple(headers) if headers else (),
    )


def _end(message: Any) -> Chunk:
    return Chunk(Partition(message.topic(), message.partition()), [], message.offset(), _AT_END)


def _size(message: Message) -> int:
    return len(message.key or b"") + len(message.value or b"")


def _cut(chunk: Chunk, stop: int) -> Chunk:
    """The chunk without what lies beyond the end that was asked for."""
    if chunk.next <= stop or not chunk.messages:
        return chunk._replace(next=min(chunk.next, stop), size=max(chunk.size, 0))
    messages = [message for message in chunk.messages if message.offset < stop]
    return Chunk(chunk.partition, messages, stop, sum(_size(message) for message in messages))
