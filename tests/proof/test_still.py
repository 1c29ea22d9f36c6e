"""`cdc diff` of a pipeline that stands still on a server that does not: others write there, and its own state."""

from __future__ import annotations

from pathlib import Path

import pytest

from mysql.state.places import make_user, options_of
from proof.shop import deliver, fill, proved, to_file
from testkit.servers.mysql_family import SQLServer


@pytest.mark.parametrize("db_server", ["mysql", pytest.param("mariadb", marks=pytest.mark.nightly)], indirect=True)
def test_what_others_write_is_not_waited_for(db_server: SQLServer, database: str, tmp_path: Path) -> None:
    kept = f"{database}_state"
    db_server.execute(f"create database {kept}")
    make_user(db_server, kept)
    fill(db_server, database, 30)
    pipeline = to_file(db_server, database, tmp_path)
    pipeline.others["state"] = {"type": "sql", **options_of(db_server, kept)}  # type: ignore[index]
    deliver(pipeline)
    db_server.execute(f"update {database}.orders set name = 'once more' where id = 3")
    deliver(pipeline)
    orders = proved(pipeline)["orders"]
    assert (orders.outcome, orders.note, orders.rows) == ("equal", "", 30)
    db_server.execute(f"update {database}.orders set name = 'unread' where id = 3")
    orders = proved(pipeline)["orders"]
    assert (orders.outcome, "does not run" in orders.note) == ("undecided", True)
    deliver(pipeline)
    db_server.execute(f"alter table {database}.orders add column more int")
    assert proved(pipeline)["orders"].outcome == "undecided"
    db_server.execute(f"drop database {kept}")
