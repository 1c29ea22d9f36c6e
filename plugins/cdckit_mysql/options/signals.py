"""Options: signals, incremental snapshots and notifications."""

from __future__ import annotations

from cdckit.notifications import NotificationOptions
from cdckit.signals import SignalOptions


class SignallingOptions(NotificationOptions, SignalOptions):
    """Signals and notifications."""

    read_only: bool = False
    """Whether incremental snapshots write nothing and go by GTIDs instead of watermarks."""
    incremental_snapshot_allow_schema_changes: bool = False
    """Accepted: a chunk whose table changes its definition is read again, whatever this says."""
