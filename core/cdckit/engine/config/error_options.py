"""What becomes of records that cannot be delivered, out of a pipeline's options."""

from __future__ import annotations

from pathlib import Path

from cdckit.engine.config.error_handling import ErrorHandling
from cdckit.engine.config.pipeline import Component, PipelineConfig
from cdckit.engine.config.quarantine_topic import QuarantineTopic
from cdckit.engine.state.file_config import FileStateConfig
from cdckit.errors import ConfigError
from cdckit.kafka import PRODUCER, from_java_or_librdkafka

_SERVERS = "bootstrap.servers"


def error_handling(pipeline: PipelineConfig, name: str, store: Component, sink: Component) -> ErrorHandling:
    """The options, checked.

    Args:
        pipeline: what the file says.
        name: the pipeline's.
        store: where its state is.
        sink: whose brokers a quarantine in a topic has, unless it has its own.

    Raises:
        ConfigError: it is not said where the quarantine is.
    """
    topic = _topic(pipeline, name, sink)
    tolerance = pipeline.errors_tolerance if topic is None else "quarantine"
    return ErrorHandling(
        tolerance,
        pipeline.errors_log_enable,
        pipeline.errors_log_include_messages,
        _folder(pipeline, store) if tolerance == "quarantine" and topic is None else pipeline.quarantine_folder,
        pipeline.quarantine_max_records,
        pipeline.quarantine_max_share,
        pipeline.quarantine_later_changes,
        topic,
    )


def _folder(pipeline: PipelineConfig, store: Component) -> Path:
    """A quarantine is where nothing else loses it."""
    if pipeline.quarantine_folder is not None:
        return pipeline.quarantine_folder
    if not isinstance(store.config, FileStateConfig):
        raise ConfigError(
            f"quarantine.folder: required with the state store '{store.registration.name}', for the pipeline's "
            "folder on this machine may be lost: name a directory that lasts, or a topic of Kafka (quarantine.topic)"
        )
    assert store.config.path is not None  # it was given one
    return store.config.path / "quarantine"


def _topic(pipeline: PipelineConfig, name: str, sink: Component) -> QuarantineTopic | None:
    if pipeline.quarantine_topic is None:
        return None
    of_sink = dict(sink.config.broker_settings() or {})
    servers = pipeline.quarantine_bootstrap_servers or of_sink.pop(_SERVERS, "")
    if not servers:
        raise ConfigError(
            f"quarantine.bootstrap.servers: required with quarantine.topic and the sink '{sink.registration.name}', "
            "which has no brokers: name those of the topic"
        )
    own = from_java_or_librdkafka(pipeline.quarantine_kafka, PRODUCER, "quarantine.kafka").settings
    # What a sink says of its brokers is nothing to others.
    settings = dict(own) if pipeline.quarantine_bootstrap_servers else {**of_sink, **own}
    return QuarantineTopic(
        pipeline.quarantine_topic,
        name,
        servers,
        settings,
        pipeline.quarantine_topic_replication_factor,
        pipeline.quarantine_topic_context_headers,
        pipeline.quarantine_timeout_ms,
    )
