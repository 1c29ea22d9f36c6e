"""What `cdc validate --connect` finds out about Kafka. Nothing is changed there."""

from __future__ import annotations

from collections.abc import Iterator

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from cdckit import ConfigError, Finding
from cdckit.kafka import ClientErrors, KafkaClientError, ask, open_admin
from cdckit_kafka.config import KafkaSinkConfig
from cdckit_kafka.settings import CLIENT_OPTIONS, admin_settings, producer_settings

_LONGEST_SECONDS = 10.0


def findings(config: KafkaSinkConfig) -> Iterator[Finding]:
    """Whether librdkafka takes the options, brokers answer, and topics can be created as configured."""
    settings = admin_settings(producer_settings(config, "validate"))
    errors = ClientErrors(CLIENT_OPTIONS, settings)
    seconds = min(config.timeout, _LONGEST_SECONDS)
    try:
        admin = open_admin(settings, errors)
        brokers = len(ask(errors, admin.poll, lambda: admin.list_topics(timeout=seconds)).brokers)
    except ConfigError as error:
        yield Finding("options", "fail", str(error), "correct the option", number="CDC1402")
        return
    except KafkaClientError as fault:
        advice = "check bootstrap.servers and the options kafka.security.protocol, kafka.sasl.* and kafka.ssl.*"
        yield Finding("connection", "fail", str(fault), advice, number="CDC1401")
        return
    yield Finding("connection", "ok", f"{brokers} broker{'s' if brokers > 1 else ''} at {config.bootstrap_servers}")
    if config.topic_creation_enable:
        yield _replicas(config, brokers)
        yield _right_to_create(admin, seconds)


def _replicas(config: KafkaSinkConfig, brokers: int) -> Finding:
    most = max(rule.replication_factor for rule in config.topic_rules.rules)
    if most <= brokers:
        return Finding("replication.factor", "ok", "there are brokers enough for each replica of created topics")
    return Finding(
        "replication.factor",
        "fail",
        f"created topics are to have {most} replicas, but there are {brokers} brokers",
        "lower topic.creation.*.replication.factor, or create the topics",
        number="CDC1403",
    )


def _right_to_create(admin: AdminClient, seconds: float) -> Finding:
    name = "right to create topics"
    try:
        cluster = admin.describe_cluster(include_authorized_operations=True, request_timeout=seconds).result()
    except KafkaException as error:
        return Finding(name, "warn", f"not known: {error.args[0].str()}", number="CDC1404")
    if any(operation.name == "CREATE" for operation in cluster.authorized_operations or ()):
        return Finding(name, "ok", "granted for the cluster")
    return Finding(
        name,
        "warn",
        "not granted for the cluster; rights on single topics are seen only when they are created",
        "grant CREATE on the topics, or create them and set topic.creation.enable to false",
        number="CDC1404",
    )
