"""Places for the store `sql`: a user who may do there what it needs, its options, and pipelines that use it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdckit.api.record import Offset
from cdckit.engine.state.place import StatePlace
from cdckit.engine.state.runner_handover import current_offset
from cdckit_mysql.state.config import SqlStateConfig
from cdckit_mysql.state.store import SqlBackend
from testkit.running import PASSWORD, Pipeline, Running
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


@dataclass(frozen=True)
class Forgetful(Pipeline):
    """A pipeline whose folder on this machine is lost before each run; its name is `p`."""

    store: SqlBackend | None = None

    @property
    def state(self) -> Path:
        """What is lost: the folder of what belongs to this machine."""
        return self.folder / "here"

    @contextmanager
    def running(self, *arguments: str, limit: Callable[[], None] | None = None) -> Iterator[Running]:
        """Calls `cdc run` where nothing is left of the last one."""
        shutil.rmtree(self.state, ignore_errors=True)
        with super().running(*arguments, limit=limit) as process:
            yield process

    def offset(self) -> Offset | None:
        """The saved offset, out of the tables."""
        assert self.store is not None
        return current_offset(StatePlace("p", self.state, self.store))


def forgetful(
    folder: Path, source: dict[str, Any], sink: dict[str, Any], server: SQLServer, database: str
) -> Forgetful:
    """Such a pipeline, with its state in a database."""
    others = {
        "name": "p",
        "state": {"type": "sql", **options_of(server, database)},
        "local.folder": "here",
        "serializer": {"schemas.enable": False},
        "offset.flush.interval.ms": 50,
    }
    return Forgetful(folder, source, sink, others, store=backend_of(server, database))
