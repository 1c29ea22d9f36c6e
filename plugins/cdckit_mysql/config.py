"""The options of the `mysql` and `mariadb` sources, by Debezium's names."""

from __future__ import annotations

import random
from collections.abc import Mapping
from importlib import resources
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, NonNegativeInt, PositiveInt, SecretStr, field_validator, model_validator

from cdckit.avro_names import NameAdjustment
from cdckit.config.lists import NameList, RegexList, split_names
from cdckit.config.model import PluginConfig
from cdckit_mysql.option_types import KeyColumns

_SNAPSHOT_MODES = {
    "schema_only": "no_data",
    "schema_only_recovery": "recovery",
}
_SSL_MODES = {
    "disable": "disabled",
    "trust": "required",
    "verify-ca": "verify_ca",
    "verify-full": "verify_identity",
}
_OPERATIONS = ("c", "u", "d", "t", "none")

SnapshotMode = Annotated[
    Literal["initial", "initial_only", "no_data", "when_needed", "always", "never"],
    BeforeValidator(lambda value: _SNAPSHOT_MODES.get(value, value)),
]
SslMode = Annotated[
    Literal["disabled", "preferred", "required", "verify_ca", "verify_identity"],
    BeforeValidator(lambda value: _SSL_MODES.get(value, value)),
]
FailureHandling = Literal["fail", "warn", "skip", "ignore"]


def _known_options() -> dict[str, str | None]:
    """Every option of Debezium's two connectors, with its default."""
    text = resources.files("cdckit_mysql").joinpath("debezium_options.tsv").read_text(encoding="utf-8")
    pairs = (line.split("\t") for line in text.splitlines())
    return {name: default or None for name, default in pairs}


def _random_server_id() -> int:
    return random.randint(5400, 6400)  # noqa: S311 - an address, no secret


