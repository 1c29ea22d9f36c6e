"""Options of the state store `sql`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from cdckit_mysql.options.connection import ServerOptions

NonEmpty = Annotated[str, Field(min_length=1)]


class SqlStateConfig(ServerOptions):
    """Options of the state store `sql`."""

    database_user: NonEmpty
    """The user to log in as: `SELECT, INSERT, UPDATE, DELETE` on the tables, and `CREATE` until they are made."""
    database_dbname: NonEmpty
    """The database in which the tables are; it has to be there."""
    table_prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9_]{1,40}$")] = "cdckit_"
    """What the names of the tables begin with: letters, digits and `_`. They are made at first use."""
    hold_timeout_ms: Annotated[int, Field(ge=3000)] = 60000
    """How long, in milliseconds, a pipeline holds its state without a sign of life, as when its machine is gone; one
    that is killed lets go at once.
    """
