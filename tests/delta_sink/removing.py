"""Tables of a lake that somebody removes by hand, and what a pipeline says that misses them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing

from deltalake import DeltaTable, Schema

from cdckit.engine.state.made_tables import forget
from cdckit.engine.state.sqlite import SqliteStateStore
from delta_sink.shop import Shop
from histories.lakes import IcebergTables
from testkit.running import Ended

ROWS = "CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)"
ONE_MORE = "UPDATE t SET v = v + 10 WHERE id = 2"


def command(shop: Shop, *words: str) -> None:
    """Calls a command of `cdc` for the pipeline."""
    place = 2 if words[0] == "offsets" else 1
    called = [sys.executable, "-m", "cdckit", *words[:place], str(shop.pipeline().written()), *words[place:]]
    subprocess.run(called, check=True, capture_output=True)


def read_again(shop: Shop, *tables: str) -> None:
    """Has tables read again by the next run."""
    command(shop, "resnapshot", *(word for table in tables for word in ("--table", f"{shop.name}.{table}")))


def assert_missed(shop: Shop, ended: Ended, *tables: str) -> None:
    """A run has ended, and names the source tables by which it can go on."""
    assert ended.code == 4, ended.stderr
    assert "CDC4407" in ended.stderr
    for table in tables:
        assert f"--table {shop.name}.{table}" in ended.stderr


def missed(shop: Shop, *tables: str) -> None:
    """The next run ends so."""
    assert_missed(shop, shop.pipeline().run("--once"), *tables)


def missed_while_it_runs(shop: Shop, harm: Callable[[], None]) -> None:
    """A table is harmed behind changes of it and of another one, and is read again in the end."""
    shop.run(ROWS + "; CREATE TABLE other (id INT PRIMARY KEY)")
    with shop.pipeline().running() as process:
        process.wait_until(lambda: shop.lake.names() == {"t"}, "the snapshot")
        shop.run(ONE_MORE)
        shop.run("INSERT INTO other VALUES (1)")
        process.wait_until(lambda: shop.lake.names() == {"t", "other"}, "the stream")
        harm()
        shop.run(ONE_MORE)
        ended = process.ended()
    assert_missed(shop, ended, "t")
    missed(shop, "t")
    read_again(shop, "t")
    shop.deliver()
    shop.assert_equal(["t", "other"])


def remove(shop: Shop, table: str) -> None:
    """As somebody does by hand."""
    lake = shop.lake
    if isinstance(lake, IcebergTables):
        lake.catalog.drop_table(lake.table(table).name())
    else:
        shutil.rmtree(shop.table(table))


def replace_by_another(shop: Shop, table: str, versions: int = 1) -> None:
    """As somebody does who drops a table and makes one of its name and columns, in so many commits."""
    lake = shop.lake
    if isinstance(lake, IcebergTables):
        found = lake.table(table)
        lake.catalog.drop_table(found.name())
        lake.catalog.create_table(found.name(), found.schema())
        return
    columns = DeltaTable(shop.table(table)).schema().to_arrow()
    remove(shop, table)
    DeltaTable.create(shop.table(table), Schema.from_arrow(columns))
    for number in range(versions - 1):
        DeltaTable(shop.table(table)).alter.set_table_properties({"somebody's": str(number)}, raise_if_not_exists=False)


def forget_tables(shop: Shop) -> None:
    """Leaves the state as earlier versions did."""
    with closing(SqliteStateStore(shop.pipeline().state)) as state:
        forget(state)
