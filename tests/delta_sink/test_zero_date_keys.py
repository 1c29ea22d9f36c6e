"""Keys with dates that have zeros in them, which events show as 1970-01-01: no row is lost in another's place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable

from delta_sink.shop import Shop
from testkit.servers.mysql_family import SQLServer

MIDNIGHTS = ("0000-00-00", "1970-01-01")
PARTS = ("0000-00-00", "2024-00-00")


@pytest.fixture
def shop(db_server: SQLServer, unique_name: str, tmp_path: Path) -> Iterator[Shop]:
    """A database without tables."""
    shop = Shop(db_server, unique_name, tmp_path)
    shop.make()
    yield shop
    db_server.execute(f"DROP DATABASE {unique_name}")


def _made(shop: Shop, kind: str, *dates: str) -> None:
    shop.run(f"SET sql_mode = ''; CREATE TABLE t (k {kind} PRIMARY KEY, v INT NOT NULL, UNIQUE (v));")
    _insert(shop, *dates)


def _insert(shop: Shop, *dates: str) -> None:
    for date in dates:
        shop.run(f"SET sql_mode = ''; INSERT INTO t SELECT '{date}', COUNT(*) FROM t;")


def _rows(shop: Shop) -> int:
    return int(DeltaTable(shop.table("t")).to_pyarrow_table().num_rows)


@pytest.mark.parametrize(("kind", "dates"), [("DATE", PARTS), ("DATETIME", PARTS), ("DATETIME(6)", MIDNIGHTS)])
def test_two_keys_that_are_shown_alike_stop_the_snapshot(shop: Shop, kind: str, dates: tuple[str, str]) -> None:
    """Another key is the way on."""
    _made(shop, kind, *dates, "2024-02-03")
    ended = shop.pipeline().run("--once")
    assert (ended.code, "t.k is a part of the key" in ended.stderr) == (5, True), ended.stderr
    assert "CDC5108" in ended.stderr
    assert "message.key.columns" in ended.stderr
    ended = shop.pipeline(message_key_columns=f"{shop.name}.t:v").run("--once")
    assert ended.code == 0, ended.stderr
    assert _rows(shop) == 3


@pytest.mark.parametrize(("kind", "dates"), [("DATETIME", PARTS), ("DATE", MIDNIGHTS[::-1]), ("DATETIME(6)", PARTS)])
def test_and_the_log(shop: Shop, kind: str, dates: tuple[str, str]) -> None:
    _made(shop, kind)
    shop.deliver()
    _insert(shop, *dates)
    ended = shop.pipeline().run("--once")
    assert (ended.code, "t.k is a part of the key" in ended.stderr) == (5, True), ended.stderr
    assert "table.exclude.list" in ended.stderr


def test_a_single_one_is_told_of(shop: Shop) -> None:
    """It is the only row that is shown so; a date with a time of its own on 1 January 1970 is another one."""
    _made(shop, "DATETIME", "0000-00-00", "1970-01-01 00:00:01")
    assert "has 0000-00-00, which is shown as" in shop.deliver().stderr
    assert _rows(shop) == 2
    _insert(shop, "1970-01-01 12:00:00")
    shop.run("UPDATE t SET v = 7 WHERE v = 0;")
    assert "has 0000-00-00, which is shown as" in shop.deliver().stderr
    assert _rows(shop) == 3


def test_who_wants_it_has_them_as_one_row(shop: Shop) -> None:
    _made(shop, "DATE", *PARTS)
    ended = shop.pipeline(event_deserialization_failure_handling_mode="warn").run("--once")
    assert (ended.code, "has 2024-00-00, which is shown as" in ended.stderr) == (0, True), ended.stderr
    assert _rows(shop) == 1
