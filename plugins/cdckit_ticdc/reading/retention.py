"""Whether topics keep messages until they are read: what `cdc validate --connect` and `cdc doctor` find of a source."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from cdckit import Finding, Retention, SourceError, some_names
from cdckit.connector.durations import duration
from cdckit.kafka import FOREVER_MS, TopicSettings, alter_command, kept_ms
from cdckit_ticdc.offsets import Partition
from cdckit_ticdc.reading.kafka import KafkaLog
from cdckit_ticdc.reading.log import Range

_SHORT_MS = 24 * 3_600_000
_WEEK_MS = 604_800_000


def topic_findings(log: KafkaLog, servers: str) -> Iterator[Finding]:
    """Whether the topics are there, and for how long they keep what is in them."""
    try:
        held = log.ranges()
        settings = log.topic_settings()
    except SourceError as error:
        yield Finding.of("topics", error, "check source.bootstrap.servers, source.topics and source.kafka.*")
        return
    names = sorted({partition.topic for partition in held})
    yield Finding("topics", "ok", f"{len(names)} at {servers}, {len(held)} partitions")
    compacted = [name for name in names if "compact" in settings.get(name, {}).get("cleanup.policy", "")]
    if compacted:
        said = f"of {some_names(compacted)} only the newest message of each key stays: changes between are lost unread"
        remedy = alter_command(servers, compacted[0], "cleanup.policy=delete")
        yield Finding("compaction", "warn", said, remedy, "CDC1405")
    short = [name for name in names if kept_ms(settings.get(name, {})) < _SHORT_MS]
    if short:
        kept = duration(min(kept_ms(settings[name]) for name in short) // 1000)
        said = f"{some_names(short)}: messages are kept for {kept}; a pipeline that is down for longer loses them"
        remedy = alter_command(servers, short[0], f"retention.ms={_WEEK_MS}")
        yield Finding("retention", "warn", said, remedy, "CDC1406")


def retention_of(log: KafkaLog, servers: str, places: Mapping[Partition, int]) -> Retention | None:
    """How long the brokers keep the oldest message that is to be read; None where none waits.

    Raises:
        SourceError: the brokers do not answer.
    """
    held, settings = log.ranges(), log.topic_settings()
    waiting = {one: at for one, at in places.items() if one in held and at < held[one].high}
    found = [
        _of_partition(log, one, at, held[one], settings.get(one.topic, {}), servers) for one, at in waiting.items()
    ]
    return min(found, key=lambda one: float("inf") if one.purged_in is None else one.purged_in, default=None)


def _of_partition(
    log: KafkaLog, partition: Partition, at: int, held: Range, settings: TopicSettings, servers: str
) -> Retention:
    if at < held.low:
        gone = "the brokers do not have it any more"
        return Retention(f"{partition}, offset {at},", 0.0, gone, "a new state folder begins anew")
    written = log.time_of(partition, at)
    kept, now = kept_ms(settings), time.time()
    late = None if written is None else max(0.0, now - written / 1000)
    if written is None or kept >= FOREVER_MS:
        return Retention(f"{partition}, offset {at},", None, lag_seconds=late)
    remedy = alter_command(servers, partition.topic, f"retention.ms={max(_WEEK_MS, 2 * kept)}")
    left = max(0.0, (written + kept) / 1000 - now)
    return Retention(f"{partition}, offset {at},", left, f"retention.ms = {kept}", remedy, lag_seconds=late)
