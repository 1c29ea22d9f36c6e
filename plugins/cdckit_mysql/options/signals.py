"""Options: signals, incremental snapshots and notifications."""

from __future__ import annotations

from typing import ClassVar

from cdckit.connector.notifications import NotificationOptions
from cdckit.connector.signals import SignalOptions
from cdckit.connector.signals.signal import OF_EVERY_SOURCE

SET_BINLOG_POSITION = "set-binlog-position"
SCHEMA_CHANGES = "schema-changes"


class SignallingOptions(NotificationOptions, SignalOptions):
    """Signals and notifications."""

    signal_types: ClassVar[tuple[str, ...]] = (*OF_EVERY_SOURCE, SET_BINLOG_POSITION, SCHEMA_CHANGES)

    read_only: bool = False
    """Whether incremental snapshots write nothing and go by GTIDs instead of watermarks."""
    incremental_snapshot_allow_schema_changes: bool = False
    """Accepted: a chunk whose table changes its definition is read again, whatever this says."""
