"""The state that today's version leaves, as the file of `tests/data/states` that later versions are held to.

A release calls `python -m testkit.kept_state`, which writes `release-X.Y.Z.sql`.
"""

from __future__ import annotations

import re
import sqlite3
import tempfile
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

from testkit.running import Pipeline, create_reader, source_of, to_file
from testkit.servers.mysql import MySQLServer

STATES = Path(__file__).parents[1] / "tests" / "data" / "states"
TABLES = """
create table orders (id int primary key, word varchar(20));
create table notes (n int primary key);
insert into orders values (1, 'a'), (2, 'b'), (3, 'c');
insert into notes values (7);
"""


def leave_state(server: MySQLServer, database: str, folder: Path) -> str:
    """What a pipeline keeps behind a snapshot and a change of a definition, with variables for what is the server's.

    Args:
        server: has no database of that name.
        database: is made.
        folder: takes the pipeline.
    """
    server.run_sql(f"create database {database}")
    server.run_sql(TABLES, database=database)
    create_reader(server)
    pipeline = to_file(folder, source_of(server, database), name="old")
    for statement in ("", "alter table notes add column w varchar(9)"):
        if statement:
            server.run_sql(statement, database=database)
        ended = pipeline.run("--once")
        assert ended.code == 0, ended.errors
    return _without_names(_dumped(pipeline), server, database, pipeline)


def _dumped(pipeline: Pipeline) -> str:
    with closing(sqlite3.connect(pipeline.state / "state.db")) as db:
        [number] = db.execute("pragma user_version").fetchone()
        return "".join(f"{line}\n" for line in (*db.iterdump(), f"pragma user_version = {number};"))


def _without_names(text: str, server: MySQLServer, database: str, pipeline: Pipeline) -> str:
    with server.connect() as client, client.cursor() as cursor:
        cursor.execute("show binary log status")
        [log, _, _, _, gtids] = cursor.fetchone()
        cursor.execute("select @@server_uuid, @@server_id")
        [uuid, server_id] = cursor.fetchone()
    names = {"OUT": str(pipeline.output), "GTIDS": gtids.replace("\n", ""), "DATABASE": database, "UUID": uuid}
    names["FILE"] = log
    for name, value in names.items():
        text = text.replace(value, f"@{name}@")
    text = re.sub(rf'("server_id": ?){server_id}\b', r"\1@SERVER_ID@", text)
    return re.sub(r'("pos": ?)\d+', r"\1@POS@", text)


def main() -> None:
    """Writes the file of this version."""
    with MySQLServer() as server, tempfile.TemporaryDirectory() as folder:
        text = leave_state(server, "shop", Path(folder))
    file = STATES / f"release-{version('cdckit')}.sql"
    file.write_text(text)
    print(file)


if __name__ == "__main__":
    main()
