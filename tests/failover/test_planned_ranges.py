"""A range of the log that was planned at one server, and is read at another one of the topology."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cdckit.api.record import Offset, Record
from cdckit.api.source import SourceContext, Split
from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit.errors import RetriableSourceError, SourceError
from cdckit_mysql.binlog.rows_event import RowsEvent
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.source import MySqlSource
from cdckit_mysql.streaming.opened_log import OpenedLog
from cdckit_mysql.streaming.opening import LogOpener
from mysql.capture import Capture, changes, config_for, read_elsewhere
from testkit.running import PASSWORD, USER
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import SQLServer
from testkit.servers.proxy import MovingAddress
from testkit.topology import Topology, alone, topology, wait_until

Change = tuple[Any, ...]


@pytest.fixture(scope="module", params=[MySQLServer, MariaDBServer], ids=["mysql", "mariadb"])
def three(request: pytest.FixtureRequest) -> Iterator[Topology]:
    """Servers of which one replica has transactions of its own and is five files ahead."""
    with topology(request.param) as made:
        made.wait_for_replicas()
        replica = made.replicas[0]
        alone(replica, "CREATE DATABASE own; CREATE TABLE own.t (id INT PRIMARY KEY); INSERT INTO own.t VALUES (1)")
        replica.run_sql("FLUSH LOGS;" * 5)
        yield made


@pytest.fixture
def table(three: Topology, unique_name: str) -> str:
    """A table with one row."""
    three.primary.run_sql(
        f"CREATE DATABASE {unique_name}; CREATE TABLE {unique_name}.t (id INT PRIMARY KEY);"
        f"INSERT INTO {unique_name}.t VALUES (1)"
    )
    return f"{unique_name}.t"


def _capture(server: SQLServer, table: str, folder: Path, **options: Any) -> Capture:
    return Capture(_capture_config(server, table, **options), folder)


def _capture_config(server: SQLServer, table: str, **options: Any) -> MySqlConfig:
    options = {"database_include_list": f"{table.partition('.')[0]},own", **options}
    return config_for(server, database_user=USER, database_password=PASSWORD, **options)


def _planned(three: Topology, table: str, folder: Path) -> tuple[Offset, Offset, list[Change]]:
    """A range planned at the primary, and what is in it; the replicas get it, one of them among others."""
    database = table.partition(".")[0]
    with _capture(three.primary, table, folder, database_include_list=database).closing() as reading:
        reading.once()
        start = reading.offset()
        three.primary.run_sql(f"INSERT INTO {table} VALUES (2); INSERT INTO {table} VALUES (3)")
        three.wait_for_replicas()
        alone(three.replicas[0], "REPLACE INTO own.t VALUES (2)")
        three.primary.run_sql(
            f"ALTER TABLE {table} ADD v INT; UPDATE {table} SET v = 1 WHERE id = 2; INSERT INTO {table} VALUES (4, 4)"
        )
        three.wait_for_replicas()
        alone(three.replicas[0], "REPLACE INTO own.t VALUES (3); FLUSH LOGS")
        three.primary.run_sql(f"INSERT INTO {table} VALUES (5, 5)")
        end = reading.source.latest_offset(start)
    three.primary.run_sql(f"INSERT INTO {table} VALUES (6, 6)")
    three.wait_for_replicas()
    planned = [
        ("c", "t", None, (2,)),
        ("c", "t", None, (3,)),
        ("u", "t", (2, None), (2, 1)),
        ("c", "t", None, (4, 4)),
        ("c", "t", None, (5, 5)),
    ]
    return start, end, planned


def _parallel(reading: Capture, start: Offset, end: Offset) -> list[Record]:
    splits = reading.source.plan(start, end, 3)
    return [record for split in splits for record in read_elsewhere(reading.config, split)]


def _bounded(reading: Capture, start: Offset, end: Offset) -> list[Record]:
    [split] = reading.source.plan(start, None)
    [split] = reading.source.bounded(split, end)
    batches = list(reading.source.read(split))
    assert [batch.offset for batch in batches if batch.offset is not None] == [end]
    return [record for batch in batches for record in batch.records]


@pytest.mark.parametrize("read", [_parallel, _bounded])
@pytest.mark.parametrize("number", [0, 1], ids=["with transactions of its own", "without"])
def test_a_range_is_the_same_at_every_server(
    three: Topology, table: str, tmp_path: Path, number: int, read: Any
) -> None:
    start, end, planned = _planned(three, table, tmp_path)
    with _capture(three.replicas[number], table, tmp_path).closing() as reading:
        first = read(reading, start, end)
        assert changes(first) == planned
        assert changes(read(reading, start, end)) == planned, "once more"
        reading.keep(end)
        rest = [record for part in reading.parallel(2) for record in part]
    assert ("c", "t", None, (6, 6)) in changes(rest)
    own = [change for change in changes(rest) if change != ("c", "t", None, (6, 6))]
    assert all(len(change[3] or change[2]) == 1 for change in own), "of the replica's own table"
    assert bool(own) == (number == 0)
    for found in (first, rest):
        positions = [record.position for record in found]
        assert positions == sorted(set(positions))


@pytest.mark.parametrize("number", [0, 1], ids=["with transactions of its own", "without"])
def test_a_range_is_the_same_in_another_servers_files(three: Topology, table: str, tmp_path: Path, number: int) -> None:
    """Archived logs of the server that has taken over, in place of those of the one that died."""
    start, end, planned = _planned(three, table, tmp_path)
    replica = three.replicas[number]
    files = str(replica.datadir / f"{replica.execute('SELECT @@log_bin_basename')[0][0].rpartition('/')[2]}.0*")
    config = _capture_config(replica, table, binlog_files=files)
    state = SqliteStateStore(tmp_path)
    with closing(state), closing(MySqlSource(config)) as source:
        source.open(SourceContext("p", state))
        for _ in range(2):
            assert changes(_read(config, source.plan(start, end, 3))) == planned
        last = source.latest_offset(end)
        rest = _read(config, source.plan(end, last, 3))
        assert source.latest_offset(last)["gtids"] == last["gtids"]  # MariaDB may note a checkpoint meanwhile
    mine = [change for change in changes(rest) if change == ("c", "t", None, (6, 6))]
    assert len(mine) == 1
    assert bool(len(rest) - 1) == (number == 0), "the replica's own transactions"
    positions = [record.position for record in rest]
    assert positions == sorted(set(positions))


def _read(config: MySqlConfig, splits: Sequence[Split]) -> list[Record]:
    """What is in splits, as other processes read them."""
    found: list[Record] = []
    for split in splits:
        reader = MySqlSource(pickle.loads(pickle.dumps(config)))
        reader.open(SourceContext("p"))
        carried: Split = pickle.loads(pickle.dumps(split))
        found += [record for batch in reader.read(carried) for record in batch.records]
    return found


def test_going_on_at_a_third_server(three: Topology, table: str, tmp_path: Path) -> None:
    """A range replayed at one replica, and the next one read at the other: positions still rise."""
    start, end, planned = _planned(three, table, tmp_path)
    found: list[Record] = []
    with _capture(three.replicas[0], table, tmp_path).closing() as reading:
        found += _parallel(reading, start, end)
        reading.keep(end)
    with _capture(three.replicas[1], table, tmp_path).closing() as reading:
        for part in reading.parallel(2):
            found += part
    assert changes(found) == [*planned, ("c", "t", None, (6, 6))]
    positions = [record.position for record in found]
    assert positions == sorted(set(positions))


def test_a_piece_is_read_where_it_was_planned(three: Topology, table: str, tmp_path: Path) -> None:
    """Pieces of one range are read together: at another server the whole of it is planned anew."""
    start, end, _ = _planned(three, table, tmp_path)
    with _capture(three.primary, table, tmp_path).closing() as reading:
        splits = reading.source.plan(start, end, 1)
        work = splits[0].payload
        object.__setattr__(work, "events", None)
    elsewhere = config_for(three.replicas[1], database_user=USER, database_password=PASSWORD)
    with pytest.raises(RetriableSourceError, match="planned anew"):
        read_elsewhere(elsewhere, splits[0])


def test_a_backlog_is_cut_by_gtid(three: Topology, table: str, tmp_path: Path) -> None:
    """At the new server old and new transactions stand among each other: none is read twice, and none is left out."""
    database = table.partition(".")[0]
    with _capture(three.primary, table, tmp_path, database_include_list=database).closing() as reading:
        reading.once()
        three.primary.run_sql(f"INSERT INTO {table} VALUES (2)")
        three.wait_for_replicas()
        alone(three.replicas[0], "REPLACE INTO own.t VALUES (7)")
        three.primary.run_sql(f"INSERT INTO {table} VALUES (3)")
        reading.parallel(1)
    three.primary.run_sql(f"INSERT INTO {table} VALUES (4); INSERT INTO {table} VALUES (5)")
    three.wait_for_replicas()
    found: list[Record] = []
    with _capture(three.replicas[0], table, tmp_path).closing() as reading:
        source, at = reading.source, reading.offset()
        while (end := source.latest_offset(at)) != at:
            end = source.cut(at, end, 1)
            found += _parallel(reading, at, end)
            at = end
    mine = [record for record in found if record.topic == f"p.{table}"]
    others = [record for record in found if record.topic == "p.own.t"]
    assert changes(mine) == [("c", "t", None, (4,)), ("c", "t", None, (5,))]
    assert ("c", "t", None, (7,)) in changes(others)
    positions = [record.position for record in found]
    assert positions == sorted(set(positions))


@pytest.mark.parametrize("applies", [True, False], ids=["replicates", "does not"])
def test_what_the_new_server_lacks(three: Topology, table: str, tmp_path: Path, applies: bool) -> None:
    """It may still come, as long as the server replicates; else the range cannot be read, and the error says so."""
    replica = three.replicas[1]
    mariadb = isinstance(replica, MariaDBServer)
    word, thread = ("SLAVE", "IO_THREAD") if mariadb else ("REPLICA", "IO_THREAD")
    three.wait_for_replicas()
    with _capture(three.primary, table, tmp_path).closing() as reading:
        reading.once()
        start = reading.offset()
        three.wait_for_replicas()
        replica.execute(f"STOP {word} {thread}" if applies else f"STOP {word}")
        three.primary.run_sql(f"INSERT INTO {table} VALUES (2); INSERT INTO {table} VALUES (3)")
        end = reading.source.latest_offset(start)
    expected = RetriableSourceError if applies and not mariadb else SourceError
    try:
        with _capture(replica, table, tmp_path).closing() as reading:
            with pytest.raises(expected, match=r"lack|does not have") as told:
                _parallel(reading, start, end)
            assert isinstance(told.value, RetriableSourceError) == (applies and not mariadb)
            replica.execute(f"START {word}")
            three.wait_for_replicas()
            assert changes(_parallel(reading, start, end)) == [("c", "t", None, (2,)), ("c", "t", None, (3,))]
    finally:
        replica.execute(f"START {word}")


def test_a_part_of_the_range_is_purged(three: Topology, table: str, tmp_path: Path) -> None:
    start, end, _ = _planned(three, table, tmp_path)
    replica = three.replicas[1]
    replica.execute("FLUSH BINARY LOGS")
    files = [row[0] for row in replica.execute("SHOW BINARY LOGS")]
    wait_until(lambda: _purged(replica, files[-1]), "the end of the older files")
    with _capture(replica, table, tmp_path).closing() as reading, pytest.raises(SourceError) as told:
        _parallel(reading, start, end)
    assert not isinstance(told.value, RetriableSourceError)
    expected = "GTID" if isinstance(replica, MariaDBServer) else "has purged transactions"
    assert expected in str(told.value)


def _purged(server: SQLServer, file: str) -> bool:
    """Whether a server has let go of the files before one; MariaDB keeps those that are in use."""
    server.execute(f"PURGE BINARY LOGS TO '{file}'")
    return bool(server.execute("SHOW BINARY LOGS")[0][0] == file)


def test_chunks_are_not_read_at_a_server_that_lags_behind_their_point(
    three: Topology, table: str, tmp_path: Path
) -> None:
    """Its rows are older than the place that the log is followed from: what lies between would be in neither."""
    replica = three.replicas[1]
    word = "SLAVE" if isinstance(replica, MariaDBServer) else "REPLICA"
    three.wait_for_replicas()
    replica.execute(f"STOP {word} SQL_THREAD" if word == "REPLICA" else f"STOP {word}")
    try:
        three.primary.run_sql(f"INSERT INTO {table} VALUES (2)")
        with _capture(three.primary, table, tmp_path).closing() as reading:
            start = reading.offset()
            end = reading.source.latest_offset(start)
            splits = reading.source.plan(start, end, 1)
        with pytest.raises(SourceError, match=r"lack|does not have"):
            read_elsewhere(_capture_config(replica, table), splits[-1])
        with _capture(replica, table, tmp_path).closing() as reading:
            with pytest.raises(SourceError, match=r"lack|does not have"):
                reading.source.plan(start, end, 1)
            replica.execute(f"START {word}")
            three.wait_for_replicas()
            found = _parallel(reading, start, end)
        assert sorted(change[3] for change in changes(found)) == [(1,), (2,)]
    finally:
        replica.execute(f"START {word}")


def test_attempts_at_one_split_read_at_the_same_time(three: Topology, table: str, tmp_path: Path) -> None:
    """Each is a replica of its own to the server, which hangs up on the older of two with one number."""
    with _capture(three.primary, table, tmp_path).closing() as reading:
        reading.once()
        start = reading.offset()
        three.primary.run_sql(f"INSERT INTO {table} VALUES (2)")
        config = reading.config
    at = LogOffset.from_json(start)
    first, _ = LogOpener(config, reader=1)(at)
    with first:
        _read_until(first, table)
        second, _ = LogOpener(config, reader=1, attempt=1)(at)
        with second:
            _read_until(second, table)
            three.primary.run_sql(f"INSERT INTO {table} VALUES (3)")
            _read_until(first, table)
            _read_until(second, table)


def _read_until(log: OpenedLog, table: str) -> None:
    """Until a change of the table has come."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        for event in log.parser.events(log.packets(0.1)):
            if isinstance(event, RowsEvent) and f"{event.table.database}.{event.table.name}" == table:
                return
    raise AssertionError("nothing came")