class MySqlConfig(PluginConfig):
    """Options of the `mysql` source."""

    connector: ClassVar[str] = "mysql"
    """What events say in `source.connector`."""

    topic_prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")]
    """The logical name of the server: the first part of every topic's name. Letters, digits, `.`, `_` and `-`."""
    database_hostname: str = "localhost"
    """The server's host name or address."""
    database_port: Annotated[int, Field(ge=1, le=65535)] = 3306
    """The server's TCP port."""
    database_user: str
    """The user to log in as."""
    database_password: SecretStr = SecretStr("")
    """The user's password."""
    database_server_id: Annotated[int, Field(ge=1, le=4294967295, default_factory=_random_server_id)]
    """The number under which the pipeline reads the log as a replica would; no other replica may have it.

    By default a random number from 5400 to 6400.
    """
    database_server_id_offset: PositiveInt = 10000
    """How far apart the server ids are when several processes read the log at the same time."""
    database_ssl_mode: SslMode = "preferred"
    """`disabled`, `preferred` (encrypted when the server can), `required`, `verify_ca` (its certificate is checked),
    `verify_identity` (the host's name too).
    """
    database_ssl_truststore: str | None = None
    """PEM file of the certificate authorities to trust."""
    database_ssl_keystore: str | None = None
    """PEM file with the client's certificate and private key."""
    database_ssl_keystore_password: SecretStr | None = None
    """The password of the client's private key."""
    connect_timeout_ms: PositiveInt = 30000
    """How long to wait for a connection, in milliseconds."""
    connect_keep_alive_interval_ms: PositiveInt = 60000
    """A log connection that is silent for longer than this, in milliseconds, is taken for dead and opened anew."""
    errors_max_retries: Annotated[int, Field(ge=-1)] = -1
    """How often a lost connection is opened anew before giving up; -1: without end."""
    retriable_restart_connector_wait_ms: PositiveInt = 10000
    """The longest wait between two attempts to connect again, in milliseconds; waits double from 300 ms."""

    database_include_list: RegexList = ""
    """Databases to capture: regular expressions that match a whole name."""
    database_exclude_list: RegexList = ""
    """Databases to leave out; not together with `database.include.list`."""
    table_include_list: RegexList = ""
    """Tables to capture: regular expressions that match a whole `database.table`."""
    table_exclude_list: RegexList = ""
    """Tables to leave out; not together with `table.include.list`."""
    table_ignore_builtin: bool = True
    """Whether the server's own databases are left out."""
    column_include_list: RegexList = ""
    """Columns to keep: regular expressions that match a whole `database.table.column`."""
    column_exclude_list: RegexList = ""
    """Columns to leave out; not together with `column.include.list`."""
    message_key_columns: KeyColumns = ""
    """Columns that make up the records' key, instead of the primary key: `database.table:column,column;…`."""
    skipped_operations: NameList = "t"
    """Operations of the log to leave out: `c`, `u`, `d`, `t`, or `none`."""
    skip_messages_without_change: bool = False
    """Whether an update that changes none of the captured columns is left out."""

    snapshot_mode: SnapshotMode = "initial"
    """When tables are read as they are now: `initial` (the first time), `initial_only` (and end after it), `no_data`
    (only their definitions), `when_needed` (also when the position is gone from the log), `always` (at every start),
    `never` (read the log from its beginning).
    """
    snapshot_locking_mode: Literal["minimal", "extended", "none"] = "minimal"
    """How long writers are locked out: while the position and the definitions are read, for the whole snapshot,
    or never (safe only while no definition changes).
    """
    snapshot_lock_timeout_ms: PositiveInt = 10000
    """How long to wait for that lock, in milliseconds."""
    snapshot_include_collection_list: RegexList = ""
    """Captured tables whose rows the snapshot reads; by default all of them."""
    snapshot_select_statement_overrides: NameList = ""
    """Tables that the snapshot reads with a statement of the user's, which stands in
    `snapshot.select.statement.overrides.DATABASE.TABLE`.
    """
    snapshot_statements: dict[str, str] = Field(default_factory=dict)
    """The statements for `snapshot.select.statement.overrides`, one option each."""
    snapshot_tables_order_by_row_count: Literal["disabled", "ascending", "descending"] = "disabled"
    """Whether the snapshot takes tables by their estimated size instead of by name."""
    snapshot_delay_ms: NonNegativeInt = 0
    """A pause before the snapshot, in milliseconds."""
    streaming_delay_ms: NonNegativeInt = 0
    """A pause between the snapshot and the log, in milliseconds."""

    decimal_handling_mode: Literal["precise", "double", "string"] = "precise"
    """How DECIMAL is shown: exactly (Connect's Decimal), as a double, or as text."""
    time_precision_mode: Literal[
        "adaptive", "adaptive_time_microseconds", "connect", "isostring", "microseconds", "nanoseconds"
    ] = "adaptive_time_microseconds"
    """How dates and times are shown: in the column's own precision, in Connect's types (milliseconds), as ISO 8601
    text, or always in microseconds or nanoseconds.
    """
    bigint_unsigned_handling_mode: Literal["long", "precise"] = "long"
    """How BIGINT UNSIGNED is shown: as a signed 64-bit number, or exactly (Connect's Decimal)."""
    binary_handling_mode: Literal["bytes", "base64", "base64-url-safe", "hex"] = "bytes"
    """How binary columns are shown."""
    enable_time_adjuster: bool = True
    """Whether years of two digits are completed: up to 69 to 20xx, from 70 on to 19xx."""
    column_propagate_source_type: RegexList = ""
    """Columns (`database.table.column`) whose type, length and scale stand in their field's schema."""
    datatype_propagate_source_type: RegexList = ""
    """Types (`database.TYPE`) whose columns do the same."""
    field_name_adjustment_mode: NameAdjustment = "none"
    """What replaces characters that Avro does not allow in field names: nothing, `_`, or `_uXXXX`."""
    schema_name_adjustment_mode: NameAdjustment = "none"
    """The same for the names of schemas."""
    unavailable_value_placeholder: str = "__debezium_unavailable_value"
    """What stands for a value that the log does not carry (row images other than FULL)."""

    include_query: bool = False
    """Whether `source.query` holds the statement; the server must log it (`binlog_rows_query_log_events`)."""
    include_schema_changes: bool = False
    """Whether changes of definitions are records too. Not supported yet."""
    provide_transaction_metadata: bool = False
    """Whether there are records for begin and end of transactions, and a `transaction` block in each event."""
    tombstones_on_delete: bool = True
    """Whether a delete is followed by a record without value, so that Kafka's compaction forgets the key."""
    extended_headers_enabled: bool = True
    """Whether records carry the four `__debezium.context.*` headers."""
    topic_delimiter: str = "."
    """What stands between the parts of a topic's name."""
    topic_transaction: str = "transaction"
    """The last part of the name of the topic for begin and end of transactions."""
    heartbeat_interval_ms: NonNegativeInt = 0
    """How often a heartbeat record is sent, in milliseconds; 0: never."""
    topic_heartbeat_prefix: str = "__debezium-heartbeat"
    """The first part of the name of the heartbeats' topic."""

    schema_history_internal_store_only_captured_databases_ddl: bool = False
    """Whether only the captured databases' definitions are kept."""
    schema_history_internal_store_only_captured_tables_ddl: bool = False
    """Whether only the captured tables' definitions are kept."""
    schema_history_internal_skip_unparseable_ddl: bool = False
    """Whether a statement that cannot be read is passed over, instead of stopping the pipeline."""
    event_deserialization_failure_handling_mode: FailureHandling = "fail"
    """What becomes of an event that cannot be decoded: `fail` stops; `warn`, `skip` and `ignore` leave it out,
    count it, and log the first of each table.
    """
    max_batch_size: PositiveInt = 2048
    """How many records make up a batch at the most."""
    poll_interval_ms: PositiveInt = 500
    """The longest wait for new changes before an idle batch, in milliseconds; never an added delay."""

    renamed: ClassVar[Mapping[str, str]] = {
        "database.server.name": "topic.prefix",
        "database.whitelist": "database.include.list",
        "database.blacklist": "database.exclude.list",
        "table.whitelist": "table.include.list",
        "table.blacklist": "table.exclude.list",
        "column.whitelist": "column.include.list",
        "column.blacklist": "column.exclude.list",
        "heartbeat.topics.prefix": "topic.heartbeat.prefix",
        "event.processing.failure.handling.mode": "event.deserialization.failure.handling.mode",
        "database.history.store.only.captured.databases.ddl": (
            "schema.history.internal.store.only.captured.databases.ddl"
        ),
        "database.history.store.only.captured.tables.ddl": ("schema.history.internal.store.only.captured.tables.ddl"),
        "database.history.store.only.monitored.tables.ddl": ("schema.history.internal.store.only.captured.tables.ddl"),
        "database.history.skip.unparseable.ddl": "schema.history.internal.skip.unparseable.ddl",
    }
    patterns: ClassVar[Mapping[str, str]] = {
        r"snapshot\.select\.statement\.overrides\..+": "snapshot_statements",
    }
    passed_over: ClassVar[tuple[str, ...]] = (
        r"(name|tasks\.max|connector\.class|exactly\.once\.support|transaction\.boundary)",
        r"(driver|producer|consumer|database\.jdbc|debezium\.embedded|offset|openlineage)\..+",
        r"errors\.(tolerance|log\.enable|log\.include\.messages|retry\.timeout|retry\.delay\.max\.ms)",
        r"errors\.deadletterqueue\..+",
        r"(schema\.history\.internal|database\.history)(\.(kafka|producer|consumer|file|connector|name)(\..+)?)?",
        r"(connect\.keep\.alive|connection\.validation\.timeout\.ms|use\.nongraceful\.disconnect)",
        r"(ddl\.parser\.type|executor\.shutdown\.timeout\.ms|memory\.management\..+|statistics\.metrics\.enabled)",
        r"(database\.protocol|custom\.sanitize\.pattern|min\.row\.count\.to\.stream\.results|topic\.cache\.size)",
        r"(max\.queue\.size(\.in\.bytes)?|queue\.provider\.type|internal\..+)",
        # options that Connector/J reads from its URL
        r"database\.(allowPublicKeyRetrieval|useSSL|requireSSL|verifyServerCertificate|characterEncoding)",
        r"database\.(connectionTimeZone|serverTimezone|zeroDateTimeBehavior|autoReconnect|tinyInt1isBit)",
        r"database\.(useUnicode|useLegacyDatetimeCode|sessionVariables|netTimeoutForStreamingResults|socketTimeout)",
    )
    not_yet: ClassVar[Mapping[str, str | None]] = _known_options()
    not_yet_patterns: ClassVar[tuple[str, ...]] = (r"column\.mask\..+", r"column\.truncate\.to\.\d+\.chars")

    @field_validator("skipped_operations")
    @classmethod
    def _known_operations(cls, text: str) -> str:
        unknown = [item for item in split_names(text) if item not in _OPERATIONS]
        if unknown:
            raise ValueError(f"'{unknown[0]}' is no operation; known are {', '.join(_OPERATIONS)}")
        return text

    @field_validator("include_schema_changes")
    @classmethod
    def _no_schema_changes_yet(cls, wanted: bool) -> bool:
        if wanted:
            raise ValueError("records of schema changes are not supported yet; set it to false")
        return wanted

    @model_validator(mode="after")
    def _one_of_each_pair(self) -> Self:
        for kind in ("database", "table", "column"):
            if getattr(self, f"{kind}_include_list") and getattr(self, f"{kind}_exclude_list"):
                raise ValueError(f"{kind}.include.list and {kind}.exclude.list exclude each other; keep one")
        return self

    @model_validator(mode="after")
    def _statement_for_each_override(self) -> Self:
        for table in split_names(self.snapshot_select_statement_overrides):
            option = f"snapshot.select.statement.overrides.{table}"
            if option not in self.snapshot_statements:
                raise ValueError(f"snapshot.select.statement.overrides names {table}, but '{option}' is not given")
        return self

    @property
    def skipped(self) -> frozenset[str]:
        """The operations of the log that are left out."""
        return frozenset(split_names(self.skipped_operations)) - {"none"}

    def statement_for(self, table: str) -> str | None:
        """The user's snapshot statement for `database.table`, or None."""
        if table not in split_names(self.snapshot_select_statement_overrides):
            return None
        return self.snapshot_statements[f"snapshot.select.statement.overrides.{table}"]


class MariaDbConfig(MySqlConfig):
    """Options of the `mariadb` source."""

    connector: ClassVar[str] = "mariadb"

    database_ssl_mode: SslMode = "disabled"
    """`disabled`, `preferred`, `required` (`trust`), `verify_ca` or `verify_identity`, as for MySQL."""
