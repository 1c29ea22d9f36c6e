"""The options of the `mongodb` source, by Debezium's names."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, NonNegativeInt, PositiveInt, SecretStr, field_validator, model_validator

from cdckit import LocalPath, NameList, NoMeaning, RegexList, patterns, split_names
from cdckit.connector.avro_names import NameAdjustment
from cdckit.connector.chosen_by_plugin import mode_by_plugin
from cdckit.connector.guardrail import GuardrailOptions
from cdckit.connector.heartbeat import NOT_ON_SPARK
from cdckit.connector.include_lists import Matcher
from cdckit.connector.notifications import NotificationOptions
from cdckit.connector.options.event_format import AS_TEXT, EventFormatDefaults
from cdckit.connector.options.metric_tags import MetricTags
from cdckit.connector.options.new_tables import NewTablesOptions, capture_lists
from cdckit.connector.options.operations import OperationList, skipped_operations
from cdckit.connector.signals import SignalOptions
from cdckit_mongodb.field_paths import parse_exclusions, parse_renames
from cdckit_mongodb.ignored_options import WITHOUT_MEANING
from cdckit_mongodb.topic_options import TopicOptions

_SNAPSHOT_MODES = {"never": "no_data"}

SnapshotMode = Annotated[
    Literal["always", "initial", "initial_only", "no_data", "when_needed", "configuration_based", "custom"],
    BeforeValidator(lambda value: _SNAPSHOT_MODES.get(value, value)),
]
FailureHandling = Literal["fail", "warn", "skip", "ignore"]
Stage = dict[str, Any]


def _peer_options() -> dict[str, str]:
    """Every option of Debezium's connector, of 3.6 and of 1.9, with its default."""
    text = resources.files("cdckit_mongodb").joinpath("debezium_options.tsv").read_text(encoding="utf-8")
    lines = (line.split("\t") for line in text.splitlines())
    return {name: default for name, default, *_values in lines}


def _stages(value: Any) -> list[Stage]:
    """The stages of a pipeline: of a JSON text, or as YAML has them."""
    given = _parsed(value, "cursor.pipeline") if isinstance(value, str) and value.strip() else value or []
    stages = given if isinstance(given, list) else [given]
    for stage in stages:
        if not isinstance(stage, dict) or len(stage) != 1 or not next(iter(stage)).startswith("$"):
            raise ValueError('cursor.pipeline should be a JSON array of stages such as {"$match": {…}}')
    return stages


def _parsed(text: str, option: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"{option} is no JSON: {error}") from None


def _groups(value: Any) -> Any:
    """The groups of a text with `;` between them, or as YAML has them."""
    return [part for part in value.split(";") if part.strip()] if isinstance(value, str) else value or []


CollectionGroups = Annotated[list[NameList], BeforeValidator(_groups)]


def _check_patterns(text: str, option: str) -> None:
    try:
        patterns(text)
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from None


def authority(uri: str) -> str:
    """The part of a connection string that holds user, password and servers."""
    return uri.partition("://")[2].partition("/")[0].partition("?")[0]


