"""What the sources of messages have in common: places in topics or files."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cached_property

from cdckit import Finding, Offset, Retention, Source, SourceContext, SourceError, Split, StateError
from cdckit_ticdc.config import TopicsConfig
from cdckit_ticdc.message import Message
from cdckit_ticdc.offsets import LogOffset, Partition
from cdckit_ticdc.ordering.damaged import damaged
from cdckit_ticdc.passed_over import undecoded
from cdckit_ticdc.reading.files import FileLog
from cdckit_ticdc.reading.kafka import KafkaLog, require_same
from cdckit_ticdc.reading.log import MessageLog, Range
from cdckit_ticdc.reading.retention import retention_of, topic_findings
from cdckit_ticdc.registry import Registry

log = logging.getLogger("cdckit.topics")

TOPICS = "topic_ids"
"""Under which the state store keeps the ids of topics that were read."""


class TopicSource(Source):
    """What the sources of messages have in common: places in logs."""

    def __init__(self, config: TopicsConfig) -> None:
        self.base = config
        self.context = SourceContext("cdckit")
        self._compared = False

    @classmethod
    def check(cls, config: TopicsConfig) -> Sequence[Finding]:
        """Whether topics are there and keep their messages, for `cdc validate --connect`; of files nothing is said."""
        with closing(cls(config)) as source:
            log = source.log
            return list(topic_findings(log, config.bootstrap_servers or "")) if isinstance(log, KafkaLog) else []

    @classmethod
    def check_retention(cls, config: TopicsConfig, offset: Offset) -> Retention | None:
        """How long the brokers keep what is to be read."""
        with closing(cls(config)) as source:
            log, places = source.log, LogOffset.from_json(offset).resume
            return retention_of(log, config.bootstrap_servers or "", places) if isinstance(log, KafkaLog) else None

    def open(self, context: SourceContext) -> None:
        """Keeps the context; connects when something is asked."""
        self.context = context

    def initial_offset(self) -> Offset:
        """The beginning of every partition, or its end with `auto.offset.reset: latest`."""
        latest = self.base.auto_offset_reset == "latest"
        places = {partition: held.high if latest else held.low for partition, held in self.log.ranges().items()}
        self._require_same_topics()
        log.info("reading begins at the %s of the topics or files", "end" if latest else "beginning")
        return LogOffset(places).to_json()

    def check_offset(self, offset: Offset) -> None:
        """It must tell places in partitions."""
        try:
            known = bool(LogOffset.from_json(offset).resume)
        except (AttributeError, TypeError, ValueError):
            known = False
        if not known:
            raise StateError('`partitions` says where to go on, such as {"partitions": {"TOPIC": {"0": 42}}}')

    def bounded(self, split: Split, end: Offset) -> Sequence[Split]:
        """Where nothing is to be read, a split that says where that was: it is saved, and the next run begins there."""
        return super().bounded(split, end) or [Split(split.start, split.start)]

    def pass_over(self, message: Message, error: Exception) -> None:
        """Gives away a message that cannot be understood.

        Raises:
            DecodeError: it is to stop the pipeline.
        """
        fault = damaged(message, error)
        if self.context.undecoded is None:
            raise fault from error
        self.context.undecoded(undecoded(message, str(fault)))

    def committed(self, offset: Offset) -> None:
        """Commits to the consumer group."""
        self.log.commit(LogOffset.from_json(offset).resume)

    def lag_messages(self, offset: Offset) -> int | None:
        """How many messages lie between what is delivered and the partitions' ends."""
        places = LogOffset.from_json(offset).resume
        try:
            ends = self.log.known_ends(places)
        except SourceError:
            return None
        if ends is None:
            return None
        return sum(max(0, end - places[partition]) for partition, end in ends.items())

    def close(self) -> None:
        """Lets the connections go."""
        if "log" in self.__dict__:
            self.log.close()
            del self.log

    @cached_property
    def log(self) -> MessageLog:
        """Where messages are."""
        return self.topics_or_files()

    def topics_or_files(self) -> MessageLog:
        """The topics or files that the options name."""
        if self.base.files:
            return FileLog(self.base.files)
        group = self.base.group_id or f"cdckit-{self.context.name}"
        servers, seconds = self.base.bootstrap_servers or "", self.base.request_timeout_ms / 1000
        return KafkaLog(servers, self.base.topics, group, self.base.kafka_client.settings, seconds)

    @cached_property
    def registry(self) -> Registry | None:
        """The schema registry, where one is given."""
        if self.base.schema_registry_url is None:
            return None
        user = self.base.schema_registry_basic_auth_user_info.get_secret_value()
        return Registry(self.base.schema_registry_url, user, self.base.request_timeout_ms / 1000)

    def checked(self, start: LogOffset) -> dict[Partition, Range]:
        """What the partitions hold.

        Raises:
            SourceError: messages beyond `start` are gone, or a partition is.
        """
        held = self.log.ranges()
        self._require_same_topics()
        for partition, at in start.resume.items():
            if partition not in held:
                raise SourceError(f"{partition} was read up to offset {at} and is gone", number="CDC3104")
            low, high = held[partition]
            if at < low:
                raise SourceError(
                    f"{partition}: offset {at} is gone, the oldest left is {low}: changes are lost; a new state folder "
                    "begins anew, and the topic's retention should outlast the longest downtime",
                    number="CDC3101",
                )
            if at > high:
                raise SourceError(
                    f"{partition}: offset {at} is beyond the end, {high}: the topic was made anew; a new state folder "
                    "begins anew",
                    number="CDC3104",
                )
        return held

    def _require_same_topics(self) -> None:
        """Looks once a run whether topics were made anew since they were first read.

        Raises:
            SourceError: one was.
        """
        state = self.context.state
        if state is None or self._compared:
            return
        now = self.log.identities()
        before = state.get(TOPICS) or {}
        require_same(before, now)
        if now.items() - before.items():
            state.put(TOPICS, {**before, **now})
        self._compared = True

    def moved(self, start: LogOffset, wait_seconds: float) -> dict[Partition, Range]:
        """What the partitions hold, as soon as one of them goes beyond what was read; or after `wait_seconds`."""
        until = time.monotonic() + wait_seconds
        while True:
            held = self.log.ranges()
            if any(found.high > max(start.was_read(one), found.low) for one, found in held.items()):
                return held
            if time.monotonic() >= until or self.context.stopping():
                return held
            time.sleep(self.log.poll_seconds)


def ends_of(held: Mapping[Partition, Range]) -> dict[Partition, int]:
    """The end of every partition."""
    return {partition: found.high for partition, found in held.items()}
