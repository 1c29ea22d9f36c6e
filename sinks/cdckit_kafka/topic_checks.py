"""Whether topics keep the events that are written to them. Nothing is changed there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cdckit import ConfigError, Finding, some_names
from cdckit.connector.durations import duration
from cdckit.kafka import ClientErrors, KafkaClientError, alter_command, ask, kept_ms, open_admin, topic_settings
from cdckit_kafka.config import KafkaSinkConfig
from cdckit_kafka.settings import CLIENT_OPTIONS, admin_settings, producer_settings

_LONGEST_SECONDS = 10.0
_SHORT_MS = 24 * 3_600_000
"""A consumer may be down for a day: the time in which somebody sees to it."""
_MOST_TOPICS = 1000


def topic_findings(config: KafkaSinkConfig, prefix: str, topics: Sequence[str]) -> Iterator[Finding]:
    """What is to be said of the pipeline's topics, as far as they are there."""
    settings = admin_settings(producer_settings(config, "doctor"))
    errors = ClientErrors(CLIENT_OPTIONS, settings)
    seconds = min(config.timeout, _LONGEST_SECONDS)
    try:
        admin = open_admin(settings, errors)
        there = ask(errors, admin.poll, lambda: admin.list_topics(timeout=seconds)).topics
    except (ConfigError, KafkaClientError) as error:
        yield Finding.of("topics", error)
        return
    own = sorted(name for name in there if name in topics or name == prefix or name.startswith(f"{prefix}."))
    found = topic_settings(admin, own[:_MOST_TOPICS], seconds)
    compacted = [name for name, one in found.items() if "compact" in one.get("cleanup.policy", "")]
    short = [name for name, one in found.items() if kept_ms(one) < _SHORT_MS]
    if compacted:
        said = f"of {some_names(compacted)} only the newest event of each key stays (cleanup.policy=compact)"
        remedy = alter_command(config.bootstrap_servers, compacted[0], "cleanup.policy=delete")
        yield Finding("compaction", "warn", said, remedy, "CDC1405")
    if short:
        kept = duration(min(kept_ms(found[name]) for name in short) // 1000)
        said = (
            f"{some_names(short)}: events are kept for {kept}, and whoever is down for longer loses them (retention.ms)"
        )
        remedy = alter_command(config.bootstrap_servers, short[0], "retention.ms=604800000")
        yield Finding("retention", "warn", said, remedy, "CDC1406")
    if own and not compacted and not short:
        yield Finding("topics", "ok", f"{len(own)} of the pipeline's are there, and keep their events")
