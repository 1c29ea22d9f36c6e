"""Kafka's clients for whoever reads or writes topics: Java's settings in librdkafka's words, errors in plain words.

The library itself, `confluent_kafka`, is an extra; a client that is asked for says so where it is missing.
"""

from __future__ import annotations

from cdckit.kafka.client import ask, client_log, open_admin, open_consumer, open_producer
from cdckit.kafka.client_errors import ClientErrors, ClientOptions, KafkaClientError
from cdckit.kafka.java_options import CONSUMER, PRODUCER, ClientSettings, from_java, from_java_or_librdkafka
from cdckit.kafka.java_security import Named
from cdckit.kafka.option_types import ClientProperties, Text
from cdckit.kafka.shared_settings import of_every_client
from cdckit.kafka.topic_settings import FOREVER_MS, TopicSettings, alter_command, kept_ms, topic_settings

__all__ = [
    "CONSUMER",
    "FOREVER_MS",
    "PRODUCER",
    "ClientErrors",
    "ClientOptions",
    "ClientProperties",
    "ClientSettings",
    "KafkaClientError",
    "Named",
    "Text",
    "TopicSettings",
    "alter_command",
    "ask",
    "client_log",
    "from_java",
    "from_java_or_librdkafka",
    "kept_ms",
    "of_every_client",
    "open_admin",
    "open_consumer",
    "open_producer",
    "topic_settings",
]
