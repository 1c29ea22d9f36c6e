"""The options of every such source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, Self

from pydantic import model_validator

from cdckit.api.lists import RegexList
from cdckit.api.plugin_config import dotted
from cdckit.api.snapshotting import PlainMode, SnapshotMode
from cdckit.connector.include_lists import Choice
from cdckit.connector.options.capture import capture_lists
from cdckit.connector.options.connector import ConnectorOptions
from cdckit.connector.options.snapshot import SnapshotOptions
from cdckit.connector.options.topics import TopicOptions

_MODES: Mapping[str, SnapshotMode] = {
    "initial": PlainMode("first"),
    "initial_only": PlainMode("first", streams=False),
    "when_needed": PlainMode("first", on_data_error=True),
    "no_data": PlainMode("never"),
}
_NOT_HAD = {
    "provide_transaction_metadata": "the rows of this source's log do not tell of transactions",
    "snapshot_max_threads": "one connection reads the tables of this source; on Spark its workers share them out",
    "snapshot_delay_ms": "this source has no pause before its snapshot",
    "streaming_delay_ms": "this source has no pause between snapshot and log",
}
"""Options that every source has by the kit, and that mean nothing here: what a user asks for by them is refused."""


class RowLogOptions(ConnectorOptions, TopicOptions, SnapshotOptions):
    """A source adds where its database is, and names itself in `connector`."""

    choosing: ClassVar[tuple[str, ...]] = capture_lists("table")
    tells_documents: ClassVar[bool] = False

    table_include_list: RegexList = ""
    """Tables to capture: regular expressions that match a whole `database.table`; by default all."""
    table_exclude_list: RegexList = ""
    """Tables to leave out."""
    snapshot_mode: Literal["initial", "initial_only", "when_needed", "no_data", "custom"] = "initial"
    """When rows are read as they are now: `initial` (the first time), `initial_only` (and end after it), `when_needed`
    (the first time, and where the place to go on from is gone from the log), `no_data` (never), `custom` (as a plugin
    says).
    """

    @model_validator(mode="after")
    def _nothing_is_promised_that_is_not_had(self) -> Self:
        for name, why in _NOT_HAD.items():
            if getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(f"{dotted(name)}: {why}; remove it")
        return self

    @property
    def mode(self) -> SnapshotMode:
        """What `snapshot.mode` says."""
        return self.chosen_mode(_MODES)

    def captures(self, table: str) -> bool:
        """Whether events tell of a table; the log tells of that of signals, too."""
        choice = Choice(self.table_include_list, self.table_exclude_list, "table")
        return table != self.signal_data_collection and choice(table)

    def follows(self, table: str) -> bool:
        """Whether the log is to tell of a table."""
        return table == self.signal_data_collection or self.captures(table)
