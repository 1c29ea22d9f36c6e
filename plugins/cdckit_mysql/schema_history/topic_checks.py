"""Whether the topic of the schema history keeps every record, without which definitions are lost."""

from __future__ import annotations

from collections.abc import Iterator

from cdckit import ConfigError, Finding
from cdckit.kafka import (
    ClientErrors,
    ClientOptions,
    KafkaClientError,
    TopicSettings,
    alter_command,
    open_admin,
    topic_settings,
)
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.options.history import PRODUCER_OPTIONS
from cdckit_mysql.schema_history.topic import FOREVER, QUERY, SERVERS

_OPTION = "schema.history.internal.kafka.topic"


def history_topic(config: MySqlConfig) -> Iterator[Finding]:
    """What is to be said of it, where it is there already; one that is to come is made as it should be."""
    if config.schema_history_internal != "kafka":
        return
    topic, servers = config.schema_history_internal_kafka_topic, config.schema_history_internal_kafka_bootstrap_servers
    settings = {"bootstrap.servers": servers, **config.history_producer.settings}
    errors = ClientErrors(ClientOptions(PRODUCER_OPTIONS, SERVERS, QUERY), settings)
    seconds = config.schema_history_internal_kafka_query_timeout_ms / 1000
    try:
        found = topic_settings(open_admin(settings, errors), [topic], seconds).get(topic)
    except (ConfigError, KafkaClientError) as error:
        yield Finding.of(_OPTION, error)
        return
    loses = [] if found is None else _loses(found)
    if loses:
        said = f"{topic} loses records ({', '.join(loses)}), and a schema history needs each of them"
        forever = ",".join(f"{name}={value}" for name, value in FOREVER.items())
        yield Finding(_OPTION, "fail", said, alter_command(servers, topic, forever), "CDC1407")
    elif found is not None:
        yield Finding(_OPTION, "ok", f"{topic} keeps every record")


def _loses(settings: TopicSettings) -> list[str]:
    """The settings by which records go."""
    policy = settings.get("cleanup.policy", "delete")
    names = [name for name in FOREVER if name != "cleanup.policy"] if "delete" in policy else []
    lost = [f"{name}={settings[name]}" for name in names if settings.get(name, FOREVER[name]) != FOREVER[name]]
    return [f"cleanup.policy={policy}", *lost] if "compact" in policy else lost
