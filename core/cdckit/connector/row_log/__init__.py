"""Sources of SQL databases whose log gives, when asked, the changed rows behind a number.

Such are tables that triggers write, change tables as SQL Server has them, and slots or archives that a query shows. An
author says by a `Database` how this one is asked, and by a `RowLogSource` what its events say of where they are from;
the snapshot, the log, signals and the splits for either runner are here.
"""

from __future__ import annotations

from cdckit.connector.row_log.database import Change, Database, Table
from cdckit.connector.row_log.lost import LogLostError
from cdckit.connector.row_log.options import RowLogOptions
from cdckit.connector.row_log.source import RowLogSource

__all__ = ["Change", "Database", "LogLostError", "RowLogOptions", "RowLogSource", "Table"]
