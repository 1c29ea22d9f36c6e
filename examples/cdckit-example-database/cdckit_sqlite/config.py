"""The options, nearly all of them the kit's, and offsets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field

from cdckit import LocalPath, Offset, RegexList
from cdckit.connector.offset import ConnectorOffset, readable, shared_attributes
from cdckit.connector.options.capture import capture_lists
from cdckit.connector.options.connector import ConnectorOptions
from cdckit.connector.options.snapshot import SnapshotOptions
from cdckit.connector.options.topics import TopicOptions
from cdckit.connector.resnapshot import Resnapshot


class SqliteConfig(ConnectorOptions, TopicOptions, SnapshotOptions):
    """Options of the source `sqlite-log`."""

    connector: ClassVar[str] = "sqlite"
    identifying: ClassVar[tuple[str, ...]] = ("topic_prefix", "database_path")
    choosing: ClassVar[tuple[str, ...]] = capture_lists("table")

    database_path: Annotated[LocalPath, Field(min_length=1)]
    """The SQLite file. Triggers and the table `cdckit_log` are made in it."""
    table_include_list: RegexList = ""
    """Tables to capture: regular expressions that match a whole `main.table`; by default all."""
    table_exclude_list: RegexList = ""
    """Tables to leave out."""
    snapshot_mode: Literal["initial", "initial_only", "no_data", "custom"] = "initial"
    """When rows are read as they are now: `initial` (the first time), `initial_only` (and end after it), `no_data`
    (never), `custom` (as a plugin says).
    """


@dataclass(frozen=True, slots=True)
class LogOffset(ConnectorOffset):
    """How far the log table has been read.

    Attributes:
        number: the `id` of its last row that was read.
        due: whether a snapshot comes before the log.
    """

    number: int = 0
    due: bool = False

    @property
    def snapshot_due(self) -> bool:
        """As it says."""
        return self.due

    def before_rows(self, again: Resnapshot) -> Self:
        """Before these tables' rows."""
        return self.with_changes(due=True, resnapshot=again)

    def without_snapshot(self) -> Self:
        """Without them."""
        return self.with_changes(due=False, resnapshot=None)

    def to_json(self) -> Offset:
        """`number`, and what else there is to say."""
        members = {"due": self.due, **self.shared_members()}
        return {"number": self.number, **{name: value for name, value in members.items() if value}}

    @classmethod
    def from_json(cls, offset: Offset) -> Self:
        """Reads what `to_json` gave."""
        with readable(offset, "SQLite"):
            return cls(number=int(offset["number"]), due=bool(offset.get("due")), **shared_attributes(offset))
