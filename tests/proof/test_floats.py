"""A FLOAT is printed with six digits where rows are read, and has all of them in the log: it is no difference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cdckit.tables.floats import six_digits
from proof.shop import deliver, piped, proved
from testkit.running import Pipeline
from testkit.servers.mysql_family import SQLServer

VALUES = "(1, 3.402823e38), (2, 1.234567), (3, 16777213), (4, -0.1), (5, null), (6, 1.17549435e-38), (7, 2)"


@pytest.mark.parametrize("db_server", ["mysql", "mariadb"], indirect=True)
@pytest.mark.parametrize("kind", ["file", "mirror", "changelog"])
def test_read_and_told_floats_are_equal(db_server: SQLServer, database: str, tmp_path: Path, kind: str) -> None:
    pipeline = _pipeline(db_server, database, tmp_path, kind)
    db_server.execute(f"create table {database}.orders (id int primary key, ratio float, sum double)")
    db_server.execute(f"insert into {database}.orders (id, ratio) values {VALUES}")
    deliver(pipeline)
    db_server.execute(f"insert into {database}.orders select id + 10, ratio, 1.2345678901234567 from {database}.orders")
    deliver(pipeline)
    orders = proved(pipeline)["orders"]
    assert (orders.outcome, orders.rows, orders.differences) == ("equal", 14, ())
    unseen = "update orders set ratio = 1.23458 where id = 12; update orders set ratio = -0.2 where id = 4"
    db_server.run_sql(
        f"set sql_log_bin = 0; use {database}; {unseen}; update orders set sum = 1.2345678901234565 where id = 11"
    )
    found = {one.key: one.columns for one in proved(pipeline)["orders"].differences}
    assert found == {'{"id":12}': ("ratio",), '{"id":4}': ("ratio",), '{"id":11}': ("sum",)}


@pytest.mark.parametrize("kind", ["file", "mirror", "changelog"])
def test_large_doubles_in_documents_are_equal(db_server: SQLServer, database: str, tmp_path: Path, kind: str) -> None:
    """Servers print them with a point or an exponent, the log has all their digits."""
    pipeline = _pipeline(db_server, database, tmp_path, kind)
    db_server.execute(f"create table {database}.orders (id int primary key, d json)")
    documents = "(1, '[1e8, -1e20, 1e16, 2.5, 3.0]'), (2, '1e9')"
    db_server.execute(f"insert into {database}.orders values {documents}")
    deliver(pipeline)
    db_server.execute(f"insert into {database}.orders select id + 10, d from {database}.orders")
    deliver(pipeline)
    orders = proved(pipeline)["orders"]
    assert (orders.outcome, orders.rows, orders.differences) == ("equal", 4, ())
    db_server.run_sql(f"set sql_log_bin = 0; update {database}.orders set d = '1000000001' where id = 12")
    assert {one.key for one in proved(pipeline)["orders"].differences} == {'{"id":12}'}


def _pipeline(server: SQLServer, database: str, folder: Path, kind: str) -> Pipeline:
    sinks: dict[str, dict[str, Any]] = {
        "file": {"type": "file", "path": str(folder / "out.jsonl")},
        "mirror": {"type": "delta", "path": str(folder / "lake"), "mode": "mirror"},
        "changelog": {"type": "delta", "path": str(folder / "lake"), "mode": "changelog"},
    }
    return piped(server, database, folder, sinks[kind], {"runner": "direct"})


@pytest.mark.parametrize(
    ("number", "digits"),
    [(1.234567, "1.23457"), (3.402823e38, "3.40282e+38"), (16777213.0, "1.67772e+07"), (-0.1, "-0.1"), (0.0, "0")],
)
def test_the_digits_are_those_of_the_number_that_was_printed(number: float, digits: str) -> None:
    assert six_digits(number) == digits == six_digits(float(digits))
