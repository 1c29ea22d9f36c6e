"""Columns that are read again, by this project and by a live Debezium: every event is equal."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path
from random import Random

import pytest
from pymysql.connections import Connection
from pymysql.cursors import Cursor

from differential.both import assert_equal, run_both
from differential.debezium import libraries
from differential.workload import TYPES
from testkit.servers.mysql_family import SQLServer

ROWS = 4
_JUDGED_OTHERWISE = frozenset({"TIME", "BOOLEAN", "TINYINT(1)"})
"""Types that Debezium cannot read so: it stops at a TIME, and every number of TINYINT(1) becomes 0 or 1."""
_KEYS = ("id INT", "id INT, k VARCHAR(20) CHARACTER SET latin1", "id INT, k BIGINT")


class _Forgetful:
    """Rows whose columns are null in the log and have values by the time that it is read."""

    def __init__(self, seed: int, connection: Connection[Cursor]) -> None:
        self._random = Random(seed)
        self._cursor = connection.cursor()
        self._cursor.execute("SET sql_mode = '', time_zone = '+00:00'")
        self._types = [kind for kind in TYPES if not {kind, kind.partition("(")[0]} & _JUDGED_OTHERWISE]

    def set_up(self) -> None:
        """Makes the tables, each of one row."""
        self._cursor.execute("CREATE TABLE marker (id INT PRIMARY KEY)")
        self._cursor.execute("INSERT INTO marker VALUES (0)")
        for number, kind in enumerate(self._types):
            key = self._random.choice(_KEYS)
            names = ", ".join(part.split()[0] for part in key.split(", "))
            self._cursor.execute(f"CREATE TABLE t{number} ({key}, v {kind} NULL, w INT, PRIMARY KEY ({names}))")

    def change(self, steps: int) -> None:
        """Inserts rows without values, and gives them some."""
        for number, kind in enumerate(self._types):
            self._cursor.execute(f"SHOW COLUMNS FROM t{number} LIKE 'k'")
            keyed = self._cursor.fetchone()
            for row in range(steps):
                key = {"k": self._key(keyed[1], row)} if keyed else {}
                names = ", ".join(["id", *key])
                self._cursor.execute(f"INSERT INTO t{number} ({names}) VALUES ({', '.join([str(row), *key.values()])})")
                self._cursor.execute(f"UPDATE t{number} SET w = {row} WHERE id = {row}")
                self._cursor.execute(f"UPDATE t{number} SET v = {TYPES[kind](self._random)} WHERE id = {row}")

    @staticmethod
    def _key(kind: str, row: int) -> str:
        return f"{row << 40}" if kind.lower().startswith("bigint") else f"'é{row}'"

    def end(self) -> None:
        """The mark behind everything."""
        self._cursor.execute("INSERT INTO marker VALUES (1)")


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(3))
def test_every_event_is_equal(
    mysql_server: SQLServer, unique_name: str, tmp_path: Path, seed: int, afterwards: ExitStack
) -> None:
    if libraries() is None:
        pytest.skip("Debezium's jars are missing: pip install 'cdckit[peer]'")
    mysql_server.execute(f"CREATE DATABASE {unique_name} CHARACTER SET utf8mb4")
    afterwards.callback(mysql_server.execute, f"DROP DATABASE {unique_name}")
    with closing(mysql_server.connect(database=unique_name)) as connection:
        workload = _Forgetful(seed, connection)
        workload.set_up()
        (tmp_path / f"{seed}.properties").write_text(_options(mysql_server, unique_name, tmp_path, seed))
        run_both(tmp_path, [workload], ROWS, lambda _: [f"source.database.server.id={830_000 + seed}"])
    assert_equal(tmp_path, seed, more_than=ROWS * len(TYPES))


def _options(server: SQLServer, database: str, folder: Path, seed: int) -> str:
    options = {
        "name": f"engine-{seed}",
        "connector.class": "io.debezium.connector.mysql.MySqlConnector",
        "topic.prefix": f"g{seed}",
        "database.hostname": server.host,
        "database.port": server.port,
        "database.user": "dbz",
        "database.password": "dbz",
        "database.server.id": 730_000 + seed,
        "database.include.list": database,
        "driver.allowPublicKeyRetrieval": "true",
        "errors.max.retries": 0,
        "include.schema.changes": "false",
        "schema.history.internal.store.only.captured.databases.ddl": "true",
        "schema.history.internal": "io.debezium.storage.file.history.FileSchemaHistory",
        "schema.history.internal.file.filename": folder / f"{seed}.history",
        "offset.storage": "org.apache.kafka.connect.storage.FileOffsetBackingStore",
        "offset.storage.file.filename": folder / f"{seed}.offsets",
        "offset.flush.interval.ms": 0,
        "post.processors": "again",
        "again.type": "io.debezium.processors.reselect.ReselectColumnsPostProcessor",
        "again.reselect.columns.include.list": rf"{database}\.t.*:.*",
    }
    return "".join(f"{name}={value}\n" for name, value in options.items())
