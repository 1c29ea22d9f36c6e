"""Options: signals, incremental snapshots and notifications."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from cdckit.notifications import NotificationOptions
from cdckit.signals import SignalOptions


class SignallingOptions(NotificationOptions, SignalOptions):
    """Signals and notifications."""

    signal_data_collection: str = ""
    """The table (`database.table`) whose rows tell the source what to do, such as to read a table again. It has three
    columns: id, type, data. Incremental snapshots write their watermarks there, whatever channel asked for them.
    """
    read_only: bool = False
    """Whether incremental snapshots write nothing and go by GTIDs instead of watermarks."""
    incremental_snapshot_allow_schema_changes: bool = False
    """Accepted: a chunk whose table changes its definition is read again, whatever this says."""

    @model_validator(mode="after")
    def _signal_table(self) -> Self:
        database, _, name = self.signal_data_collection.partition(".")
        if self.signal_data_collection and not (database and name):
            raise ValueError("signal.data.collection should have the form database.table")
        return self

    @property
    def takes_signals(self) -> bool:
        """Whether signals come from anywhere."""
        return bool(self.outer_channels or ("source" in self.channels and self.signal_data_collection))
