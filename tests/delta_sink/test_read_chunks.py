"""A pipeline is killed between a table's commit and the save of its offset: rows that a signal has read come once."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import pytest

from delta_sink.dying import SAVES, WRITES, die
from delta_sink.shop import Shop
from testkit.running import Pipeline, create_reader
from testkit.servers.mysql_family import CAPTURE_PRIVILEGES, SIGNAL_PRIVILEGES

TABLES = ("a", "b")
ROWS = 60
CHUNK = 5
_AT_ONCE = "import cdckit.engine.runners.table_progress as progress; progress._BETWEEN = 0; "
"""Has each batch committed by itself, so that there are many places to die at."""
DEATHS = [
    (SAVES, 1, ""),
    (_AT_ONCE + WRITES, 5, "a"),
    (_AT_ONCE + SAVES, 5, ""),
    (_AT_ONCE + WRITES, 5, "b"),
]


def _made(shop: Shop) -> None:
    create_reader(shop.server, *CAPTURE_PRIVILEGES, *SIGNAL_PRIVILEGES)
    shop.run("CREATE TABLE signals (id VARCHAR(64) PRIMARY KEY, type VARCHAR(32), data VARCHAR(2048));")
    for table in TABLES:
        rows = ", ".join(f"({number}, 'first')" for number in range(0, 2 * ROWS, 2))
        shop.run(f"CREATE TABLE {table} (id INT PRIMARY KEY, v VARCHAR(20)); INSERT INTO {table} VALUES {rows};")


def _pipeline(shop: Shop, **options: object) -> Pipeline:
    return shop.pipeline(
        {"tables.parallel": 1},
        snapshot_mode="no_data",
        signal_data_collection=f"{shop.name}.signals",
        incremental_snapshot_chunk_size=CHUNK,
        **options,
    )


def _signal(shop: Shop, kind: str = "incremental") -> None:
    data = json.dumps({"type": kind, "data-collections": [f"{shop.name}.{table}" for table in TABLES]})
    shop.server.execute(f"INSERT INTO {shop.name}.signals VALUES ('1', 'execute-snapshot', %s)", (data,))


def _change(shop: Shop, number: int) -> None:
    """Rows change everywhere, some come and some go."""
    for table in TABLES:
        shop.run(
            f"UPDATE {table} SET v = 'v{number}' WHERE id % 7 = {number % 7};"
            f"DELETE FROM {table} WHERE id = {number * 16};"
            f"INSERT INTO {table} VALUES ({number * 6 + 1}, 'new');"
        )


def _read_twice(shop: Shop) -> dict[tuple[str, int], int]:
    """The rows that are there more than once as they were read, and how often."""
    rows = [(table, row["id"]) for table in TABLES for row in shop.lake.found(table) if row["__op"] == "r"]
    assert len(rows) > ROWS
    return {row: times for row, times in Counter(rows).items() if times > 1}


@pytest.mark.parametrize(
    ("format", "read_only"),
    [
        ("delta", False),
        pytest.param("delta", True, marks=pytest.mark.nightly),
        pytest.param("iceberg", False, marks=pytest.mark.nightly),
    ],
)
def test_rows_that_were_read_come_once(shop: Shop, format: str, read_only: bool) -> None:
    shop = replace(shop, mode="changelog", format=format)
    _made(shop)
    pipeline = _pipeline(shop, read_only=read_only)
    assert pipeline.run("--once").code == 0
    _signal(shop)
    for number, (where, others, topic) in enumerate(DEATHS):
        _change(shop, number)
        die(pipeline, where, others, topic)
    assert pipeline.run("--once").code == 0
    assert not _read_twice(shop)
    shop.assert_equal(TABLES)


def test_of_tables_that_the_log_waits_for_no_row_is_missing(shop: Shop) -> None:
    """A row goes that came before others of a killed pipeline: these have other places when they are read again."""
    shop = replace(shop, mode="changelog")
    _made(shop)
    pipeline = _pipeline(shop, snapshot_fetch_size=CHUNK)
    assert pipeline.run("--once").code == 0
    _signal(shop, "blocking")
    die(pipeline, _AT_ONCE + WRITES, 0, "a")
    shop.run("".join(f"DELETE FROM {table} WHERE id = 0;" for table in TABLES))
    assert pipeline.run("--once").code == 0
    assert not _read_twice(shop)
    shop.assert_equal(TABLES)
