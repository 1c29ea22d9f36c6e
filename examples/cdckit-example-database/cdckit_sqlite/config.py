"""The options: those of the kit, and where the file is."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from cdckit import LocalPath
from cdckit.connector.row_log import RowLogOptions


class SqliteConfig(RowLogOptions):
    """Options of the source `sqlite-log`. SQLite calls the database of the file `main`."""

    connector: ClassVar[str] = "sqlite"
    identifying: ClassVar[tuple[str, ...]] = ("topic_prefix", "database_path")

    database_path: Annotated[LocalPath, Field(min_length=1)]
    """The SQLite file. Triggers and the table `cdckit_log` are made in it."""
