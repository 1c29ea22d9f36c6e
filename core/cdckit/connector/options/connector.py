"""The options that every source of a database has, whatever the database."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar, Self

from cdckit.connector.notifications.options import NotificationOptions
from cdckit.connector.options.capture import CaptureOptions
from cdckit.connector.options.event_format import EventFormatDefaults
from cdckit.connector.options.events import EventOptions
from cdckit.connector.options.logical_name import LogicalName
from cdckit.connector.options.processing import ProcessingOptions
from cdckit.connector.signals.options import SignalOptions
from cdckit.errors import ConfigError


class ConnectorOptions(
    # the last comes first in the tables of options
    ProcessingOptions,
    EventOptions,
    NotificationOptions,
    SignalOptions,
    EventFormatDefaults,
    CaptureOptions,
    LogicalName,
):
    """Options of a source of a database.

    It is the first base of a source's model; behind it come the source's own themes, in the same order, those that go
    further than one of these as its subclasses. `SnapshotOptions` and `TopicOptions` are not among these: a source
    subclasses both, and names the modes and strategies that it has.
    """

    connector: ClassVar[str]
    """What events say in `source.connector`."""

    @property
    def reads_in_order(self) -> bool:
        """Where signals are taken, or notifications sent."""
        return self.takes_signals or bool(self.notification_enabled_channels)

    def beside(self) -> Self:
        """Without signals."""
        return self.model_copy(update={"signal_enabled_channels": ""})

    def whole(self, tables: Sequence[str]) -> Self:
        """A snapshot of all rows without its own choice of them, and none of the records that are not about rows."""
        update = {
            "snapshot_mode": "initial",
            "snapshot_include_collection_list": "",
            "snapshot_delay_ms": 0,
            "streaming_delay_ms": 0,
            "skipped_operations": "none",
            "provide_transaction_metadata": False,
            "heartbeat_interval_ms": 0,
        }
        return self.beside().model_copy(update={**update, **self._confined(tables)})

    def _confined(self, tables: Sequence[str]) -> dict[str, str]:
        """The narrowest of the lists in `choosing`, which name whole tables or collections, for these alone."""
        if not tables:
            return {}
        lists = [name for name in self.choosing if name.endswith("_include_list")]
        if not lists:
            raise ConfigError("--table: this source has no list of tables that could be confined; leave it out")
        include = lists[-1]
        return {include: ",".join(map(re.escape, tables)), include.replace("_include_", "_exclude_"): ""}
