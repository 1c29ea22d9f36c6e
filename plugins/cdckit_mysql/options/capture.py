"""Options: which databases, tables, columns, operations and transactions are captured."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AfterValidator, model_validator

from cdckit import PluginConfig, RegexList, split_names
from cdckit.connector.options import capture
from cdckit.java.regex import UserPattern, compile_java


def split_key_columns(text: str) -> list[tuple[UserPattern, tuple[str, ...]]]:
    """The pairs of table pattern and key columns in `db.table:a,b;…`.

    Raises:
        ValueError: a part has no colon, or names no column.
    """
    pairs = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        table, _, columns = part.rpartition(":")
        names = split_names(columns)
        if not table or not names:
            raise ValueError(f"'{part}' does not look like database.table:column,column")
        pairs.append((compile_java(table.strip(), ignore_case=True, option="message.key.columns"), names))
    return pairs


def _checked_key_columns(text: str) -> str:
    split_key_columns(text)
    return text


KeyColumns = Annotated[str, AfterValidator(_checked_key_columns)]
"""`db.table:a,b;db.other:c`."""


class CaptureOptions(capture.CaptureOptions):
    """What is captured."""

    database_include_list: RegexList = ""
    """Databases to capture: regular expressions that match a whole name."""
    database_exclude_list: RegexList = ""
    """Databases to leave out; not together with `database.include.list`."""
    table_include_list: RegexList = ""
    """Tables to capture: regular expressions that match a whole `database.table`."""
    table_exclude_list: RegexList = ""
    """Tables to leave out; not together with `table.include.list`."""
    table_ignore_builtin: bool = True
    """Whether the server's own databases are left out."""
    column_include_list: RegexList = ""
    """Columns to keep: regular expressions that match a whole `database.table.column`."""
    column_exclude_list: RegexList = ""
    """Columns to leave out; not together with `column.include.list`."""
    message_key_columns: KeyColumns = ""
    """Columns that make up the records' key, instead of the primary key: `database.table:column,column;…`."""
    skip_messages_without_change: bool = False
    """Whether an update that changes none of the captured columns is left out."""


class GtidOptions(PluginConfig):
    """Transactions by their GTIDs."""

    gtid_source_includes: RegexList = ""
    """Sources whose transactions are captured: regular expressions that match a whole UUID (MySQL; for one tag
    `UUID:TAG`) or number of a replication domain (MariaDB). Where to go on is found by them alone: that a server lacks
    others is no reason to stop.
    """
    gtid_source_excludes: RegexList = ""
    """Sources whose transactions are left out; not together with `gtid.source.includes`."""
    gtid_source_filter_dml_events: bool = True
    """Whether the rows of other sources' transactions are left out; else the two lists only say by which transactions
    to find where to go on.
    """
    gtid_ignore_on_recovery: bool = False
    """Whether reading goes on by file and position, though the server has GTIDs."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.gtid_source_includes and self.gtid_source_excludes:
            raise ValueError("gtid.source.includes and gtid.source.excludes exclude each other; keep one")
        return self