@pytest.mark.parametrize("applies", [True, False], ids=["replicates", "does not"])
def test_what_was_read_at_a_server_that_died_with_it(
    three: Topology, table: str, tmp_path: Path, applies: bool
) -> None:
    """Following goes on at a server that lacks it once that has it; if it never will, the error names it."""
    replica = three.replicas[1]
    mariadb = isinstance(replica, MariaDBServer)
    word = "SLAVE" if mariadb else "REPLICA"
    three.wait_for_replicas()
    with MovingAddress(three.primary.port) as address:
        options = {"database_port": address.port, "database_ssl_mode": "disabled", "errors_max_retries": -1}
        with _capture(three.primary, table, tmp_path, **options).closing() as reading:
            reading.once()
            three.wait_for_replicas()
            replica.execute(f"STOP {word} IO_THREAD" if applies else f"STOP {word}")
            try:
                three.primary.run_sql(f"INSERT INTO {table} VALUES (2)")
                found: list[Record] = []
                with reading.following() as batches:
                    while not found:
                        found += next(batches).records
                    address.move(replica.port)
                    if mariadb or not applies:
                        with pytest.raises(SourceError, match=r"does not have|not in the master's binlog"):
                            for _ in batches:
                                pass
                        return
                    while not any(not facts["connected"] for facts in reading.heard.of("connection")):
                        assert not next(batches).records
                    replica.execute(f"START {word}")
                    three.primary.run_sql(f"INSERT INTO {table} VALUES (3)")
                    while len(found) < 2:
                        found += next(batches).records
            finally:
                replica.execute(f"START {word}")
    assert changes(found) == [("c", "t", None, (2,)), ("c", "t", None, (3,))]
