"""The snapshot modes: when documents are read, and whether the stream is read after them; there are no definitions."""

from __future__ import annotations

from cdckit import PlainMode, SnapshotMode
from cdckit.connector.chosen_by_plugin import mode_by_plugin
from cdckit_mongodb.config import MongoDbConfig

_MODES = {
    "always": PlainMode("always"),
    "initial": PlainMode("first"),
    "initial_only": PlainMode("first", streams=False),
    "no_data": PlainMode("never"),
    "when_needed": PlainMode("first", on_data_error=True),
}


def snapshot_mode(config: MongoDbConfig) -> SnapshotMode:
    """What `snapshot.mode` says."""
    if config.snapshot_mode == "custom":
        found = mode_by_plugin(config.snapshot_mode_custom_name)
        assert found is not None  # the options' model has asked
        return found
    if config.snapshot_mode == "configuration_based":
        return PlainMode(
            "first" if config.snapshot_mode_configuration_based_snapshot_data else "never",
            streams=config.snapshot_mode_configuration_based_start_stream,
            on_data_error=config.snapshot_mode_configuration_based_snapshot_on_data_error,
        )
    return _MODES[config.snapshot_mode]
