"""The snapshot modes: when documents are read, and whether the stream is read after them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cdckit.plugins import mode_by_plugin
from cdckit.snapshotting import SnapshotMode
from cdckit_mongodb.config import MongoDbConfig

When = Literal["never", "first", "always"]
"""At no start, at those before a snapshot is finished, at every start."""


@dataclass(frozen=True, slots=True)
class DocumentsMode(SnapshotMode):
    """A mode that needs no more than a word; collections have no definitions that could be read."""

    documents: When
    streams: bool = True
    on_data_error: bool = False

    def takes_data(self, *, offset_exists: bool, in_progress: bool) -> bool:
        """Whether documents are read."""
        return self.documents == "always" or (self.documents == "first" and (in_progress or not offset_exists))

    def takes_schema(self, *, offset_exists: bool, in_progress: bool) -> bool:
        """Never."""
        return False


_MODES = {
    "always": DocumentsMode("always"),
    "initial": DocumentsMode("first"),
    "initial_only": DocumentsMode("first", streams=False),
    "no_data": DocumentsMode("never"),
    "when_needed": DocumentsMode("first", on_data_error=True),
}


def snapshot_mode(config: MongoDbConfig) -> SnapshotMode:
    """What `snapshot.mode` says."""
    if config.snapshot_mode == "custom":
        found = mode_by_plugin(config.snapshot_mode_custom_name)
        assert found is not None  # the options' model has asked
        return found
    if config.snapshot_mode == "configuration_based":
        return DocumentsMode(
            "first" if config.snapshot_mode_configuration_based_snapshot_data else "never",
            streams=config.snapshot_mode_configuration_based_start_stream,
            on_data_error=config.snapshot_mode_configuration_based_snapshot_on_data_error,
        )
    return _MODES[config.snapshot_mode]
