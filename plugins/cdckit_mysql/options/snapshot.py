"""Options: when and how tables are read as they are now, also where signals ask for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, PositiveInt, model_validator

from cdckit import NameList, split_names
from cdckit.connector.chosen_by_plugin import lock_by_plugin, query_by_plugin
from cdckit.connector.options import snapshot
from cdckit.connector.signals import SignalOptions
from cdckit.connector.signals.signal import OF_EVERY_SOURCE

SET_BINLOG_POSITION = "set-binlog-position"
SCHEMA_CHANGES = "schema-changes"
_SNAPSHOT_MODES = {"schema_only": "no_data", "schema_only_recovery": "recovery"}
_LOCKING_MODES = {"minimal_percona_no_table_locks": "minimal_percona"}

SnapshotModeName = Annotated[
    Literal[
        "initial",
        "initial_only",
        "no_data",
        "when_needed",
        "always",
        "never",
        "recovery",
        "configuration_based",
        "custom",
    ],
    BeforeValidator(lambda value: _SNAPSHOT_MODES.get(value, value)),
]
LockingMode = Annotated[
    Literal["minimal", "extended", "none", "minimal_percona", "custom"],
    BeforeValidator(lambda value: _LOCKING_MODES.get(value, value)),
]


class SnapshotOptions(snapshot.SnapshotOptions, snapshot.SnapshotBatchOptions):
    """The snapshot."""

    modes_without_rows: ClassVar[frozenset[str]] = frozenset({"no_data", "never", "recovery"})

    snapshot_mode: SnapshotModeName = "initial"
    """When tables are read as they are now: `initial` (the first time), `initial_only` (and end after it), `no_data`
    (only their definitions), `when_needed` (also when the position is gone from the log), `always` (at every start),
    `never` (read the log from its beginning), `recovery` (go on, with the schema history made anew),
    `configuration_based` (at every start what `snapshot.mode.configuration.based.*` say), `custom` (as a plugin says).
    """
    snapshot_mode_configuration_based_snapshot_schema: bool = False
    """In mode `configuration_based`: whether definitions are read, at every start."""
    snapshot_mode_configuration_based_snapshot_on_schema_error: bool = False
    """In mode `configuration_based`: whether a lost schema history is made anew, as `recovery` does."""
    snapshot_locking_mode: LockingMode = "minimal"
    """How long writers are locked out: `minimal` (while the position and the definitions are read), `extended` (for the
    whole snapshot), `none` (safe only while no definition changes), `minimal_percona` (Percona Server's backup lock,
    which keeps definitions from changing while they are read), `custom` (as a plugin says).
    """
    snapshot_locking_mode_custom_name: str = ""
    """The name by which a plugin's hook `cdckit_snapshot_lock` knows the locking mode `custom`."""
    snapshot_lock_timeout_ms: PositiveInt = 10000
    """How long to wait for that lock, in milliseconds."""
    snapshot_fetch_size: PositiveInt | None = None
    """How many rows a batch of the snapshot has at the most; by default as many as arrive in 128 KiB."""
    snapshot_query_mode: Literal["select_all", "custom"] = "select_all"
    """Which rows are read: all, or (`custom`) those that a plugin chooses."""
    snapshot_query_mode_custom_name: str = ""
    """The name by which a plugin's hook `cdckit_snapshot_query` knows the query mode `custom`."""
    snapshot_select_statement_overrides: NameList = ""
    """Tables that the snapshot reads with a statement of the user's, which stands in
    `snapshot.select.statement.overrides.DATABASE.TABLE`.
    """
    snapshot_statements: dict[str, str] = Field(default_factory=dict)
    """The statements for `snapshot.select.statement.overrides`, one option each."""
    snapshot_tables_order_by_row_count: Literal["disabled", "ascending", "descending"] = "disabled"
    """Whether the snapshot takes tables by their estimated size instead of by name."""

    patterns: ClassVar[Mapping[str, str]] = {
        r"snapshot\.select\.statement\.overrides\..+": "snapshot_statements",
    }

    @model_validator(mode="after")
    def _statement_for_each_override(self) -> Self:
        for table in split_names(self.snapshot_select_statement_overrides):
            option = f"snapshot.select.statement.overrides.{table}"
            if option not in self.snapshot_statements:
                raise ValueError(f"snapshot.select.statement.overrides names {table}, but '{option}' is not given")
        return self

    @model_validator(mode="after")
    def _plugins_know_their_names(self) -> Self:
        if self.snapshot_locking_mode == "custom":
            name = self.snapshot_locking_mode_custom_name
            snapshot.require_plugin(lock_by_plugin(name), "locking.mode", "cdckit_snapshot_lock", name)
        if self.snapshot_query_mode == "custom":
            name = self.snapshot_query_mode_custom_name
            snapshot.require_plugin(query_by_plugin(name), "query.mode", "cdckit_snapshot_query", name)
        return self

    def not_on_spark(self) -> dict[str, str]:
        """Spark reads the chunks without a lock, and the log beside them."""
        found = super().not_on_spark()
        if self.snapshot_locking_mode in ("extended", "custom"):
            found["snapshot.locking.mode"] = (
                f"'{self.snapshot_locking_mode}' cannot be kept on Spark, whose workers read the tables without a lock "
                "while the log tells of what changes: remove it, or set 'runner: direct' (--runner direct)"
            )
        if self.streaming_delay_ms:
            found["streaming.delay.ms"] = (
                "there is no pause between snapshot and log on Spark: remove it, or set 'runner: direct' "
                "(--runner direct)"
            )
        return found

    def statement_for(self, table: str) -> str | None:
        """The user's snapshot statement for `database.table`, or None."""
        if table not in split_names(self.snapshot_select_statement_overrides):
            return None
        return self.snapshot_statements[f"snapshot.select.statement.overrides.{table}"]


class SignallingOptions(SignalOptions):
    """Signals, and the incremental snapshots that they ask for."""

    signal_types: ClassVar[tuple[str, ...]] = (*OF_EVERY_SOURCE, SET_BINLOG_POSITION, SCHEMA_CHANGES)

    read_only: bool = False
    """Whether incremental snapshots write nothing and go by GTIDs instead of watermarks."""
    incremental_snapshot_allow_schema_changes: bool = False
    """Accepted: a chunk whose table changes its definition is read again, whatever this says."""
