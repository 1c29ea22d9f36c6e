"""The options of the `mysql` and `mariadb` sources, by Debezium's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from cdckit.connector.options.new_tables import capture_lists
from cdckit_mysql.options.capture import CaptureOptions
from cdckit_mysql.options.connection import ConnectionOptions, SslMode
from cdckit_mysql.options.debezium import DebeziumNames, peer_options
from cdckit_mysql.options.events import EventOptions
from cdckit_mysql.options.files import LogFileOptions
from cdckit_mysql.options.formats import FormatOptions
from cdckit_mysql.options.gtids import GtidOptions
from cdckit_mysql.options.history import HistoryOptions
from cdckit_mysql.options.processing import ProcessingOptions
from cdckit_mysql.options.schema_changes import SchemaChangeOptions
from cdckit_mysql.options.signals import SignallingOptions
from cdckit_mysql.options.snapshot import SnapshotOptions
from cdckit_mysql.options.topics import TopicOptions
from cdckit_mysql.options.values import ValueOptions


class MySqlConfig(
    # the last comes first in the tables of options
    DebeziumNames,
    ProcessingOptions,
    HistoryOptions,
    GtidOptions,
    SchemaChangeOptions,
    TopicOptions,
    EventOptions,
    SignallingOptions,
    FormatOptions,
    ValueOptions,
    SnapshotOptions,
    CaptureOptions,
    LogFileOptions,
    ConnectionOptions,
):
    """Options of the `mysql` source."""

    connector: ClassVar[str] = "mysql"
    """What events say in `source.connector`."""
    identifying: ClassVar[tuple[str, ...]] = ("topic_prefix",)
    named_by: ClassVar[str] = "topic_prefix"
    choosing: ClassVar[tuple[str, ...]] = capture_lists("database", "table")


class MariaDbConfig(MySqlConfig):
    """Options of the `mariadb` source."""

    connector: ClassVar[str] = "mariadb"
    peer_options: ClassVar[Mapping[str, str]] = peer_options("debezium_options_mariadb.tsv")

    include_schema_comments: bool = True
    """Whether the records of schema changes show the comments of tables and columns, and the schemas of rows those of
    columns.
    """
    database_ssl_mode: SslMode = "disabled"
    """`disabled`, `preferred`, `required` (`trust`), `verify_ca` or `verify_identity`, as for MySQL."""
