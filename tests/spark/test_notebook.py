"""The notebook among the examples: its cells are run in their order, as they stand there."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark.own_rows import pipeline_file, with_orders
from spark.pages import cells_of, notebook
from testkit.servers.mysql import MySQLServer

pytestmark = pytest.mark.timeout(600)

NAME = "mirror.ipynb"


@pytest.fixture
def shop(mysql_server: MySQLServer, unique_name: str) -> Iterator[str]:
    """A database with a table of two orders."""
    with with_orders(mysql_server, unique_name, "DECIMAL(8,2)", "(1, 1.50), (2, 250)") as name:
        yield name


def test_a_notebook_is_kept_without_what_it_has_shown() -> None:
    kept = notebook(NAME)
    assert (kept["nbformat"], kept["nbformat_minor"]) == (4, 5)
    names = [cell["id"] for cell in kept["cells"]]
    assert len(set(names)) == len(names)
    code = [cell for cell in kept["cells"] if cell["cell_type"] == "code"]
    assert [(cell["outputs"], cell["execution_count"]) for cell in code] == [([], None)] * len(code)


@pytest.mark.spark
def test_its_cells_read_a_table_and_keep_a_mirror_of_it(
    session: SparkSession, mysql_server: MySQLServer, shop: str, tmp_path: Path
) -> None:
    told = {
        "/etc/cdc/shop.yaml": str(pipeline_file(mysql_server, shop, tmp_path)), "shop.orders": f"{shop}.orders",
        "/data/lake": str(tmp_path / "lake"),
    }  # fmt: skip
    cells, names = cells_of(NAME, told), dict[str, Any]()

    def run(*programs: str) -> list[tuple[Any, ...]]:
        for program in programs:
            exec(compile(program, NAME, "exec"), names)
        return sorted(tuple(row) for row in names["mirrored"].collect())

    assert run(*cells) == [(1, Decimal("1.50")), (2, 250)]
    assert names["spark"] is session
    assert sorted(tuple(row)[:3] for row in names["rows"].collect()) == [(1, Decimal("1.50"), "r"), (2, 250, "r")]
    mysql_server.run_sql(
        f"UPDATE {shop}.orders SET price = 9 WHERE id = 1; DELETE FROM {shop}.orders WHERE id = 2;"
        f"INSERT INTO {shop}.orders VALUES (3, 3)"
    )
    assert run(*cells[-3:]) == [(1, 9), (3, 3)]
