"""Another server of the topology takes over: by GTID reading goes on, and positions still sort."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cdckit import plain
from cdckit.api.batch import Batch
from cdckit.api.record import Record
from cdckit.errors import SourceError
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.server.asked_server import AskedServer
from cdckit_mysql.streaming.retention import why_lost
from mysql.capture import Capture, changes, config_for
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import SQLServer
from testkit.topology import alone, detach, executed, has, wait_until

Pair = tuple[SQLServer, SQLServer]


@pytest.fixture(params=[MySQLServer, MariaDBServer])
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """A primary with a table, and its replica, whose log files have other names and sizes."""
    kind: type[SQLServer] = request.param
    with kind() as primary, kind() as replica:
        replica.restart(
            server_id=4242,
            log_bin="other",
            **{"log_replica_updates": True} if kind is MySQLServer else {"log_slave_updates": True},
        )
        for server in (primary, replica):
            server.create_user("dbz", "dbz")
        replica.execute("FLUSH LOGS")
        _replicate(primary, replica)
        primary.run_sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1);")
        yield primary, replica


def _replicate(primary: SQLServer, replica: SQLServer) -> None:
    if isinstance(primary, MariaDBServer):
        replica.execute(
            f"CHANGE MASTER TO MASTER_HOST = '{primary.host}', MASTER_PORT = {primary.port}, "
            "MASTER_USER = 'dbz', MASTER_PASSWORD = 'dbz', MASTER_USE_GTID = slave_pos"
        )
        replica.execute("START SLAVE")
        return
    replica.execute(
        f"CHANGE REPLICATION SOURCE TO SOURCE_HOST = '{primary.host}', SOURCE_PORT = {primary.port}, "
        "SOURCE_USER = 'dbz', SOURCE_PASSWORD = 'dbz', SOURCE_AUTO_POSITION = 1, SOURCE_SSL = 1"
    )
    replica.execute("START REPLICA")


def _wait_for(replica: SQLServer, number: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if replica.execute("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'd'") != ((0,),) and (
            replica.execute("SELECT MAX(id) FROM d.t") == ((number,),)
        ):
            return
        time.sleep(0.05)
    raise AssertionError(f"the replica never got row {number}")


@pytest.mark.parametrize("way", ["once", "parallel"])
def test_reading_goes_on_at_the_replica(pair: Pair, tmp_path: Path, way: str, caplog: pytest.LogCaptureFixture) -> None:
    primary, replica = pair
    with Capture(config_for(primary), tmp_path).closing() as reading:
        found = reading.once()
        primary.run_sql("INSERT INTO d.t VALUES (2); ALTER TABLE d.t ADD v INT; INSERT INTO d.t VALUES (3, 30);")
        found += reading.once()
    primary.run_sql("INSERT INTO d.t VALUES (4, 40); ALTER TABLE d.t DROP v; INSERT INTO d.t VALUES (5);")
    _wait_for(replica, 5)
    with Capture(config_for(replica), tmp_path).closing() as reading:
        if way == "once":
            found += reading.once()
        else:
            found += [record for part in reading.parallel(2) for record in part]
        replica.run_sql("INSERT INTO d.t VALUES (6);")
        found += reading.once()
    assert changes(found) == [
        ("r", "t", None, (1,)),
        ("c", "t", None, (2,)),
        ("c", "t", None, (3, 30)),
        ("c", "t", None, (4, 40)),
        ("c", "t", None, (5,)),
        ("c", "t", None, (6,)),
    ]
    positions = [record.position for record in found]
    assert positions == sorted(set(positions))
    assert "going on there by GTID" in caplog.text


TRANSACTION = f"""
BEGIN; INSERT INTO d.u VALUES (0, 'of another one'); COMMIT;
BEGIN; INSERT INTO d.t VALUES (10), (11), (12), (13), (14); DELETE FROM d.t WHERE id IN (11, 13);
INSERT INTO d.u VALUES (1, '{"x" * 200}'), (2, '{"y" * 200}'), (3, '{"z" * 200}');
UPDATE d.t SET id = id + 100 WHERE id = 14; UPDATE d.u SET v = 'u'; INSERT INTO d.t VALUES (999); COMMIT;
"""
LAST = ("c", "t", None, (999,))


def test_the_rest_of_a_transaction_comes_from_the_replica(pair: Pair, tmp_path: Path) -> None:
    """Each of its rows comes once, wherever reading was interrupted, though the replica logs them in other events."""
    primary, replica = pair
    updates = {"log_replica_updates": True} if isinstance(replica, MySQLServer) else {"log_slave_updates": True}
    replica.restart(server_id=4242, log_bin="other", binlog_row_event_max_size=256, **updates)
    primary.run_sql("CREATE TABLE d.u (id INT PRIMARY KEY, v VARCHAR(300))")
    with Capture(config_for(primary, max_batch_size=1), tmp_path).closing() as reading:
        reading.once()
        primary.run_sql(TRANSACTION)
        first = _batches(reading)
    _wait_for(replica, 999)
    whole = changes(_records(first))
    for number, batch in enumerate(first[:-1], 1):
        found = _records(first[:number])
        with Capture(config_for(replica, max_batch_size=1), tmp_path).closing() as reading:
            reading.keep(batch.offset)
            second = _batches(reading)
            assert changes(found + _records(second)) == whole, f"interrupted behind {number} batches"
            reading.keep(second[len(second) // 2].offset)
        found += _records(second[: len(second) // 2 + 1])
        for server in (replica, primary):
            with Capture(config_for(server), tmp_path).closing() as reading:
                rest = [] if LAST in changes(found) else _records(_batches(reading))
            assert changes(found + rest) == whole, f"interrupted behind {number} batches, and once more"
            positions = [record.position for record in found + rest]
            assert positions == sorted(set(positions))
    assert len(first) > 5, "batches end within the transaction"


def test_what_was_begun_is_known_at_the_replica(pair: Pair, tmp_path: Path) -> None:
    """Of each record that comes again there it is said which batches hold it, wherever these ended."""
    primary, replica = pair
    updates = {"log_replica_updates": True} if isinstance(replica, MySQLServer) else {"log_slave_updates": True}
    replica.restart(server_id=4242, log_bin="other", binlog_row_event_max_size=256, **updates)
    primary.run_sql("CREATE TABLE d.u (id INT PRIMARY KEY, v VARCHAR(300))")
    wait_until(lambda: has(replica, executed(primary)), "the end of the replica's lag")
    alone(replica, "CREATE TABLE d.own (id INT PRIMARY KEY); INSERT INTO d.own VALUES (1);")
    options = {"provide_transaction_metadata": True, "max_batch_size": 1}
    with Capture(config_for(primary, **options), tmp_path).closing() as reading:
        reading.once()
        primary.run_sql(f"{TRANSACTION} ALTER TABLE d.t ADD v INT; BEGIN; INSERT INTO d.u VALUES (9, 'nine'); COMMIT;")
        first = _batches(reading, ("c", "u", None, (9, "nine")))
    _wait_for(replica, 999)
    for known in range(0, len(first) - 2, 3):
        with Capture(config_for(replica, **options), tmp_path).closing() as reading:
            if known:
                reading.keep(first[known - 1].offset)
            ends = {number: batch.offset for number, batch in enumerate(first[known:]) if batch.offset is not None}
            reading.source.begun(ends)
            assert isinstance(ends[0], dict)
            again = _batches(reading, ("c", "u", None, (9, "nine")))
        held = {place: numbers for batch in again if batch.begun for place, numbers in batch.begun.held.items()}
        for number in ends:
            before = _records(first[known : known + number + 1])
            found = [record for record in _records(again) if number in held.get(record.position, ())]
            assert _told(found) == _told(before), f"from {known} to {number}"
        ended = [batch.begun.ended for batch in again if batch.begun]
        assert ended == [*([False] * (len(ended) - 1)), True]


def test_a_replica_without_what_it_leaves_out_is_read(pair: Pair, tmp_path: Path) -> None:
    """A batch that was begun may end with a transaction of a database that the replica does not have."""
    primary, replica = pair
    primary.run_sql("CREATE DATABASE other; CREATE TABLE other.t (id INT PRIMARY KEY);")
    wait_until(lambda: has(replica, executed(primary)), "the end of the replica's lag")
    updates = {"log_replica_updates": True} if isinstance(replica, MySQLServer) else {"log_slave_updates": True}
    replica.restart(server_id=4242, log_bin="other", replicate_ignore_db="other", **updates)
    with Capture(config_for(primary, database_include_list="d"), tmp_path).closing() as reading:
        reading.once()
        saved = reading.offset()
        primary.run_sql("INSERT INTO d.t VALUES (2); INSERT INTO other.t VALUES (1);")
        found = reading.once()
        end = reading.offset()
        reading.keep(saved)
    primary.run_sql("INSERT INTO d.t VALUES (3);")
    _wait_for(replica, 3)
    assert replica.execute("SELECT * FROM other.t") == ()
    with Capture(config_for(replica, database_include_list="d"), tmp_path).closing() as reading:
        reading.source.begun({1: end})
        again = _batches(reading, ("c", "t", None, (3,)))
    assert changes(_records(again)) == [*changes(found), ("c", "t", None, (3,))]
    held = {place for batch in again if batch.begun for place in batch.begun.held}
    assert held == {_records(again)[0].position}
    assert [batch.begun.ended for batch in again if batch.begun][-1]


@pytest.mark.parametrize("way", ["saved", "begun"])
def test_a_transaction_that_died_in_part_is_told(pair: Pair, tmp_path: Path, way: str) -> None:
    """What was told of it cannot be taken back: the replica that lacks it is not read, though the offset has it not."""
    primary, replica = pair
    primary.run_sql("CREATE TABLE d.u (id INT PRIMARY KEY, v VARCHAR(300))")
    with Capture(config_for(primary, max_batch_size=1), tmp_path).closing() as reading:
        reading.once()
        saved = reading.offset()
        _wait_for(replica, 1)
        wait_until(lambda: has(replica, executed(primary)), "the end of the replica's lag")
        detach(replica)
        primary.run_sql(TRANSACTION.partition("COMMIT;")[2])
        part = next(batch.offset for batch in _batches(reading) if batch.offset and "cdckit_told" in batch.offset)
        reading.keep(part if way == "saved" else saved)
    with Capture(config_for(replica), tmp_path).closing() as reading:
        reading.source.begun({7: part} if way == "begun" else {})
        with pytest.raises(SourceError, match=r"does not have|lacks"), reading.following() as batches:
            next(iter(batches))


def _change(record: Record) -> tuple[Any, ...] | None:
    """What a record says of a row, if it is of one."""
    return None if record.topic.endswith(".transaction") else changes([record])[0]


def _told(records: Iterable[Record]) -> list[str]:
    """What records say, without where they stand in a server's log."""
    return [f"{record.topic} {_said(record)}" for record in records]


def _said(record: Record) -> Any:
    value = {} if record.value is None else plain(record.value)
    return {name: said for name, said in value.items() if name not in ("source", "ts_ms", "ts_us", "ts_ns")}


def _records(batches: Iterable[Batch]) -> list[Record]:
    return [record for batch in batches for record in batch.records]


def _batches(reading: Capture, last: tuple[Any, ...] = LAST) -> list[Batch]:
    """The log from the kept offset on, up to the last change."""
    found = []
    with reading.following() as batches:
        for batch in batches:
            found.append(batch)
            if any(_change(record) == last for record in batch.records):
                return found
    raise AssertionError("the log has ended")


def test_a_place_that_only_transactions_tell_is_not_lost(db_server: SQLServer, tmp_path: Path) -> None:
    """As the first one is at a server that was gone over to, before that has named a file."""
    with Capture(config_for(db_server, snapshot_mode="no_data"), tmp_path).closing() as reading:
        reading.once()
        asked = AskedServer(reading.config)
        server, connection = asked.ready()
        at = LogOffset.from_json(reading.offset()).with_changes(file="", pos=0)
        assert why_lost(connection, server, at, reading.config) is None
        asked.close()
