"""Options of the sources `ticdc` and `debezium`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, Self
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import regex
from pydantic import BeforeValidator, Field, PositiveInt, SecretStr, field_validator, model_validator

from cdckit import Dataset, LocalPath, Located
from cdckit.connector.options.lineage import LineageOptions
from cdckit.connector.options.metric_tags import MetricTags
from cdckit.java.regex import UserPattern
from cdckit.kafka import CONSUMER, ClientProperties, ClientSettings, Text, from_java_or_librdkafka
from cdckit_ticdc.columns.options import BigIntMode, BinaryForm, DecimalMode
from cdckit_ticdc.columns.texts import time_zone
from cdckit_ticdc.columns.types import MySqlType, parse_type
from cdckit_ticdc.decoding.csv_rows import CsvForm
from cdckit_ticdc.decoding.protocols import Protocol
from cdckit_ticdc.reading.folders import credentials_in

_OWN_SETTINGS = {
    "bootstrap.servers": "is the source's own option: write `bootstrap.servers`",
    "group.id": "is the source's own option: write `group.id`",
    "enable.auto.commit": "cannot be changed: offsets are committed once the sink has acknowledged",
    "enable.auto.offset.store": "cannot be changed: offsets are committed once the sink has acknowledged",
    "enable.partition.eof": "cannot be changed: the source relies on it",
    "auto.offset.reset": "is the source's own option: write `auto.offset.reset`",
}


def _names(value: Any) -> Any:
    """A list, or the trimmed items of a comma-separated text."""
    if isinstance(value, str):
        return tuple(item for item in (part.strip() for part in value.split(",")) if item)
    return value


Names = Annotated[tuple[str, ...], BeforeValidator(_names)]


class TopicsConfig(LineageOptions, MetricTags):
    """What both sources have in common: where messages are, and how columns are shown."""

    renamed: ClassVar[dict[str, str]] = {"consumer.group.id": "group.id"}

    bootstrap_servers: str | None = None
    """The Kafka brokers to ask first: `host:port`, several separated by commas."""
    topics: Names = ()
    """The topics to read. A name that begins with `^` is a regular expression of whole names."""
    group_id: str | None = None
    """The consumer group that offsets are committed to, for others to see; `cdckit-` and the pipeline's name by
    default. Where to go on is decided by the pipeline's state alone.
    """
    auto_offset_reset: Literal["earliest", "latest"] = "earliest"
    """Where a pipeline without saved offsets starts: at the beginning of the topics, or at their end."""
    kafka: ClientProperties = Field(default_factory=dict, repr=False)
    """Any option of librdkafka's consumer, such as `kafka.security.protocol`, `kafka.sasl.password` or
    `kafka.fetch.message.max.bytes`; options of Java's consumer are translated.
    """
    request_timeout_ms: PositiveInt = 30000
    """How long to wait for an answer of the brokers and of the schema registry, in milliseconds."""
    files: Annotated[Names, Located(listed=True)] = ()
    """In the place of topics: files with a recorded message a line (JSON lines, `kcat -J`, or values alone). `*`, `?`
    and `**` stand for other characters.
    """
    schema_registry_url: LocalPath | None = None
    """The schema registry of Avro messages: an http or https URL, or a file with a JSON list of ids and schemas."""
    schema_registry_basic_auth_user_info: SecretStr = SecretStr("")
    """`user:password` for the schema registry."""
    column_types: dict[str, Text] = Field(default_factory=dict)
    """Types that messages do not tell, by `database.table.column`: `shop.orders.total: decimal(12,2)`."""

    @field_validator("kafka")
    @classmethod
    def _not_the_sources_own(cls, kafka: dict[str, str]) -> dict[str, str]:
        faults = [f"'{name}' {_OWN_SETTINGS[name]}" for name in kafka if name in _OWN_SETTINGS]
        if faults:
            raise ValueError("; ".join(faults))
        return kafka

    @field_validator("schema_registry_url")
    @classmethod
    def _no_password_in_it(cls, url: str | None) -> str | None:
        if url is not None and urlsplit(url).username is not None:
            raise ValueError("holds a user: give user and password in 'schema.registry.basic.auth.user.info'")
        return url

    @field_validator("topics")
    @classmethod
    def _patterns_compile(cls, topics: tuple[str, ...]) -> tuple[str, ...]:
        for topic in topics:
            if topic.startswith("^"):
                try:
                    UserPattern(topic, topic)
                except regex.error as error:
                    raise ValueError(f"'{topic}' is no regular expression: {error}") from error
        return topics

    @field_validator("column_types")
    @classmethod
    def _types_exist(cls, types: dict[str, str]) -> dict[str, str]:
        for name, text in types.items():
            if name.count(".") < 2:
                raise ValueError(f"'{name}' names no column: write database.table.column")
            parse_type(text)
        return types

    @property
    def places(self) -> dict[str, bool]:
        """The options that say where messages are, and whether they do."""
        return {"topics": bool(self.topics), "files": bool(self.files)}

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if sum(self.places.values()) != 1:
            raise ValueError(f"give one of {', '.join(map(repr, self.places))}")
        if self.topics and not self.bootstrap_servers:
            raise ValueError("'topics' needs 'bootstrap.servers': host:port")
        _ = self.kafka_client
        return self

    def remarks(self) -> list[str]:
        """Properties of the consumer that are left out."""
        return super().remarks() + self.kafka_client.remarks("kafka")

    @property
    def inputs(self) -> Sequence[str]:
        """The topics that are named, not by a pattern."""
        return [topic for topic in self.topics if not topic.startswith("^")]

    def dataset(self, name: str) -> Dataset:
        """A topic, of the broker that is named first."""
        return Dataset(f"kafka://{(self.bootstrap_servers or '').split(',')[0].strip()}", name, "STREAM")

    @property
    def kafka_client(self) -> ClientSettings:
        """`kafka.*`, translated.

        Raises:
            ValueError: one of them cannot be had here.
        """
        return from_java_or_librdkafka(self.kafka, CONSUMER, "kafka")

    @property
    def given_types(self) -> dict[str, MySqlType]:
        """`column.types`, read."""
        return {name: parse_type(text).declared for name, text in self.column_types.items()}


class TicdcConfig(TopicsConfig):
    """Options of the source `ticdc`."""

    tells_documents: ClassVar[bool] = False
    identifying: ClassVar[tuple[str, ...]] = ("topic_prefix", "storage_url")
    asked: ClassVar[tuple[str, ...]] = ("topics", "bootstrap_servers")
    named_by: ClassVar[str] = "topic_prefix"

    protocol: Protocol
    """The changefeed's protocol: `debezium`, `debezium-avro`, `canal-json`, `open-protocol`, `simple` or `avro`; with
    `storage.url` `canal-json` or `csv`.
    """
    storage_url: LocalPath | None = None
    """In the place of topics: where the changefeed's storage sink writes, a folder or an object store's URL (`s3://`,
    `gs://`, `abfs://`).
    """
    storage_options: dict[str, Text] = Field(default_factory=dict, repr=False)
    """Options of PyArrow's `S3FileSystem` or `GcsFileSystem`, such as `storage.options.access_key`,
    `storage.options.secret_key`, `storage.options.region` or `storage.options.endpoint_override`; what is left out
    comes from the environment, as the store's own clients have it.
    """
    csv_delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    """What stands between values in CSV (the sink's option `delimiter`)."""
    csv_quote: Annotated[str, Field(max_length=1)] = '"'
    """What stands around values in CSV (`quote`); empty: nothing."""
    csv_null: str = "\\N"
    """What CSV writes for NULL (`null`)."""
    topic_prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")] | None = None
    """What the records' topics begin with, before `.database.table`; by default the name in the messages, which is
    the changefeed's cluster, `default` as a rule.
    """
    watermarks: Literal["auto", "always", "never"] = "auto"
    """Whether rows are held back until every partition has been sent up to their time. `auto`: where watermarks come;
    `always`: from the start; `never`: rows come out in their partitions' order.
    """
    buffer_max_messages: PositiveInt = 50_000
    """How many messages that wait for a watermark are held in memory; more wait on disk."""
    buffer_max_bytes: PositiveInt = 64 << 20
    """How many bytes of messages that wait for a watermark are held in memory; more wait on disk."""
    resent_max_keys: PositiveInt = 1_000_000
    """Without watermarks: of how many keys the newest time is remembered, to leave out rows that are sent again."""
    message_key_columns: str = ""
    """The key's columns of tables whose messages have none: `shop.orders:id;shop.items:order_id,line`."""
    tombstones_on_delete: bool = False
    """Whether a delete is followed by a record without value, for compacted topics."""
    decimal_handling_mode: DecimalMode = "precise"
    """DECIMAL as exact numbers where precision and scale are known, else as texts (`precise`); `double`; `string`."""
    bigint_unsigned_handling_mode: BigIntMode = "long"
    """BIGINT UNSIGNED as int64, its two's complement beyond 2^63 (`long`), or as exact numbers (`precise`)."""
    binary_handling_mode: BinaryForm = "base64"
    """How the changefeed writes bytes into texts (its option `debezium-binary-handling-mode`)."""
    time_zone: str = "UTC"
    """The changefeed's time zone, in which protocols but `debezium` and `simple` write TIMESTAMP."""

    @field_validator("storage_url")
    @classmethod
    def _no_secret_in_it(cls, url: str | None) -> str | None:
        if url is not None and credentials_in(url):
            raise ValueError("holds credentials: give them in 'storage.options', or in the environment")
        return url

    @field_validator("time_zone")
    @classmethod
    def _zone_exists(cls, zone: str) -> str:
        time_zone(zone)
        return zone

    @field_validator("message_key_columns")
    @classmethod
    def _keys_can_be_read(cls, text: str) -> str:
        _keys(text)
        return text

    @model_validator(mode="after")
    def _registry_where_needed(self) -> Self:
        if self.protocol in {"avro", "debezium-avro"} and self.schema_registry_url is None:
            raise ValueError(f"'protocol: {self.protocol}' needs 'schema.registry.url'")
        return self

    @property
    def places(self) -> dict[str, bool]:
        """The options that say where messages are, and whether they do."""
        return {**super().places, "storage.url": self.storage_url is not None}

    @model_validator(mode="after")
    def _protocol_fits_place(self) -> Self:
        if self.storage_url is not None and self.protocol not in {"canal-json", "csv"}:
            raise ValueError("'storage.url' needs 'protocol: canal-json' or 'protocol: csv', as the sink writes")
        if self.protocol == "csv" and self.storage_url is None:
            raise ValueError("'protocol: csv' is the storage sink's: give 'storage.url'")
        return self

    @property
    def csv_form(self) -> CsvForm:
        """How CSV is written."""
        return CsvForm(self.csv_delimiter, self.csv_quote, self.csv_null)

    @property
    def zone(self) -> ZoneInfo:
        """`time.zone`, read."""
        return time_zone(self.time_zone)

    @property
    def keys(self) -> dict[str, tuple[str, ...]]:
        """`message.key.columns`, read."""
        return _keys(self.message_key_columns)


class DebeziumConfig(TopicsConfig):
    """Options of the source `debezium`."""

    identifying: ClassVar[tuple[str, ...]] = ("topic_naming",)
    asked: ClassVar[tuple[str, ...]] = ("topics", "bootstrap_servers")

    topic_naming: Literal["message", "table"] = "message"
    """Whether records keep the topic that their message was read from, or take `server.database.table`: for topics
    that hold several tables.
    """
    decimal_handling_mode: DecimalMode = "precise"
    """How the producer writes DECIMAL, for messages without schemas."""
    bigint_unsigned_handling_mode: BigIntMode = "long"
    """How the producer writes BIGINT UNSIGNED, for messages without schemas."""
    binary_handling_mode: BinaryForm = "base64"
    """How the producer writes bytes, for messages without schemas."""


def _keys(text: str) -> dict[str, tuple[str, ...]]:
    """Key columns by table.

    Raises:
        ValueError: an entry is not `database.table:column,column`.
    """
    found = {}
    for entry in filter(None, (part.strip() for part in text.split(";"))):
        table, colon, columns = entry.partition(":")
        names = tuple(name.strip() for name in columns.split(",") if name.strip())
        if not colon or not names or "." not in table:
            raise ValueError(f"'{entry}' is not database.table:column,column")
        found[table.strip()] = names
    return found
