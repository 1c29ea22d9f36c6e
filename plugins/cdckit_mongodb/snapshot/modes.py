"""The snapshot modes: when documents are read, and whether the stream is read after them; there are no definitions."""

from __future__ import annotations

from cdckit import PlainMode, SnapshotMode
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
    configured = PlainMode(
        "first" if config.snapshot_mode_configuration_based_snapshot_data else "never",
        streams=config.snapshot_mode_configuration_based_start_stream,
        on_data_error=config.snapshot_mode_configuration_based_snapshot_on_data_error,
    )
    return config.chosen_mode({**_MODES, "configuration_based": configured})
