"""A pipeline: the options of its file, and what becomes of them once every plugin has checked its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, NonNegativeInt, PositiveInt, SecretStr, StringConstraints, model_validator

from cdckit.api.hookspecs import Registration
from cdckit.api.places import LocalPath, on_this_machine
from cdckit.api.plugin_config import PluginConfig, dotted
from cdckit.api.source_config import SourceConfig
from cdckit.connector.options.lineage import LineageOptions
from cdckit.engine.config.error_handling import ErrorHandling, LaterChanges, Tolerance
from cdckit.engine.metrics.access import MetricsAccess
from cdckit.engine.metrics.address import Address
from cdckit.engine.metrics.names import Names
from cdckit.engine.state.file_config import FileStateConfig
from cdckit.kafka import PRODUCER, ClientProperties, from_java_or_librdkafka

Runner = Literal["spark", "direct"]
Tail = Literal["spark", "direct"]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*$")]
Options = dict[str, Any]


_OF_THE_TOPIC = (
    "quarantine_topic_replication_factor",
    "quarantine_topic_context_headers",
    "quarantine_bootstrap_servers",
    "quarantine_kafka",
    "quarantine_timeout_ms",
)


class PipelineConfig(PluginConfig):
    """The options of a pipeline file. A component's own options are checked by its plugin's model."""

    stand_ins: ClassVar[Mapping[str, str]] = {
        "errors.deadletterqueue.topic.name": "quarantine.topic",
        "errors.deadletterqueue.topic.replication.factor": "quarantine.topic.replication.factor",
        "errors.deadletterqueue.context.headers.enable": "quarantine.topic.context.headers",
    }

    name: Name | None = None
    """The pipeline's name: letters, digits, `.`, `_` and `-`.

    By default the source's `topic.prefix`, else the file's name.
    """
    runner: Runner = "spark"
    """Who drives the pipeline: `spark` (Structured Streaming, on this machine or a cluster) or `direct`
    (one process, no JVM, lowest latency).
    """
    tail: Tail = "spark"
    """On Spark: who has the log's end once the pipeline has caught up: `spark`, or `direct`, a process of low latency
    beside the driver, which also delivers while Spark starts. Snapshots and backlogs stay Spark's.
    """
    tail_max_lag_ms: PositiveInt = 30_000
    """With `tail: direct`: how old, in milliseconds, the newest change that was delivered may be while more is to come;
    beyond that Spark goes on, until it is behind by half of it at the most.
    """
    state: Options = Field(default_factory=lambda: {"type": "file"})
    """Where offsets, schema history and snapshot progress are kept; `type` names the state store. A text in its place
    is the path of the store `file`: `state: DIR`.
    """
    local_folder: Annotated[Path, on_this_machine("name a path")] | None = None
    """The directory of what belongs to this machine: the status, signals of `cdc signal`, Spark's checkpoint unless
    `checkpoint` says otherwise. With another state store than `file` it may be lost. By default the state's own with
    `file`, else `./state/NAME`, beside the pipeline file.
    """
    checkpoint: LocalPath | None = None
    """On Spark: a folder or URL (`s3a://BUCKET/FOLDER`, `hdfs://…`, `file:///…`) where Spark's checkpoint is kept, with
    copies of the state of the store `file`, so that its directory may be lost. By default the checkpoint stands in
    `local.folder`.
    """
    source: Options
    """Where changes are read; `type` names the source."""
    transforms: list[Options] = Field(default_factory=list)
    """The chain that every record passes, in order.

    `type` names the transform; `predicate` and `negate` say which records it sees.
    """
    predicates: dict[str, Options] = Field(default_factory=dict)
    """Conditions by name, for the transforms' `predicate`; `type` names the kind."""
    cases: list[Options] = Field(default_factory=list)
    """What the chain is to make of records, for `cdc test` alone: a list of `input` with `output` or `error`."""
    serializer: Options = Field(default_factory=lambda: {"type": "json"})
    """How keys, values and headers become bytes; `type` names the serializer, `key.type` and `header.type` another one
    for keys and headers.
    """
    sink: Options = Field(default_factory=lambda: {"type": "stdout"})
    """Where records go; `type` names the sink."""
    spark: dict[str, str] = Field(default_factory=dict)
    """Settings of the Spark session, such as `spark.master`."""
    position_header: bool = True
    """Whether each record carries its position in the header `__cdckit.position`."""
    errors_tolerance: Tolerance = "none"
    """What becomes of a record that cannot be decoded, transformed, serialized or written: `none`, it stops the
    pipeline; `quarantine`, it is kept in `quarantine.folder` or `quarantine.topic` until `cdc replay` delivers it;
    `all`, it is left out for good, counted, and the first of each topic is logged, but for what cannot be decoded,
    which stops the pipeline; with `quarantine.topic`, it means `quarantine`.
    """
    errors_log_enable: bool = False
    """Whether each such record is logged, not only the first of a topic; without key and value."""
    errors_log_include_messages: bool = False
    """Whether the log shows key and value of those that it tells of."""
    quarantine_folder: Annotated[Path, on_this_machine("name a path, or a quarantine.topic")] | None = None
    """The directory of the records in quarantine. By default `quarantine` in the state's directory; with another state
    store than `file` it must be named, and last.
    """
    quarantine_topic: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,249}$")] | None = None
    """The topic of Kafka that has the records in quarantine, in the place of a folder; several pipelines may share it.
    Kafka Connect's name, `errors.deadletterqueue.topic.name`, is read as well.
    """
    quarantine_topic_replication_factor: Annotated[int, Field(ge=-1)] = -1
    """How many replicas the topic gets where it is made; `-1` leaves it to the broker's `default.replication.factor`.
    Kafka Connect's name is `errors.deadletterqueue.topic.replication.factor`.
    """
    quarantine_topic_context_headers: bool = False
    """Whether its records have Kafka Connect's headers `__connect.errors.*`, too. Kafka Connect's name is
    `errors.deadletterqueue.context.headers.enable`.
    """
    quarantine_bootstrap_servers: str | None = None
    """The brokers of the topic: `host:port`, several separated by commas. By default those of the sink `kafka`."""
    quarantine_kafka: ClientProperties = Field(default_factory=dict, repr=False)
    """More properties of the topic's clients, such as `quarantine.kafka.sasl.password`, in librdkafka's words or
    Java's. With the sink's brokers, what the sink says of logins and TLS counts here, too.
    """
    quarantine_timeout_ms: Annotated[int, Field(ge=1000)] = 30_000
    """How long to wait, in milliseconds, for the brokers of the topic, and for a record to be acknowledged there."""
    quarantine_max_records: PositiveInt = 10_000
    """How many records the quarantine may hold; the next one stops the pipeline."""
    quarantine_max_share: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Which share of the records may go there, from above 0 to 1: the pipeline stops where it is more of the last
    1,000 records; with 1 it never does.
    """
    quarantine_later_changes: LaterChanges = "pass"
    """What becomes of later changes of a key that has a record in quarantine: `pass`, they are delivered; `wait`, they
    are kept there behind it, so that the key's order holds; on Spark one task reads each batch then.
    """
    offset_flush_interval_ms: NonNegativeInt = 1000
    """How often, in milliseconds, the sink is flushed and the offset saved while changes keep coming; 0: after each
    batch.
    """
    idle_wait_ms: NonNegativeInt = 10_000
    """On Spark: how long, in milliseconds, the planner waits for the log to move before it says that it did not."""
    batch_max_bytes: NonNegativeInt = 0
    """On Spark: how much of a backlog one batch takes, in bytes of the source's log; 0: 256 MB, or 64 MB for each split
    that may be read at the same time where that is more, and 1 GB at the most.
    """
    batch_target_ms: NonNegativeInt = 0
    """On Spark: how long, in milliseconds, the delivery of one batch of a backlog is to take: it gets as much of the
    log as took so long before, 1 MB at least and what `batch.max.bytes` says at the most, an eighth of that at first;
    0: size alone counts. Batches of a snapshot go by size. For MySQL and MariaDB.
    """
    read_max_bytes_per_second: NonNegativeInt = 0
    """On Spark: how many bytes of its log the planner takes from the source in a second at the most; 0: as many as
    come. For MySQL and MariaDB.
    """
    forecast_warning_ms: NonNegativeInt = 3_600_000
    """How long, in milliseconds, before the log is purged that a pipeline has yet to read it warns; 0: only where it
    would be purged before the pipeline has caught up.
    """
    ledger: bool = False
    """Whether sums over the rows that the source has told of are kept with the offset, so that `cdc diff` can say who
    lost a row, and can compare the sink without the source. With messages in JSON or Avro, with the tables of the sink
    `delta`, and on Spark with Delta tables of the sink `spark` on this machine.
    """
    metrics_address: Address | None = None
    """Where metrics are served for Prometheus: `HOST:PORT`, or `:PORT` for every address of the machine; port 0 is any
    free one. By default nowhere.
    """
    metrics_token: SecretStr | None = None
    """What who asks for the metrics must bring, as `Authorization: Bearer TOKEN`. By default nothing."""
    metrics_tls_certificate: Path | None = None
    """A PEM file with the certificate under which metrics are served over TLS. By default they are served in plain
    text.
    """
    metrics_tls_key: Path | None = None
    """A PEM file with that certificate's private key, where it stands in a file of its own."""
    metrics_names: Names = "cdckit"
    """By whose names metrics are served: `cdckit`, our own; `debezium`, those that the JMX exporter gives Debezium's,
    for boards that are there already; `both`.
    """
    metrics_ready_away_ms: NonNegativeInt = 60_000
    """How long, in milliseconds, source or sink may be away before the probe `/readyz` says that the pipeline is not
    ready.
    """

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name in ("metrics_token", "metrics_tls_certificate", "metrics_names", "metrics_ready_away_ms"):
            if name in self.model_fields_set and getattr(self, name) is not None and self.metrics_address is None:
                raise ValueError(f"'{dotted(name)}' needs 'metrics.address', which says where they are served")
        if self.metrics_tls_key is not None and self.metrics_tls_certificate is None:
            raise ValueError("'metrics.tls.key' needs 'metrics.tls.certificate'")
        self._check_quarantine()
        return self

    def _check_quarantine(self) -> None:
        given = sorted(name for name in self.model_fields_set if name.startswith("quarantine_"))
        # By Kafka Connect's word, where a topic takes what cannot be delivered, that is not left out.
        kept = self.errors_tolerance == "quarantine" or (self.errors_tolerance == "all" and self.quarantine_topic)
        if given and not kept:
            raise ValueError(f"'{dotted(given[0])}' needs 'errors.tolerance: quarantine'")
        if self.quarantine_topic is not None and self.quarantine_folder is not None:
            raise ValueError("'quarantine.topic' and 'quarantine.folder' are two places: keep one")
        for name in _OF_THE_TOPIC:
            if name in given and self.quarantine_topic is None:
                raise ValueError(f"'{dotted(name)}' needs 'quarantine.topic'")
        _ = from_java_or_librdkafka(self.quarantine_kafka, PRODUCER, "quarantine.kafka")

    @property
    def metrics(self) -> MetricsAccess | None:
        """Where metrics are served, and to whom; None: nowhere."""
        if self.metrics_address is None:
            return None
        return MetricsAccess(
            self.metrics_address,
            self.metrics_token,
            self.metrics_tls_certificate,
            self.metrics_tls_key,
            self.metrics_names,
            self.metrics_ready_away_ms / 1000,
        )