class MongoDbConfig(
    TopicOptions,
    EventFormatDefaults,
    GuardrailOptions,
    NewTablesOptions,
    NotificationOptions,
    SignalOptions,
    MetricTags,
):
    """Options of the `mongodb` source."""

    connector: ClassVar[str] = "mongodb"
    """What events say in `source.connector`."""
    identifying: ClassVar[tuple[str, ...]] = ("topic_prefix", "capture_scope", "capture_target")
    named_by: ClassVar[str] = "topic_prefix"
    choosing: ClassVar[tuple[str, ...]] = (*capture_lists("database", "collection"), "filters_match_mode")

    topic_prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")]
    """The logical name of the cluster: the first part of every topic's name. Letters, digits, `.`, `_` and `-`."""
    event_format: Annotated[Literal["3", "1.9"], AS_TEXT] = "3"
    """Which Debezium's events to send: `3` or `1.9`, which brings its defaults with it:
    `schema.name.adjustment.mode=avro`, `skipped.operations=none`.
    """
    mongodb_connection_string: SecretStr = SecretStr("")
    """The connection string of the replica set or of the cluster's routers, `mongodb://…` or `mongodb+srv://…`."""
    mongodb_hosts: str = ""
    """Debezium 1.9's way to name the members: `SET/host:port,host:port`."""
    internal_mongodb_allow_offset_invalidation: bool = False
    """Whether `cdc offsets import` goes on from the offsets that Debezium 2.5 or older kept of each shard when one of
    the present shards has none.
    """
    mongodb_user: str | None = None
    """The user to log in as; by default the one that the connection string names."""
    mongodb_password: SecretStr | None = None
    """The user's password."""
    mongodb_authsource: str = "admin"
    """The database that holds the user, where `mongodb.user` is given."""
    mongodb_ssl_enabled: bool = False
    """Whether connections are encrypted; the connection string can say so too (`tls=true`)."""
    mongodb_ssl_invalid_hostname_allowed: bool = False
    """Whether the server's certificate may name another host."""
    mongodb_ssl_truststore: LocalPath | None = None
    """File of the certificate authorities to trust: PEM, or a key store (PKCS12)."""
    mongodb_ssl_truststore_password: SecretStr | None = None
    """The password of that key store."""
    mongodb_ssl_keystore: LocalPath | None = None
    """File with the client's certificate and private key: PEM, or a key store (PKCS12)."""
    mongodb_ssl_keystore_password: SecretStr | None = None
    """The password of that key store, or of the private key."""
    mongodb_connect_timeout_ms: PositiveInt = 10000
    """How long to wait for a connection, in milliseconds."""
    mongodb_socket_timeout_ms: NonNegativeInt = 600000
    """How long to wait for an answer, in milliseconds; 0: without end. A change stream that finds nothing to tell of
    for longer, in an oplog that it has to catch up on, needs more.
    """
    mongodb_server_selection_timeout_ms: PositiveInt = 30000
    """How long to wait for a member that can serve, in milliseconds."""
    mongodb_heartbeat_frequency_ms: Annotated[int, Field(ge=500)] = 10000
    """How often the driver looks at each member, in milliseconds."""
    connect_backoff_initial_delay_ms: PositiveInt = 1000
    """The wait before the first new attempt while the servers cannot be reached or have no primary, in milliseconds;
    each wait is twice the one before.
    """
    connect_backoff_max_delay_ms: PositiveInt = 120000
    """The longest of these waits, in milliseconds."""
    connect_max_attempts: PositiveInt = 16
    """How many such attempts make up a round; with the defaults the waits of one add up to 20 minutes."""
    errors_max_retries: Annotated[int, Field(ge=-1)] = -1
    """How many more rounds there are once one has failed; 0: none; -1: without end, but for servers that were not
    reached since the start, for which one round is all.
    """
    retriable_restart_connector_wait_ms: PositiveInt = 10000
    """The wait before each further round, in milliseconds."""

    capture_mode: Literal[
        "change_streams",
        "change_streams_update_full",
        "change_streams_with_pre_image",
        "change_streams_update_full_with_pre_image",
    ] = "change_streams_update_full"
    """What an update shows: what has changed, also the whole document (`update_full`), also the document before
    (`with_pre_image`, which the collection must have enabled).
    """
    capture_mode_full_update_type: Literal["lookup", "post_image", "post_image_required"] = "lookup"
    """Where the whole document of an update comes from: looked up when the event is read, which may be newer, or
    the collection's post-image; `post_image_required`, cdckit's own, stops where there is none.
    """
    capture_mode_pre_image: Literal["when_available", "required"] = "when_available"
    """cdckit's own, not Debezium's: whether a change whose document before is not there has none, or stops the
    pipeline.
    """
    capture_scope: Literal["deployment", "database", "collection"] = "deployment"
    """Whether one change stream is opened on everything, on a database or on a collection."""
    capture_target: str = ""
    """The database, or `database.collection`, of a narrower `capture.scope`."""
    capture_collection_groups: CollectionGroups = Field(default_factory=list)
    """cdckit's own, not Debezium's: groups of collections whose changes `runner: spark` reads at the same time, each
    by a change stream of its own; what is in no group is one more. A list of groups, or a text with `;` between them;
    a group is written as `collection.include.list` is, and a collection belongs to the first that names it.
    `runner: direct` reads all changes in one stream.
    """
    capture_start_op_time: int = -1
    """A cluster time (BSON timestamp as one number) to start the stream from, where there is no offset and the snapshot
    reads no documents (`snapshot.mode=no_data`).
    """
    cursor_max_await_time_ms: NonNegativeInt = 0
    """How long the server waits for new events before it answers, in milliseconds; at the most, and with 0, as long as
    `poll.interval.ms` says.
    """
    cursor_pipeline: Annotated[list[Stage], BeforeValidator(_stages)] = Field(default_factory=list)
    """Stages (a JSON array) of an aggregation that the server applies to the stream."""
    cursor_pipeline_order: Literal["internal_first", "user_first", "user_only"] = "internal_first"
    """Whether those come behind or before the source's own filter, or replace it (`user_only`): then
    `skipped.operations` leaves nothing out.
    """
    cursor_oversize_handling_mode: Literal["fail", "skip", "split"] = "fail"
    """What becomes of an event of more than 16 MB: `fail` stops, `skip` leaves out each event whose document, before or
    after the change, is beyond the threshold, `split` has the server send it in fragments (MongoDB 6.0.9 or newer).
    """
    cursor_oversize_skip_threshold: NonNegativeInt = 0
    """The size of a document, in bytes, beyond which `skip` leaves its events out."""

    database_include_list: NameList = ""
    """Databases to capture: regular expressions that match a whole name, or names (`filters.match.mode`)."""
    database_exclude_list: NameList = ""
    """Databases to leave out; not together with `database.include.list`."""
    collection_include_list: NameList = ""
    """Collections to capture: regular expressions that match a whole `database.collection`, or names."""
    collection_exclude_list: NameList = ""
    """Collections to leave out; not together with `collection.include.list`."""
    filters_match_mode: Literal["regex", "literal"] = "regex"
    """Whether the four lists hold regular expressions or names."""
    field_exclude_list: NameList = ""
    """Fields to leave out: `database.collection.field.nested`; `*` in the first two parts stands for anything."""
    field_renames: NameList = ""
    """Fields to rename: `database.collection.field.nested:name`, the new name of the last part."""
    skipped_operations: OperationList = "t"
    """Operations of the stream to leave out: `c`, `u`, `d`, `t`, or `none`."""

    snapshot_mode: SnapshotMode = "initial"
    """When collections are read as they are now: `initial` (the first time), `initial_only` (and end after it),
    `no_data` (never), `when_needed` (also when the position is gone from the oplog), `always` (at every start),
    `configuration_based` (as the options below say), `custom` (as a plugin says).
    """
    snapshot_mode_custom_name: str = ""
    """The name by which a plugin's hook `cdckit_snapshot_mode` knows the mode `custom`."""
    snapshot_mode_configuration_based_snapshot_data: bool = False
    """Whether `configuration_based` takes a snapshot where there is no offset."""
    snapshot_mode_configuration_based_snapshot_on_data_error: bool = False
    """Whether it takes one when the position is gone from the oplog."""
    snapshot_mode_configuration_based_start_stream: bool = False
    """Whether it reads the stream after the snapshot."""
    snapshot_include_collection_list: RegexList = ""
    """Captured collections whose documents the snapshot reads; by default all of them."""
    snapshot_collection_filter_overrides: NameList = ""
    """Collections of which the snapshot reads a part; the filter, a JSON document, stands in
    `snapshot.collection.filter.overrides.DATABASE.COLLECTION`.
    """
    snapshot_filters: dict[str, str] = Field(default_factory=dict)
    """The filters for `snapshot.collection.filter.overrides`, one option each."""
    snapshot_fetch_size: NonNegativeInt = 0
    """How many documents the server sends at a time in a snapshot; 0: `max.batch.size`."""
    snapshot_max_threads: Annotated[int, Field(ge=1, le=1024)] = 1
    """How many connections read a snapshot at the same time; `runner: spark` has its own."""
    snapshot_max_threads_multiplier: Annotated[int, Field(ge=1, le=1024)] = 1
    """A factor for the number of parts that large collections are cut into: more parts share out more evenly."""
    legacy_snapshot_max_threads: bool = False
    """Whether each collection is read by one connection, in one part."""
    snapshot_delay_ms: NonNegativeInt = 0
    """A pause before the snapshot, in milliseconds."""
    streaming_delay_ms: NonNegativeInt = 0
    """A pause between the snapshot and the stream, in milliseconds."""

    provide_transaction_metadata: bool = False
    """Whether there are records for begin and end of transactions, and a `transaction` block in each event."""
    tombstones_on_delete: bool = True
    """Whether a delete is followed by a record without value, so that Kafka's compaction forgets the key."""
    extended_headers_enabled: bool = True
    """Whether records carry the four `__debezium.context.*` headers."""
    schema_name_adjustment_mode: NameAdjustment = "none"
    """What replaces characters that Avro does not allow in schema names: nothing, `_`, or `_uXXXX`."""
    heartbeat_interval_ms: NonNegativeInt = 0
    """How often a heartbeat record is sent, in milliseconds; 0: never."""
    event_processing_failure_handling_mode: FailureHandling = "fail"
    """What becomes of an event that cannot be decoded: `fail` stops; `warn`, `skip` and `ignore` leave it out and count
    it; `warn` logs each of them, the others the first of each collection.
    """
    max_batch_size: PositiveInt = 2048
    """How many events make up a batch at the most."""
    poll_interval_ms: PositiveInt = 500
    """The longest wait for new changes before an idle batch, in milliseconds; never an added delay."""

    renamed: ClassVar[Mapping[str, str]] = {
        "mongodb.name": "topic.prefix",
        "database.whitelist": "database.include.list",
        "database.blacklist": "database.exclude.list",
        "collection.whitelist": "collection.include.list",
        "collection.blacklist": "collection.exclude.list",
        "field.blacklist": "field.exclude.list",
        "initial.sync.max.threads": "snapshot.max.threads",
        "heartbeat.topics.prefix": "topic.heartbeat.prefix",
        "internal.legacy.snapshot.max.threads": "legacy.snapshot.max.threads",
    }
    patterns: ClassVar[Mapping[str, str]] = {
        r"snapshot\.collection\.filter\.overrides\..+": "snapshot_filters",
    }
    stand_ins: ClassVar[Mapping[str, str]] = {
        "errors.retry.delay.initial.ms": "connect.backoff.initial.delay.ms",
        "errors.retry.delay.max.ms": "connect.backoff.max.delay.ms",
    }
    without_meaning: ClassVar[tuple[NoMeaning, ...]] = WITHOUT_MEANING
    peer_options: ClassVar[Mapping[str, str]] = _peer_options()

    @classmethod
    def advice(cls, given: Mapping[str, str]) -> list[str]:
        """A target alone narrows nothing, and a configuration for Debezium 1 should say whose events are wanted."""
        said = super().advice(given)
        if "capture.target" in given and "capture.scope" not in given:
            said.append("capture.target means nothing without capture.scope=database or collection")
        if given.get("topic.prefix") == "mongodb.name" and "event.format" not in given:
            said.append(
                "'mongodb.name' is Debezium 1's name of 'topic.prefix', but events will be in Debezium 3's format: "
                "set event.format=1.9 for those of Debezium 1.9, or event.format=3 to say that the new ones are right"
            )
        return said

    @field_validator("capture_start_op_time")
    @classmethod
    def _whole_timestamp(cls, time: int) -> int:
        if 0 < time < 1 << 32:
            raise ValueError("should be a BSON timestamp as one number: seconds since 1970 times 2^32, and the order")
        return time

    @field_validator("field_exclude_list")
    @classmethod
    def _exclusions(cls, text: str) -> str:
        parse_exclusions(text)
        return text

    @field_validator("field_renames")
    @classmethod
    def _renames(cls, text: str) -> str:
        parse_renames(text)
        return text

    @model_validator(mode="after")
    def _a_plugin_knows_the_mode(self) -> Self:
        if self.snapshot_mode == "custom" and mode_by_plugin(self.snapshot_mode_custom_name) is None:
            raise ValueError(
                f"snapshot.mode=custom: no installed plugin knows the name '{self.snapshot_mode_custom_name}' "
                "(snapshot.mode.custom.name): Java classes cannot be loaded here; write a plugin with the hook "
                "cdckit_snapshot_mode (docs/writing-a-plugin.md), or use configuration_based"
            )
        return self

    @model_validator(mode="after")
    def _one_of_each_pair(self) -> Self:
        for kind in ("database", "collection"):
            if getattr(self, f"{kind}_include_list") and getattr(self, f"{kind}_exclude_list"):
                raise ValueError(f"{kind}.include.list and {kind}.exclude.list exclude each other; keep one")
        return self

    @model_validator(mode="after")
    def _lists_of_patterns(self) -> Self:
        if self.filters_match_mode == "regex":
            for kind in ("database", "collection"):
                for way in ("include", "exclude"):
                    _check_patterns(getattr(self, f"{kind}_{way}_list"), f"{kind}.{way}.list")
            for group in self.capture_collection_groups:
                _check_patterns(group, "capture.collection.groups")
        return self

    @model_validator(mode="after")
    def _groups_of_collections(self) -> Self:
        if not self.capture_collection_groups:
            return self
        if not all(map(split_names, self.capture_collection_groups)):
            raise ValueError("capture.collection.groups: a group names no collection")
        if self.capture_scope == "collection":
            raise ValueError("capture.collection.groups: capture.scope=collection has one collection, and no groups")
        if self.provide_transaction_metadata:
            raise ValueError(
                "provide.transaction.metadata and capture.collection.groups exclude each other: begin, end and order "
                "of a transaction can be told only where one stream shows all of it"
            )
        return self

    @model_validator(mode="after")
    def _filters_of_snapshots(self) -> Self:
        prefix = "snapshot.collection.filter.overrides"
        listed = split_names(self.snapshot_collection_filter_overrides)
        for collection in listed:
            if f"{prefix}.{collection}" not in self.snapshot_filters:
                raise ValueError(f"{prefix} names {collection}, but '{prefix}.{collection}' is not given")
            self.filter_for(collection)
        for option in self.snapshot_filters:
            if option.removeprefix(f"{prefix}.") not in listed:
                raise ValueError(f"{option} is given, but {prefix} does not name that collection")
        return self

    @model_validator(mode="after")
    def _threshold_of_skipping(self) -> Self:
        if self.cursor_oversize_handling_mode == "skip" and not self.cursor_oversize_skip_threshold:
            raise ValueError("cursor.oversize.handling.mode=skip needs cursor.oversize.skip.threshold, in bytes")
        return self

    @model_validator(mode="after")
    def _images_that_the_mode_shows(self) -> Self:
        if self.capture_mode_pre_image == "required" and not self.asks_for_pre_images:
            raise ValueError("capture.mode.pre.image=required needs a capture.mode with pre-images (…_with_pre_image)")
        if self.capture_mode_full_update_type == "post_image_required" and not self.whole_updates:
            raise ValueError(
                "capture.mode.full.update.type=post_image_required needs a capture.mode with whole updates "
                "(…_update_full…)"
            )
        return self

    @model_validator(mode="after")
    def _target_of_the_scope(self) -> Self:
        parts = self.capture_target.split(".", 1)
        if self.capture_scope == "database" and not self.capture_target:
            raise ValueError("capture.scope=database needs capture.target, the database's name")
        if self.capture_scope == "collection" and (len(parts) < 2 or not all(parts)):
            raise ValueError("capture.scope=collection needs capture.target in the form database.collection")
        return self

    @model_validator(mode="after")
    def _signals(self) -> Self:
        if not self.signal_data_collection:
            return self
        database = self.signal_data_collection.partition(".")[0]
        if self.capture_scope == "collection" and self.signal_data_collection != self.capture_target:
            raise ValueError("with capture.scope=collection the stream does not see signal.data.collection; widen it")
        if self.capture_scope == "database" and database != self.capture_target:
            raise ValueError("signal.data.collection should be in the database of capture.target, which alone is seen")
        return self

    @model_validator(mode="after")
    def _servers(self) -> Self:
        if bool(self.mongodb_connection_string.get_secret_value()) == bool(self.mongodb_hosts):
            raise ValueError("give either mongodb.connection.string or mongodb.hosts")
        if not re.match(r"mongodb(\+srv)?://", self.uri):
            raise ValueError("mongodb.connection.string should begin with mongodb:// or mongodb+srv://")
        servers, _, path = self.uri.partition("://")[2].partition("/")
        if "@" in servers.partition("?")[2] or "@" in path.partition("?")[0]:
            raise ValueError(
                "mongodb.connection.string has an @ behind the servers' names: in user and password /, ? and @ are "
                "written as %2F, %3F and %40"
            )
        return self

    @property
    def uri(self) -> str:
        """The connection string, which may hold a password."""
        if not self.mongodb_hosts:
            return self.mongodb_connection_string.get_secret_value()
        members = [member.strip().rpartition("/") for member in re.split("[,;]", self.mongodb_hosts)]
        sets = {name for name, slash, _ in members if slash}
        if len(sets) > 1:
            raise ValueError(
                f"mongodb.hosts has members of several replica sets ({', '.join(sorted(sets))}): a sharded cluster is "
                "read through its routers, which mongodb.connection.string names"
            )
        uri = f"mongodb://{','.join(host for _, _, host in members)}/"
        return f"{uri}?replicaSet={sets.pop()}" if sets else uri

    @property
    def whole_updates(self) -> bool:
        """Whether an update's event carries the whole document."""
        return "update_full" in self.capture_mode

    @property
    def partial_updates(self) -> str | None:
        """What carries whole documents."""
        return None if self.whole_updates else "set source.capture.mode to change_streams_update_full"

    @property
    def snapshot_takes_rows(self) -> bool:
        """As the mode says."""
        return self.snapshot_mode != "no_data"

    def snapshot_takes(self, table: str) -> bool:
        """As `snapshot.include.collection.list` says."""
        chosen = Matcher(self.snapshot_include_collection_list)
        return not chosen or chosen(table)

    def without_effect_on_spark(self) -> dict[str, str]:
        """Heartbeats."""
        return {"heartbeat.interval.ms": NOT_ON_SPARK} if self.heartbeat_interval_ms else {}

    @property
    def asks_for_pre_images(self) -> bool:
        """Whether events show the document before."""
        return "pre_image" in self.capture_mode

    @property
    def asks_for_post_images(self) -> bool:
        """Whether whole documents of updates are post-images."""
        return self.whole_updates and self.capture_mode_full_update_type != "lookup"

    @property
    def requires_images(self) -> bool:
        """Whether a change without its image stops the pipeline."""
        return self.capture_mode_pre_image == "required" or self.capture_mode_full_update_type == "post_image_required"

    @property
    def groups(self) -> Sequence[int | None]:
        """The numbers of the groups of collections, that of the rest included; None alone where there are none."""
        groups = self.capture_collection_groups
        return range(len(groups) + 1) if groups else [None]

    @property
    def skipped(self) -> frozenset[str]:
        """The operations that make no record: Debezium leaves them out by its own stages alone."""
        return frozenset() if self.cursor_pipeline_order == "user_only" else skipped_operations(self.skipped_operations)

    def filter_for(self, collection: str) -> Stage:
        """The user's filter for a collection's snapshot (`database.collection`); empty for all of it.

        Raises:
            ValueError: it is no JSON document.
        """
        if collection not in split_names(self.snapshot_collection_filter_overrides):
            return {}
        text = self.snapshot_filters.get(f"snapshot.collection.filter.overrides.{collection}", "")
        parsed = _parsed(text, f"snapshot.collection.filter.overrides.{collection}") if text else {}
        if isinstance(parsed, dict):
            return parsed
        raise ValueError(f"snapshot.collection.filter.overrides.{collection} should be a JSON document")
