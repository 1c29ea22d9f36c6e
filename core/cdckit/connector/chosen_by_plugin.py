"""What other plugins decide for a connector, where its options ask for that by name."""

from __future__ import annotations

from collections.abc import Mapping

from cdckit.api.hookspecs import ColumnConverter, ColumnDescription
from cdckit.api.plugins import answers, plugin_manager
from cdckit.api.snapshotting import SnapshotLock, SnapshotMode, SnapshotQuery


def mode_by_plugin(name: str) -> SnapshotMode | None:
    """The snapshot mode that a plugin gives for `name`, or None."""
    found: SnapshotMode | None = plugin_manager().hook.cdckit_snapshot_mode(name=name)
    return found


def lock_by_plugin(name: str) -> SnapshotLock | None:
    """The way of locking that a plugin gives for `name`, or None."""
    found: SnapshotLock | None = plugin_manager().hook.cdckit_snapshot_lock(name=name)
    return found


def query_by_plugin(name: str) -> SnapshotQuery | None:
    """The choice of rows that a plugin gives for `name`, or None."""
    found: SnapshotQuery | None = plugin_manager().hook.cdckit_snapshot_query(name=name)
    return found


def converter_types() -> frozenset[str]:
    """What may stand behind `NAME.type` of a converter."""
    return frozenset(name for _, name in answers("cdckit_converter_types", str))


def column_converter(type_name: str, options: Mapping[str, str], column: ColumnDescription) -> ColumnConverter | None:
    """The converter that a plugin gives for a column, or None.

    Args:
        type_name: what stands behind `NAME.type`.
        options: its other options.
        column: the column.
    """
    found: ColumnConverter | None = plugin_manager().hook.cdckit_converter(
        type_name=type_name, options=options, column=column
    )
    return found