@dataclass(frozen=True, slots=True)
class Component:
    """A plugin's component and its checked options: `cdckit.api.plugins.make` turns it into the thing itself."""

    registration: Registration
    config: PluginConfig


@dataclass(frozen=True, slots=True)
class Step:
    """One transform of the chain.

    Attributes:
        name: what errors call it: its alias in a connector's `transforms`, else its type.
        transform: what is applied.
        predicate: which records it is applied to; None: all.
        negate: apply it to the records that the predicate does not hold for.
    """

    name: str
    transform: Component
    predicate: Component | None = None
    negate: bool = False


@dataclass(frozen=True, slots=True)
class ResolvedPipeline:
    """A pipeline whose every option is checked. It can be pickled, and holds no connection.

    Attributes:
        name: the pipeline's name.
        runner: who drives it.
        tail: who has the log's end on Spark.
        tail_max_lag_ms: how far a direct process that has it may be behind, in milliseconds.
        tail_sink: what such a process writes by, where it is not the sink itself.
        folder: the pipeline's directory on this machine.
        store: where its state is kept.
        checkpoint: where Spark's checkpoint is kept, if not in that directory.
        source: where changes come from.
        transforms: the chain, in order.
        serializer: how records become bytes.
        key_serializer: what writes their keys, where it is another one.
        header_serializer: the same of their headers.
        sink: where they go.
        spark: settings of the Spark session; every name begins with `spark.`.
        position_header: whether records carry their position in a header.
        offset_flush_interval_ms: how often offsets are saved, in milliseconds; 0: after each batch.
        idle_wait_ms: how long Spark's planner waits for changes, in milliseconds.
        batch_max_bytes: how much of a backlog one of Spark's batches takes, in bytes of the log; 0: by how many splits
            may be read at the same time.
        batch_target_ms: how long the delivery of one of Spark's batches is to take, in milliseconds; 0: size alone
            counts.
        read_max_bytes_per_second: how much of the log Spark's planner takes in a second at the most; 0: no limit.
        forecast_warning_ms: how long before a purge of the log is warned of, in milliseconds.
        metrics: where metrics are served, and to whom; None: nowhere.
        errors: what becomes of records that cannot be delivered.
        ledger: whether sums over rows are kept with the offset.
        warnings: what the user should know, a sentence each.
        file: the file that describes it; None: it comes from elsewhere.
        as_written: whether nothing was set beside the file.
        runner_by_default: whether a connector's configuration, which names no runner, left that to cdckit.
    """

    name: str
    runner: Runner
    folder: Path
    store: Component
    source: Component
    transforms: tuple[Step, ...]
    serializer: Component
    sink: Component
    spark: Mapping[str, str]
    key_serializer: Component | None = None
    header_serializer: Component | None = None
    position_header: bool = True
    offset_flush_interval_ms: int = 1000
    checkpoint: str | None = None
    idle_wait_ms: int = 10_000
    batch_max_bytes: int = 0
    batch_target_ms: int = 0
    read_max_bytes_per_second: int = 0
    forecast_warning_ms: int = 3_600_000
    metrics: MetricsAccess | None = None
    errors: ErrorHandling = field(default_factory=ErrorHandling)
    ledger: bool = False
    tail: Tail = "spark"
    tail_max_lag_ms: int = 30_000
    tail_sink: Component | None = None
    warnings: tuple[str, ...] = ()
    file: Path | None = None
    as_written: bool = True
    runner_by_default: bool = False

    @property
    def source_config(self) -> SourceConfig:
        """The source's options."""
        return source_config(self.source)

    @property
    def lineage(self) -> LineageOptions | None:
        """What OpenLineage is told; None: nothing."""
        config = self.source.config
        return config if isinstance(config, LineageOptions) and config.openlineage_integration_enabled else None

    @property
    def state_folder(self) -> Path | None:
        """Where its state is with the store `file`; None with another one."""
        config = self.store.config
        return config.path if isinstance(config, FileStateConfig) else None

    @property
    def shown_state(self) -> str:
        """What messages say of where its state is: no option of a store, which may be secret."""
        return str(self.state_folder or f"in the store '{self.store.registration.name}'")


def source_config(source: Component) -> SourceConfig:
    """The options of a source."""
    assert isinstance(source.config, SourceConfig)  # it would not have been resolved otherwise
    return source.config
