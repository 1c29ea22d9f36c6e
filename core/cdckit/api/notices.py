"""What a source tells of its work while it runs: one method a notice, and the notice as data, to be passed on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from cdckit.api.notification import Notification


class Notice(NamedTuple):
    """A notice on its way: which method was called, and with what.

    Attributes:
        name: the method's name; a lifecycle hook has the same behind `cdckit_`.
        facts: the arguments by name.
    """

    name: str
    facts: Mapping[str, Any]

    def tell(self, notices: Notices) -> None:
        """Calls the method.

        Raises:
            ValueError: `notices` knows no such notice.
        """
        if self.name == "tell" or self.name.startswith("_") or not hasattr(type(notices), self.name):
            raise ValueError(f"{type(notices).__name__} knows no notice '{self.name}'")
        getattr(notices, self.name)(**self.facts)


class DefinedColumn(NamedTuple):
    """A column of a captured table.

    Attributes:
        name: its name.
        type_name: the database's type.
        comment: its comment, or None.
    """

    name: str
    type_name: str
    comment: str | None = None


class Notices:
    """Takes what a source tells. Nobody listens to this one, as in a worker process.

    Every notice ends in `tell`: who wants all of them overrides that, who wants one overrides its method.
    """

    @property
    def wants_definitions(self) -> bool:
        """Whether anyone asks for `table_defined`: a source does not call it where not."""
        return False

    def tell(self, notice: Notice) -> None:
        """Takes a notice of any kind."""

    def captured(self, data_collections: Sequence[str]) -> None:
        """The log is read from here on for these tables (`database.table`); told only where metrics are on."""
        self.tell(Notice("captured", {"data_collections": data_collections}))

    def connection(self, connected: bool, reason: str = "") -> None:
        """The connection that the log is read from stands, or was lost for a `reason` and is opened anew."""
        self.tell(Notice("connection", {"connected": connected, "reason": reason}))

    def schema_changed(self, position: str, ddl: str, tables: Sequence[str]) -> None:
        """A change of definition was met at `position` that concerns `tables` (`database.table`)."""
        self.tell(Notice("schema_changed", {"position": position, "ddl": ddl, "tables": tables}))

    def table_defined(self, data_collection: str, columns: Sequence[DefinedColumn]) -> None:
        """A captured table (`database.table`) has these columns from here on; none where they are not known.

        Told of each when a snapshot or the log is begun, and of one whose definition changes.
        """
        self.tell(Notice("table_defined", {"data_collection": data_collection, "columns": columns}))

    def schema_history(self, recovering: bool, changes: int = 0, last: str | None = None) -> None:
        """The schema history is about to be read (`recovering`), or was.

        Args:
            recovering: whether it is about to be.
            changes: how many entries were read.
            last: the position of the last of them.
        """
        self.tell(Notice("schema_history", {"recovering": recovering, "changes": changes, "last": last}))

    def snapshot_started(self, data_collections: Mapping[str, int | None]) -> None:
        """A snapshot begins to read these tables (`database.table`), each of about so many rows (None: not known)."""
        self.tell(Notice("snapshot_started", {"data_collections": data_collections}))

    def snapshot_locked(self, locked: bool) -> None:
        """A snapshot has locked writers out, or lets them go on."""
        self.tell(Notice("snapshot_locked", {"locked": locked}))

    def snapshot_progress(self, data_collection: str, rows: int, estimate: int | None, finished: bool) -> None:
        """The snapshot has read `rows` of about `estimate` of one table."""
        facts = {"data_collection": data_collection, "rows": rows, "estimate": estimate, "finished": finished}
        self.tell(Notice("snapshot_progress", facts))

    def snapshot_part(self, data_collection: str, part: int, parts: int, rows: int, finished: bool) -> None:
        """A part of a table is read by itself: whoever has it read adds up the parts, no hook hears of it.

        Args:
            data_collection: the table.
            part: tells this part from the table's others.
            parts: how many there are; 0 where that is not known before the last one.
            rows: how many rows of the part were read.
            finished: whether that was the last of them.
        """
        facts = {"data_collection": data_collection, "part": part, "parts": parts, "rows": rows, "finished": finished}
        self.tell(Notice("snapshot_part", facts))

    def snapshot_ended(self, completed: bool) -> None:
        """A snapshot is over: everything was read, or it was broken off."""
        self.tell(Notice("snapshot_ended", {"completed": completed}))

    def notification(self, notification: Notification) -> None:
        """What a connector of Debezium would send as a notification: that a snapshot begins, how far it is."""
        self.tell(Notice("notification", {"notification": notification}))


class PassedNotices(Notices):
    """Stands before others, and passes on to them all that is told.

    Args:
        notices: those.
    """

    def __init__(self, notices: Notices) -> None:
        self._passed_to = notices

    @property
    def wants_definitions(self) -> bool:
        """Whether the others ask."""
        return self._passed_to.wants_definitions

    def tell(self, notice: Notice) -> None:
        """Passes it on as it came."""
        notice.tell(self._passed_to)


UNHEARD = Notices()
"""Nobody listens."""
