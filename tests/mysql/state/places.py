"""Places for the store `sql`: a user who may do there what it needs, its options, and pipelines that use it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cdckit_mysql.state.config import SqlStateConfig
from cdckit_mysql.state.store import SqlBackend
from testkit.forgetful import Forgetful
from testkit.running import PASSWORD
from testkit.servers.mysql_family import SQLServer

USER = "keeper"


def make_user(server: SQLServer, database: str) -> None:
    """Makes the user anew, who may do no more than the store needs."""
    server.run_sql(f"SET sql_log_bin = 0; DROP USER IF EXISTS {USER}")
    server.create_user(USER, PASSWORD, ())
    grant = f"GRANT CREATE, SELECT, INSERT, UPDATE, DELETE ON {database}.* TO '{USER}'@'%'"
    server.run_sql(f"SET sql_log_bin = 0; {grant}")


def options_of(server: SQLServer, database: str, **others: Any) -> dict[str, Any]:
    """The store's options; underscores stand for dots."""
    return {
        "database.hostname": server.host,
        "database.port": server.port,
        "database.user": USER,
        "database.password": PASSWORD,
        "database.dbname": database,
        **{name.replace("_", "."): value for name, value in others.items()},
    }


def backend_of(server: SQLServer, database: str, **others: Any) -> SqlBackend:
    """A store there."""
    return SqlBackend(SqlStateConfig.load(options_of(server, database, **others), "state")[0])


def forgetful(
    folder: Path, source: dict[str, Any], sink: dict[str, Any], server: SQLServer, database: str
) -> Forgetful:
    """Such a pipeline, with its state in a database."""
    state = {"type": "sql", **options_of(server, database)}
    return Forgetful.of(folder, source, sink, state, backend_of(server, database))
