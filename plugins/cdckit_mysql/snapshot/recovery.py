"""Makes the schema history anew from the server (`snapshot.mode=recovery`), where that is safe.

The definitions that the server has now are those at the saved offset only if no statement has changed one in between:
the log is looked through for that.
"""

from __future__ import annotations

import logging

from cdckit import SourceError
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.filters import Filters
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.schema_history.history import SchemaHistory
from cdckit_mysql.server.connection import place
from cdckit_mysql.server.facts import Dialect
from cdckit_mysql.snapshot.consistent_point import consistent_point
from cdckit_mysql.snapshot.statements_between import statements_between
from cdckit_mysql.streaming.opening import on_server

log = logging.getLogger("cdckit.mysql")


def recover_history(
    config: MySqlConfig, filters: Filters, history: SchemaHistory, dialect: Dialect, at: LogOffset
) -> None:
    """Puts the server's definitions in the place of the whole history, as those in force at `at`.

    Raises:
        SourceError: a definition has changed since; the message says where and by what.
        RetriableSourceError: the connection was lost.
    """
    with consistent_point(config, filters) as point:
        tables, end, server = point.tables, point.offset, point.server
    start = on_server(at, server, place(config))
    found, contradiction = statements_between(config, filters, dialect, tables, start, end)
    change = str(found[0]) if found else contradiction
    if change is not None:
        raise SourceError(
            f"the schema history cannot be made anew at {at.position}: definitions have changed since ({change}), and "
            "the server tells only those of now; start with a new state folder, which takes a new snapshot",
            number="CDC3501",
        )
    history.rebuild(at.position, tables)
    log.info("the schema history was made anew at %s, with the definitions of %d tables", at.position, len(tables))
