"""Options: when and how tables or collections are read as they are now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Self

from pydantic import Field, NonNegativeInt, model_validator

from cdckit.api.lists import RegexList
from cdckit.api.snapshotting import SnapshotMode
from cdckit.api.source_config import SourceConfig
from cdckit.connector.chosen_by_plugin import mode_by_plugin
from cdckit.connector.include_lists import Matcher


class SnapshotOptions(SourceConfig):
    """The snapshot. A source names the modes that it has."""

    modes_without_rows: ClassVar[frozenset[str]] = frozenset({"no_data"})
    """Those of its modes that read no rows."""

    snapshot_mode: str = "initial"
    """When tables or collections are read as they are now."""
    snapshot_mode_custom_name: str = ""
    """The name by which a plugin's hook `cdckit_snapshot_mode` knows the mode `custom`."""
    snapshot_mode_configuration_based_snapshot_data: bool = False
    """In mode `configuration_based`: whether rows or documents are read."""
    snapshot_mode_configuration_based_start_stream: bool = False
    """In mode `configuration_based`: whether the log is read after the snapshot."""
    snapshot_mode_configuration_based_snapshot_on_data_error: bool = False
    """In mode `configuration_based`: whether a snapshot is taken where the position is gone from the log."""
    snapshot_include_collection_list: RegexList = ""
    """Captured tables or collections that the snapshot reads; by default all of them."""
    snapshot_max_threads: Annotated[int, Field(ge=1, le=1024)] = 1
    """How many connections read a snapshot at the same time; `runner: spark` has its own."""
    snapshot_max_threads_multiplier: Annotated[int, Field(ge=1, le=1024)] = 1
    """Into how many parts a large table or collection is cut, for each of these connections: more parts share out more
    evenly.
    """
    legacy_snapshot_max_threads: bool = False
    """Whether each table or collection is read by one connection, in one part."""
    snapshot_delay_ms: NonNegativeInt = 0
    """A pause before the snapshot, in milliseconds."""
    streaming_delay_ms: NonNegativeInt = 0
    """A pause between the snapshot and the log, in milliseconds."""

    @model_validator(mode="after")
    def _a_plugin_knows_the_mode(self) -> Self:
        if self.snapshot_mode == "custom":
            name = self.snapshot_mode_custom_name
            require_plugin(mode_by_plugin(name), "mode", "cdckit_snapshot_mode", name)
        return self

    @property
    def snapshot_takes_rows(self) -> bool:
        """As the mode says, at a first start."""
        if self.snapshot_mode == "configuration_based":
            return self.snapshot_mode_configuration_based_snapshot_data
        if self.snapshot_mode == "custom":
            return self.chosen_mode({}).takes_data(offset_exists=False, in_progress=False)
        return self.snapshot_mode not in self.modes_without_rows

    def snapshot_takes(self, table: str) -> bool:
        """As `snapshot.include.collection.list` says."""
        chosen = Matcher(self.snapshot_include_collection_list)
        return not chosen or chosen(table)

    def chosen_mode(self, modes: Mapping[str, SnapshotMode]) -> SnapshotMode:
        """What `snapshot.mode` says.

        Args:
            modes: the source's own, by name; that of `custom` is a plugin's.
        """
        if self.snapshot_mode != "custom":
            return modes[self.snapshot_mode]
        found = mode_by_plugin(self.snapshot_mode_custom_name)
        assert found is not None  # it was asked for when the options were checked
        return found


def require_plugin(found: object, option: str, hook: str, name: str) -> None:
    """Looks whether a plugin knows what `snapshot.OPTION=custom` asks for.

    Args:
        found: what the plugins gave; None: nothing.
        option: the middle of the options' names.
        hook: the hook that was asked.
        name: what `snapshot.OPTION.custom.name` says.

    Raises:
        ValueError: none does; the message says what to do.
    """
    if found is None:
        raise ValueError(
            f"snapshot.{option}=custom: no installed plugin knows the name '{name}' "
            f"(snapshot.{option}.custom.name): Java classes cannot be loaded here; write a plugin with the hook {hook} "
            "(docs/writing-a-plugin.md)"
        )


class SnapshotBatchOptions(SourceConfig):
    """Of sources whose snapshot is read in several batches on Spark."""

    snapshot_batch_rows: NonNegativeInt = 0
    """On Spark: about how many rows or documents one batch of a snapshot has; 0: as many as `batch.max.bytes` of the
    tables or collections hold, and, where the sink keeps tables, whole ones alone.
    """
