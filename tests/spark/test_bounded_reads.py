"""The options `from` and `to`: what was changed between two places of the log."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cdckit.api.record import Offset
from cdckit.engine.spark.bounds import place_of
from cdckit.engine.spark.failures import WorkerError
from spark.own_rows import Stream, moment, number, own_options, read_rows
from testkit.servers.mongodb import MongoReplicaSet
from testkit.servers.mysql import MySQLServer


@pytest.fixture
def shop(mysql_server: MySQLServer, unique_name: str) -> Iterator[str]:
    """A database with an empty table."""
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}; CREATE TABLE {unique_name}.orders (id INT PRIMARY KEY)")
    yield unique_name
    mysql_server.run_sql(f"DROP DATABASE {unique_name}")


def added(server: MySQLServer, shop: str, *numbers: int) -> None:
    """Each order by a transaction of its own."""
    for one in numbers:
        server.run_sql(f"INSERT INTO {shop}.orders VALUES ({one})")


def between(server: MySQLServer, shop: str, state: Path, **bounds: object) -> list[int]:
    """The orders that a reading of the log finds."""
    options = own_options(server, shop, state, table=f"{shop}.orders", **bounds)
    return [row["id"] for row in read_rows(options)]


def places(server: MySQLServer, shop: str, state: Path) -> list[Offset]:
    """Where a query stood before orders 1 and 2, and behind them; two more follow."""
    with Stream(own_options(server, shop, state, table=f"{shop}.orders")) as stream:
        found = []
        for numbers in ((0,), (1, 2), (3, 4)):
            added(server, shop, *numbers)
            stream.batch()
            found.append(stream.at)
    return found


def test_an_offset_is_behind_what_it_tells_to_be_read(mysql_server: MySQLServer, shop: str, tmp_path: Path) -> None:
    first, second, third = (json.dumps(place) for place in places(mysql_server, shop, tmp_path / "query"))
    added(mysql_server, shop, 5)
    new = iter(tmp_path / f"new-{n}" for n in range(9))
    assert between(mysql_server, shop, next(new), **{"from": first, "to": second}) == [1, 2]
    assert between(mysql_server, shop, next(new), **{"from": second, "to": third}) == [3, 4]
    assert between(mysql_server, shop, next(new), **{"from": second}) == [3, 4, 5]
    assert between(mysql_server, shop, next(new), **{"from": second, "to": second}) == []
    assert between(mysql_server, shop, next(new), **{"from": second, "to": first}) == []
    for option, place in (("to", first), ("from", '{"file": "binlog.999999", "pos": 4}')):
        with pytest.raises(WorkerError):
            between(mysql_server, shop, next(new), **{option: place})


def test_a_time_is_before_what_was_committed_then(mysql_server: MySQLServer, shop: str, tmp_path: Path) -> None:
    added(mysql_server, shop, 1)
    noon = moment()
    added(mysql_server, shop, 2)
    moment()  # 2 and 3 are told apart by it
    added(mysql_server, shop, 3)
    mysql_server.run_sql("FLUSH BINARY LOGS")
    evening = moment()
    added(mysql_server, shop, 4)
    new = iter(tmp_path / f"new-{n}" for n in range(9))
    assert between(mysql_server, shop, next(new), **{"from": noon.isoformat(), "to": evening.isoformat()}) == [2, 3]
    assert between(mysql_server, shop, next(new), **{"from": evening.isoformat()}) == [4]
    assert between(mysql_server, shop, next(new), **{"from": evening.isoformat(), "to": "2999-01-01"}) == [4]
    assert between(mysql_server, shop, next(new), **{"from": "2999-01-01"}) == []
    for ancient in ("0001-01-01", "1969-12-31T23:59:59.999Z"):
        assert between(mysql_server, shop, next(new), **{"from": evening.isoformat(), "to": ancient}) == []
    # A change that was committed in the very millisecond belongs to what begins there.
    rows = read_rows(own_options(mysql_server, shop, next(new), table=f"{shop}.orders", **{"from": noon.isoformat()}))
    third = rows[1]["_ts"].isoformat()
    assert between(mysql_server, shop, next(new), **{"from": third}) == [3, 4]
    assert between(mysql_server, shop, next(new), **{"from": noon.isoformat(), "to": third}) == [2]


def test_a_position_is_behind_its_row(mysql_server: MySQLServer, shop: str, tmp_path: Path) -> None:
    noon = moment()
    mysql_server.run_sql(f"INSERT INTO {shop}.orders VALUES (1), (2), (3); INSERT INTO {shop}.orders VALUES (4)")
    mysql_server.run_sql("FLUSH BINARY LOGS")
    added(mysql_server, shop, 5)
    options = own_options(mysql_server, shop, tmp_path, table=f"{shop}.orders", **{"from": noon.isoformat()})
    places = {row["id"]: row["_position"] for row in read_rows(options)}
    for first, last in ((1, 2), (2, 4), (2, 5), (3, 4), (4, 5), (5, 5)):
        bounds = {"from": places[first], "to": places[last]}
        assert between(mysql_server, shop, tmp_path, **bounds) == [*range(first + 1, last + 1)]
    assert between(mysql_server, shop, tmp_path, **{"from": places[4]}) == [5]
    with pytest.raises(WorkerError, match="does not reach back to file number 7000000") as failure:
        between(mysql_server, shop, tmp_path, **{"from": f"0000-0007000000{places[1][15:]}"})
    assert number(failure) == "CDC3101"


def test_a_stream_may_begin_at_a_place(mysql_server: MySQLServer, shop: str, tmp_path: Path) -> None:
    added(mysql_server, shop, 1)
    noon = moment()
    added(mysql_server, shop, 2)
    options = own_options(mysql_server, shop, tmp_path, table=f"{shop}.orders", **{"from": noon.isoformat()})
    with Stream(options) as stream:
        assert [(row["_op"], row["id"]) for row in stream.batch()] == [("c", 2)]


def test_a_time_to_come_is_the_end_of_the_log_as_it_is(mysql_server: MySQLServer, shop: str, tmp_path: Path) -> None:
    added(mysql_server, shop, 1)
    options = own_options(mysql_server, shop, tmp_path, table=f"{shop}.orders", **{"from": "2999-01-01"})
    with Stream(options) as stream:
        added(mysql_server, shop, 2)
        assert [row["id"] for row in stream.batch()] == [2]


@pytest.mark.parametrize(("text", "ms"), [
    ("1970-01-01", 0), ("0001-01-01", 0), ("2026-01-31T00:00:00.1239Z", 1769817600123),
    ("2039-05-08T06:26:45.627Z", 2188448805627), ("2026-01-31T02:00:00.123+02:00", 1769817600123),
])  # fmt: skip
def test_times_are_exact_to_the_millisecond(text: str, ms: int) -> None:
    assert place_of(text) == ms


def test_messages_are_bounded_too(mysql_server: MySQLServer, shop: str, tmp_path: Path) -> None:
    noon = moment()
    added(mysql_server, shop, 1)
    source = own_options(mysql_server, shop, tmp_path, **{"from": noon.isoformat()})
    from cdckit.spark import CdckitDataSource

    reader = CdckitDataSource(source).reader(None)  # type: ignore[arg-type]
    rows = [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]
    assert [json.loads(row["key"])["payload"] for row in rows if row["topic"].endswith(".orders")] == [{"id": 1}]


def test_definitions_that_have_changed_since_are_wanted_of_the_state(
    mysql_server: MySQLServer, shop: str, tmp_path: Path
) -> None:
    options = own_options(mysql_server, shop, tmp_path / "query", table=f"{shop}.orders")
    with Stream(options) as stream:
        stream.batch()
        begin = json.dumps(stream.at)
        added(mysql_server, shop, 1)
        mysql_server.run_sql(f"ALTER TABLE {shop}.orders ADD COLUMN note TEXT")
    with pytest.raises(WorkerError, match="name a state that knows them") as failure:
        between(mysql_server, shop, tmp_path / "new", **{"from": begin})
    assert number(failure) == "CDC3501"
    assert between(mysql_server, shop, tmp_path / "query", **{"from": begin}) == [1]


@pytest.mark.parametrize(("bounds", "numbered", "said"), [
    ({"from": "yesterday"}, "CDC2505", "from: should be an offset, as `cdc offsets show` prints it, a row's pos"),
    ({"from": "{}"}, "CDC2505", "from: `file` and `pos` say where"),
    ({"to": "2999-01-01"}, "CDC2505", "to: the reading would begin with a snapshot"),
    ({"from": '{"file": "binlog.000000", "pos": 4}'}, "CDC3101", "no longer has log file binlog.000000"),
    ({"from": "now", "to": '{"file": "binlog.999999", "pos": 4}'}, "CDC2505", "to: this offset lies behind"),
    ({"from": "now", "to": '{"file": "binlog.000001", "pos": 400, "event": 2}'}, "CDC2505", "up to just this"),
])  # fmt: skip
def test_places_that_cannot_be_are_refused(
    mysql_server: MySQLServer, shop: str, tmp_path: Path, bounds: dict[str, Any], numbered: str, said: str
) -> None:
    if bounds.get("from") == "now":
        bounds = {**bounds, "from": moment().isoformat()}
    with pytest.raises(WorkerError, match=said) as failure:
        between(mysql_server, shop, tmp_path, **bounds)
    assert number(failure) == numbered


def test_a_time_that_is_purged_is_refused(unique_name: str, tmp_path: Path) -> None:
    with MySQLServer() as server:
        server.create_user("dbz", "dbz")
        server.run_sql(f"CREATE DATABASE {unique_name}; CREATE TABLE {unique_name}.orders (id INT PRIMARY KEY)")
        noon = moment()
        added(server, unique_name, 1)
        time.sleep(1)  # files tell their age to the second
        server.run_sql("FLUSH BINARY LOGS")
        [(file, *_)] = server.execute("SHOW BINARY LOG STATUS")
        server.run_sql(f"PURGE BINARY LOGS TO '{file}'")
        with pytest.raises(WorkerError, match=f"its oldest file, {file}, was begun later") as failure:
            between(server, unique_name, tmp_path, **{"from": noon.isoformat()})
        assert number(failure) == "CDC3101"


def test_collections_are_bounded_by_seconds(mongo: MongoReplicaSet, unique_name: str, tmp_path: Path) -> None:
    options = {
        "source.type": "mongodb", "source.mongodb.connection.string": mongo.uri, "source.topic.prefix": "m",
        "source.database.include.list": unique_name, "table": f"{unique_name}.people",
    }  # fmt: skip
    with mongo.client() as client:
        people = client[unique_name].people
        times = []
        for one in range(3):
            people.insert_one({"_id": one})
            time.sleep(1.1)
            times.append(datetime.now(UTC).replace(microsecond=0).isoformat())
            time.sleep(0.1)
        bounds = {"from": times[0], "to": times[1]}
        found = read_rows({**options, **bounds, "state": str(tmp_path / "a")})
        assert [(row["_op"], row["id"]) for row in found] == [("c", "1")]
        after = {"from": found[0]["_position"], "state": str(tmp_path / "c")}
        assert [row["id"] for row in read_rows({**options, **after})] == ["2"]
        found = read_rows({**options, "from": times[1], "state": str(tmp_path / "b")})
        assert [row["id"] for row in found] == ["2"]
        client.drop_database(unique_name)
