"""What a server is asked for to learn which tables it stores."""

from __future__ import annotations

import re

from cdckit_mysql.server.stored_tables import stored_names
from cdckit_mysql.table import TableId
from testkit.servers.mysql_family import SQLServer


def test_databases_that_store_nothing_are_not_asked_for(db_server: SQLServer, database: str) -> None:
    """MariaDB makes each table of `information_schema` to tell of it, and has died of that."""
    db_server.execute(f"CREATE TABLE {database}.a (id INT)")
    before = db_server.execute("SELECT @@log_output")[0][0]
    db_server.execute("SET GLOBAL log_output = 'TABLE'")
    db_server.execute("TRUNCATE mysql.general_log")
    db_server.execute("SET GLOBAL general_log = ON")
    try:
        with db_server.connect() as connection:
            names = list(stored_names(connection))
    finally:
        db_server.execute("SET GLOBAL general_log = OFF")
        db_server.execute(f"SET GLOBAL log_output = '{before}'")
    assert TableId(database, "a") in names
    said = "".join(_text(row[0]) for row in db_server.execute("SELECT argument FROM mysql.general_log"))
    asked = set(re.findall("TABLE_SCHEMA = '([^']+)'", said))
    assert database in asked
    assert not asked & {"information_schema", "performance_schema"}


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
