"""Options: which databases, tables, columns and operations are captured."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from cdckit import RegexList
from cdckit.connector.guardrail import GuardrailOptions
from cdckit.connector.options.new_tables import NewTablesOptions
from cdckit.connector.options.operations import OperationList, skipped_operations
from cdckit_mysql.options.key_columns import KeyColumns


class CaptureOptions(GuardrailOptions, NewTablesOptions):
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
    skipped_operations: OperationList = "t"
    """Operations of the log to leave out: `c`, `u`, `d`, `t`, or `none`. An update that changes a row's key is one of
    `u`, although it makes a delete and a create.
    """
    skip_messages_without_change: bool = False
    """Whether an update that changes none of the captured columns is left out."""

    @model_validator(mode="after")
    def _one_of_each_pair(self) -> Self:
        for kind in ("database", "table", "column"):
            if getattr(self, f"{kind}_include_list") and getattr(self, f"{kind}_exclude_list"):
                raise ValueError(f"{kind}.include.list and {kind}.exclude.list exclude each other; keep one")
        return self

    @property
    def skipped(self) -> frozenset[str]:
        """The operations of the log that are left out."""
        return skipped_operations(self.skipped_operations)
