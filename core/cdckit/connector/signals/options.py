"""Options: where signals come from, and how incremental snapshots read."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, NonNegativeInt, PositiveInt, model_validator

from cdckit.api.lists import NameList, split_names
from cdckit.api.places import LocalPath
from cdckit.api.plugin_config import PluginConfig
from cdckit.connector.signals.signal import OF_EVERY_SOURCE
from cdckit.kafka import CONSUMER, ClientProperties, ClientSettings, from_java_or_librdkafka

CHANNELS = ("source", "file", "kafka", "in-process")
_NO_JMX = "there is no JVM and so no 'jmx'; use in-process"


class SignalOptions(PluginConfig):
    """Signals and incremental snapshots."""

    signal_types: ClassVar[tuple[str, ...]] = OF_EVERY_SOURCE
    """What the source can be told to do."""

    signal_data_collection: str = ""
    """The table or collection (`database.name`) whose rows or documents tell the source what to do, such as to read a
    table again; incremental snapshots write their watermarks there, whatever channel asked for them. A table has
    three columns: id, type, data.
    """
    signal_enabled_channels: NameList = "source"
    """Where signals come from: `source` (`signal.data.collection`), `file`, `kafka`, `in-process` (`cdc signal` and
    Python's `cdckit.connector.signals.send`).
    """
    signal_poll_interval_ms: PositiveInt = 5000
    """How often channels other than `source` are looked at, in milliseconds."""
    signal_file: LocalPath = "file-signals.txt"
    """The file of the channel `file`: a JSON object a line; what has been read is taken out of it."""
    signal_kafka_topic: str = ""
    """The topic of the channel `kafka`, which has one partition; by default `topic.prefix` followed by `-signal`."""
    signal_kafka_bootstrap_servers: str = ""
    """The brokers of that topic, `host:port,…`."""
    signal_kafka_group_id: Annotated[str, Field(alias="signal.kafka.groupId")] = "kafka-signal"
    """The consumer group of that topic."""
    signal_kafka_poll_timeout_ms: NonNegativeInt = 100
    """How long to wait for messages of that topic each time, in milliseconds."""
    signal_consumer: ClientProperties = Field(default_factory=dict, repr=False)
    """More properties of that topic's consumer, in librdkafka's words or Java's; `offset.commit.enabled: true` makes it
    go on where it was, instead of at the topic's end; `socket.timeout.ms` (10 s) is how long an answer is waited for.
    """
    signal_conditions: Literal["safe", "free"] = "safe"
    """What `additional-conditions` may hold: `safe` is a condition on what the events of that table or collection show
    (for a blocking snapshot of a table also a SELECT of it alone), without functions that wait or have effects; `free`
    is anything that the server understands, so that whoever may write signals reads whatever the source's user may.
    """
    signal_statement_timeout_ms: NonNegativeInt = 600_000
    """How long, in milliseconds, a statement with such a condition may take before the server ends it, and its table or
    collection is left; 0: as long as it takes.
    """
    incremental_snapshot_chunk_size: PositiveInt = 1024
    """How many rows or documents an incremental snapshot reads at a time."""
    incremental_snapshot_watermarking_strategy: Annotated[
        Literal["insert_insert", "insert_delete"],
        BeforeValidator(lambda value: value.lower() if isinstance(value, str) else value),
    ] = "insert_insert"
    """Whether a chunk's end is marked by another row or document, or by deleting the one that marked its beginning."""

    @model_validator(mode="after")
    def _signal_channels(self) -> Self:
        database, _, name = self.signal_data_collection.partition(".")
        if self.signal_data_collection and not (database and name):
            raise ValueError("signal.data.collection should be of the form database.name")
        if split_names(self.signal_enabled_channels) == ("jmx",):
            raise ValueError(f"signal.enabled.channels: {_NO_JMX}")
        for name in self.channels:
            if name not in CHANNELS:
                raise ValueError(f"signal.enabled.channels: '{name}' is no channel; there are {', '.join(CHANNELS)}")
        if "kafka" in self.channels and not self.signal_kafka_bootstrap_servers:
            raise ValueError("signal.kafka.bootstrap.servers is required with the signal channel 'kafka'")
        if "kafka" in self.channels:
            _ = self.signal_client
        return self

    def remarks(self) -> list[str]:
        """A channel that cannot be is left out beside others, and so are properties of a consumer."""
        said = [f"signal.enabled.channels: {_NO_JMX}"] if "jmx" in split_names(self.signal_enabled_channels) else []
        said += self.signal_client.remarks("signal.consumer") if "kafka" in self.channels else []
        return super().remarks() + said

    @property
    def signal_client(self) -> ClientSettings:
        """`signal.consumer.*`, translated.

        Raises:
            ValueError: one of them cannot be had here.
        """
        return from_java_or_librdkafka(self.signal_consumer, CONSUMER, "signal.consumer")

    @property
    def channels(self) -> tuple[str, ...]:
        """Where signals come from."""
        return tuple(name for name in split_names(self.signal_enabled_channels) if name != "jmx")

    @property
    def takes_signals(self) -> bool:
        """Whether signals come from anywhere."""
        return bool(self.outer_channels or ("source" in self.channels and self.signal_data_collection))

    @property
    def outer_channels(self) -> tuple[str, ...]:
        """Where signals come from besides the source's own log."""
        return tuple(name for name in self.channels if name != "source")
