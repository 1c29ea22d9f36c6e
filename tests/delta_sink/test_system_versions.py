"""Tables of system-versioned tables of MariaDB: they hold the rows that are there now, as a SELECT shows them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from delta_sink.shop import Shop
from testkit.servers.mariadb import MariaDBServer

PERIOD = (
    "a TIMESTAMP(6) GENERATED ALWAYS AS ROW START, b TIMESTAMP(6) GENERATED ALWAYS AS ROW END,"
    "PERIOD FOR SYSTEM_TIME (a, b)"
)
TABLES = f"""
CREATE TABLE hidden (id INT PRIMARY KEY, v INT, w INT WITHOUT SYSTEM VERSIONING) WITH SYSTEM VERSIONING;
CREATE TABLE named (id INT PRIMARY KEY, v INT, w INT, {PERIOD}) WITH SYSTEM VERSIONING;
CREATE TABLE split (id INT PRIMARY KEY, v INT, w INT) WITH SYSTEM VERSIONING PARTITION BY SYSTEM_TIME LIMIT 5
    (PARTITION p0 HISTORY, PARTITION p1 HISTORY, PARTITION c CURRENT);
"""
NAMES = ["hidden", "named", "split"]
LATER = ["later_hidden", "later_named", "later_split"]


@pytest.fixture(params=["mirror", "changelog", "history"])
def shop(
    mariadb_server: MariaDBServer, unique_name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Shop]:
    """A database on MariaDB with versioned tables that have old versions."""
    shop = Shop(mariadb_server, unique_name, tmp_path, request.param)
    shop.make(TABLES)
    write(shop, NAMES)
    yield shop
    mariadb_server.execute(f"DROP DATABASE {unique_name}")


def write(shop: Shop, names: list[str], first: int = 1) -> None:
    """Writes rows and changes them in every way that leaves an old version."""
    for name in names:
        shop.run(
            f"INSERT INTO {name} (id, v, w) SELECT seq, 0, 0 FROM seq_{first}_to_{first + 9};"
            f"UPDATE {name} SET v = v + 1 WHERE id % 2; UPDATE {name} SET w = 5;"
            f"UPDATE {name} SET id = -id WHERE id = {first};"
            f"DELETE FROM {name} WHERE id % 3 = 0; REPLACE INTO {name} (id, v, w) VALUES ({first + 1}, 7, 7);"
            f"INSERT INTO {name} (id, v, w) VALUES ({first + 1}, 8, 8) ON DUPLICATE KEY UPDATE v = 9;"
            f"INSERT INTO {name} (id, v, w) VALUES ({first + 2}, 1, 1) ON DUPLICATE KEY UPDATE v = 2;"
        )


def test_they_have_the_rows_of_now(shop: Shop) -> None:
    """A snapshot reads no others, and of the log none is told of."""
    shop.deliver()
    write(shop, NAMES, 100)
    shop.run("".join(f"UPDATE {name} SET v = -v; DELETE HISTORY FROM {name};" for name in NAMES))
    shop.run(TABLES.replace("CREATE TABLE ", "CREATE TABLE later_"))
    write(shop, LATER)
    shop.run(
        "DELETE FROM hidden WHERE id < 0; SET system_versioning_alter_history = keep; ALTER TABLE hidden ADD n INT;"
    )
    shop.run("UPDATE hidden SET n = id; ALTER TABLE hidden DROP SYSTEM VERSIONING; DELETE FROM hidden WHERE n > 5;")
    shop.run("ALTER TABLE split DROP PARTITION p0; ALTER TABLE later_split DROP PARTITION p0;")
    shop.deliver()
    shop.assert_equal([*NAMES, *LATER])
