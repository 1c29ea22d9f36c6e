"""The snapshot modes: when rows and definitions are read, and whether the log is read after them."""

from __future__ import annotations

from cdckit import PlainMode, SnapshotMode
from cdckit_mysql.config import MySqlConfig

_MODES = {
    "initial": PlainMode("first", "first"),
    "initial_only": PlainMode("first", "first", streams=False),
    "no_data": PlainMode("never", "first"),
    "when_needed": PlainMode("first", "first", on_data_error=True),
    "always": PlainMode("always", "always"),
    "never": PlainMode("never", "never"),
    "recovery": PlainMode("never", "always", on_schema_error=True),
}


def snapshot_mode(config: MySqlConfig) -> SnapshotMode:
    """What `snapshot.mode` says; files of a log (`binlog.files`) are read without a snapshot, whatever it says."""
    if config.binlog_files:
        return _MODES["never"]
    configured = PlainMode(
        "always" if config.snapshot_mode_configuration_based_snapshot_data else "never",
        "always" if config.snapshot_mode_configuration_based_snapshot_schema else "never",
        streams=config.snapshot_mode_configuration_based_start_stream,
        on_schema_error=config.snapshot_mode_configuration_based_snapshot_on_schema_error,
        on_data_error=config.snapshot_mode_configuration_based_snapshot_on_data_error,
    )
    return config.chosen_mode({**_MODES, "configuration_based": configured})
