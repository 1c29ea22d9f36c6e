"""The snapshot modes: when rows and definitions are read, and whether the log is read after them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cdckit.plugins import mode_by_plugin
from cdckit.snapshotting import SnapshotMode
from cdckit_mysql.config import MySqlConfig

When = Literal["never", "first", "always"]
"""At no start, at those before a snapshot is finished, at every start."""


@dataclass(frozen=True, slots=True)
class PlainMode(SnapshotMode):
    """A mode that needs no more than a word for rows and one for definitions."""

    data: When
    schema: When
    streams: bool = True
    on_schema_error: bool = False
    on_data_error: bool = False

    def takes_data(self, *, offset_exists: bool, in_progress: bool) -> bool:
        """Whether rows are read."""
        return _applies(self.data, offset_exists, in_progress)

    def takes_schema(self, *, offset_exists: bool, in_progress: bool) -> bool:
        """Whether definitions are read."""
        return _applies(self.schema, offset_exists, in_progress)


def _applies(when: When, offset_exists: bool, in_progress: bool) -> bool:
    return when == "always" or (when == "first" and (in_progress or not offset_exists))


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
    """What `snapshot.mode` says."""
    if config.snapshot_mode == "custom":
        found = mode_by_plugin(config.snapshot_mode_custom_name)
        assert found is not None  # the options' model has asked
        return found
    if config.snapshot_mode == "configuration_based":
        return PlainMode(
            "always" if config.snapshot_mode_configuration_based_snapshot_data else "never",
            "always" if config.snapshot_mode_configuration_based_snapshot_schema else "never",
            streams=config.snapshot_mode_configuration_based_start_stream,
            on_schema_error=config.snapshot_mode_configuration_based_snapshot_on_schema_error,
            on_data_error=config.snapshot_mode_configuration_based_snapshot_on_data_error,
        )
    return _MODES[config.snapshot_mode]
