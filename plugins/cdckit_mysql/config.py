"""The options of the `mysql` and `mariadb` sources, by Debezium's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from pydantic import model_validator

from cdckit import ConfigError, Dataset, IgnoredOptions, Offset
from cdckit.connector.options.capture import capture_lists
from cdckit.connector.options.connector import ConnectorOptions
from cdckit.connector.options.every_connector import peer_options
from cdckit_mysql.options.capture import CaptureOptions, GtidOptions
from cdckit_mysql.options.connection import ConnectionOptions, SslMode, server_id_beside
from cdckit_mysql.options.events import (
    EventOptions,
    FormatOptions,
    ProcessingOptions,
    SchemaChangeOptions,
    TopicOptions,
)
from cdckit_mysql.options.history import HistoryOptions
from cdckit_mysql.options.ignored_options import IGNORED_OPTIONS
from cdckit_mysql.options.post_processors import PostProcessorOptions
from cdckit_mysql.options.snapshot import SignallingOptions, SnapshotOptions
from cdckit_mysql.options.values import ValueOptions


def _quoted(column: str) -> str:
    return "`" + column.replace("`", "``") + "`"


def _literal(value: Any) -> str:
    """A number or text as SQL writes it, whatever the server takes a backslash for."""
    if isinstance(value, int):
        return str(value)
    if not isinstance(value, str) or "\\" in value:
        raise ConfigError(f"a key has the value {value!r}, which no condition is written for here")
    return "'" + value.replace("'", "''") + "'"


class MySqlConfig(
    ConnectorOptions,
    # the last comes first in the tables of options
    ProcessingOptions,
    HistoryOptions,
    GtidOptions,
    SchemaChangeOptions,
    TopicOptions,
    EventOptions,
    SignallingOptions,
    FormatOptions,
    PostProcessorOptions,
    ValueOptions,
    SnapshotOptions,
    CaptureOptions,
    ConnectionOptions,
):
    """Options of the `mysql` source."""

    connector: ClassVar[str] = "mysql"
    tells_documents: ClassVar[bool] = False
    identifying: ClassVar[tuple[str, ...]] = ("topic_prefix",)
    asked: ClassVar[tuple[str, ...]] = ("database_hostname", "database_port", "database_user", "database_password")
    choosing: ClassVar[tuple[str, ...]] = capture_lists("database", "table")
    renamed: ClassVar[Mapping[str, str]] = {
        "database.server.name": "topic.prefix",
        "database.whitelist": "database.include.list",
        "database.blacklist": "database.exclude.list",
        "table.whitelist": "table.include.list",
        "table.blacklist": "table.exclude.list",
        "column.whitelist": "column.include.list",
        "column.blacklist": "column.exclude.list",
        "event.processing.failure.handling.mode": "event.deserialization.failure.handling.mode",
        "database.history.store.only.captured.databases.ddl": (
            "schema.history.internal.store.only.captured.databases.ddl"
        ),
        "database.history.store.only.captured.tables.ddl": "schema.history.internal.store.only.captured.tables.ddl",
        "database.history.store.only.monitored.tables.ddl": "schema.history.internal.store.only.captured.tables.ddl",
        "database.history.skip.unparseable.ddl": "schema.history.internal.skip.unparseable.ddl",
    }
    stand_ins: ClassVar[Mapping[str, str]] = {"errors.retry.delay.max.ms": "retriable.restart.connector.wait.ms"}
    ignored_options: ClassVar[tuple[IgnoredOptions, ...]] = IGNORED_OPTIONS
    peer_options: ClassVar[Mapping[str, str]] = peer_options("cdckit_mysql")

    @model_validator(mode="after")
    def _signals_need_a_server(self) -> Self:
        if self.binlog_files and self.takes_signals:
            raise ValueError(
                "binlog.files: signals need a server, and log files have none: take signal.data.collection and "
                "signal.enabled.channels out while files are read"
            )
        return self

    @model_validator(mode="after")
    def _reselection_needs_a_server(self) -> Self:
        if self.binlog_files and self.post_processors:
            raise ValueError(
                "binlog.files: post.processors read rows from a server, and log files have none: take post.processors "
                "out while files are read"
            )
        return self

    def dataset(self, name: str) -> Dataset:
        """A table of the server."""
        return Dataset(f"{self.connector}://{self.database_hostname}:{self.database_port}", name, "TABLE")

    def beside(self) -> Self:
        """Also without the topic of the history and the heartbeat's statement, under another server id."""
        update = {
            "database_server_id": server_id_beside(self.database_server_id),
            "heartbeat_action_query": "",
            "schema_history_internal": "state",
        }
        return super().beside().model_copy(update=update)

    def whole(self, tables: Sequence[str]) -> Self:
        """Also without statements that choose rows, without a lock, and without what is told of definitions.

        Raises:
            ConfigError: files of a log are read, which have no tables.
        """
        if self.binlog_files:
            raise ConfigError(
                "source.binlog.files: files of a log tell of changes alone, so that no table can be compared"
            )
        update = {
            "snapshot_select_statement_overrides": "",
            "snapshot_query_mode": "select_all",
            "snapshot_locking_mode": "none",
            "include_schema_changes": False,
        }
        return super().whole(tables).model_copy(update=update)

    def anew(self, tables: Sequence[str]) -> Self:
        """With the definitions of the server, if none has changed since."""
        return self.whole(tables).model_copy(update={"snapshot_mode": "recovery"})

    def ends_exactly(self, offset: Offset) -> bool:
        """Between two transactions, and not while rows are read."""
        return not any(offset.get(member) for member in ("event", "row", "snapshot"))

    @property
    def no_sums(self) -> str | None:
        """Where nobody is locked out, the log tells again what the snapshot has seen."""
        if self.snapshot_locking_mode in ("none", "custom"):
            return (
                f"snapshot.locking.mode '{self.snapshot_locking_mode}' lets the log tell again what the snapshot has "
                "read: set it to minimal"
            )
        return None

    def rows_with(self, keys: Sequence[Mapping[str, Any]]) -> str:
        """In SQL."""
        return " OR ".join(
            "(" + " AND ".join(f"{_quoted(name)} = {_literal(value)}" for name, value in key.items()) + ")"
            for key in keys
        )

    def rows_left_out(self, table: str) -> str | None:
        """Also where a statement chooses the snapshot's rows."""
        if self.statement_for(table) is not None or self.snapshot_query_mode != "select_all":
            return "a statement chooses which rows the snapshot reads, so that others may be missing"
        return super().rows_left_out(table)


class MariaDbConfig(MySqlConfig):
    """Options of the `mariadb` source."""

    connector: ClassVar[str] = "mariadb"
    peer_options: ClassVar[Mapping[str, str]] = peer_options("cdckit_mysql", "debezium_options_mariadb.tsv")

    include_schema_comments: bool = True
    """Whether the records of schema changes show the comments of tables and columns, and the schemas of rows those of
    columns.
    """
    database_ssl_mode: SslMode = "disabled"
    """`disabled`, `preferred`, `required` (`trust`), `verify_ca` or `verify_identity`, as for MySQL."""
