"""The address leads to another server, and back or on to a third one, before an offset is saved."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cdckit.api.record import Offset, Record
from cdckit.errors import SourceError
from crash.targets import FileTarget
from delta_sink.dying import SAVES, die
from failover.journey import Messages, Work, at_source
from mysql.capture import Capture, changes, config_for, read_elsewhere
from testkit.running import PASSWORD, USER, Pipeline, create_reader, source_of
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import SQLServer
from testkit.topology import Topology, topology

Read = Callable[[Capture], tuple[list[Record], Offset]]
"""Reads what lies behind the saved offset; gives the offset behind it, which is not saved."""


@pytest.fixture(scope="module", params=[MySQLServer, MariaDBServer], ids=["mysql", "mariadb"])
def three(request: pytest.FixtureRequest) -> Iterator[Topology]:
    """Servers of which the primary's log has the highest number."""
    with topology(request.param) as made:
        made.primary.run_sql("FLUSH LOGS;" * 5)
        made.wait_for_replicas()
        yield made


def _followed(reading: Capture) -> tuple[list[Record], Offset]:
    """As the direct runner does under `--once`."""
    start = reading.offset()
    end = reading.source.latest_offset(start)
    [split] = reading.source.plan(start, None)
    [split] = reading.source.bounded(split, end)
    batches = list(reading.source.read(split))
    [*_, last] = [batch.offset for batch in batches if batch.offset is not None]
    return [record for batch in batches for record in batch.records], last


def _parallel(reading: Capture) -> tuple[list[Record], Offset]:
    """As Spark does."""
    start = reading.offset()
    end = reading.source.latest_offset(start)
    splits = reading.source.plan(start, end, 3)
    return [record for split in splits for record in read_elsewhere(reading.config, split)], end


def _at(server: SQLServer, name: str, folder: Path) -> Any:
    """A capture at one of the servers."""
    options = {"database_user": USER, "database_password": PASSWORD, "database_include_list": name}
    return Capture(config_for(server, **options), folder).closing()


def _table(server: SQLServer, name: str) -> None:
    server.run_sql(
        f"CREATE DATABASE {name}; USE {name}; CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1)"
    )


@pytest.mark.parametrize("read", [_followed, _parallel])
@pytest.mark.parametrize("last", ["back", "on"])
def test_positions_rise_whichever_server_was_read_in_vain(
    three: Topology, unique_name: str, tmp_path: Path, read: Read, last: str
) -> None:
    """A consumer may have got what was read there, and keeps the newest position of each key."""
    _table(three.primary, unique_name)
    three.wait_for_replicas()

    def write(script: str) -> None:
        three.primary.run_sql(script, database=unique_name)
        three.wait_for_replicas()

    with _at(three.primary, unique_name, tmp_path) as reading:
        reading.once()
    write("ALTER TABLE t DROP COLUMN v; ALTER TABLE t ADD w INT; UPDATE t SET w = 2 WHERE id = 1")
    with _at(three.replicas[0], unique_name, tmp_path) as reading:
        first, _ = read(reading)
    there = three.primary if last == "back" else three.replicas[1]
    for _ in range(2):
        with _at(there, unique_name, tmp_path) as reading:
            again, end = read(reading)
        assert changes(again) == changes(first) == [("u", "t", (1, None), (1, 2))]
        assert again[0].position > first[-1].position
    with _at(there, unique_name, tmp_path) as reading:
        reading.keep(end)
    write("UPDATE t SET w = 3 WHERE id = 1; ALTER TABLE t ADD x INT; UPDATE t SET x = 4 WHERE id = 1")
    with _at(there, unique_name, tmp_path) as reading:
        behind, end = read(reading)
        reading.keep(end)
    assert changes(behind) == [("u", "t", (1, 2), (1, 3)), ("u", "t", (1, 3, None), (1, 3, 4))]
    positions = [record.position for record in (*first, *again, *behind)]
    assert positions == sorted(set(positions))


@pytest.fixture(scope="module")
def lone() -> Iterator[MySQLServer]:
    """A server whose log is begun anew."""
    server = MySQLServer()
    server.start()
    with server:
        create_reader(server)
        yield server


def test_a_log_that_is_begun_anew_while_it_is_read(lone: MySQLServer, unique_name: str, tmp_path: Path) -> None:
    """As where a server is made anew, with the identity and the transactions of before: its files begin anew, too."""
    lone.run_sql("FLUSH LOGS;" * 5)
    _table(lone, unique_name)
    with _at(lone, unique_name, tmp_path) as reading:
        reading.once()
        assert _parallel(reading)[0] == []
        [split] = reading.source.plan(reading.offset(), None)
        executed = str(lone.execute("SELECT @@global.gtid_executed")[0][0]).replace("\n", "")
        lone.run_sql(f"RESET BINARY LOGS AND GTIDS; SET GLOBAL gtid_purged = '{executed}'")
        lone.run_sql("UPDATE t SET v = 2 WHERE id = 1", database=unique_name)
        with pytest.raises(SourceError, match="was begun anew"):
            _parallel(reading)
        with pytest.raises(SourceError, match="was begun anew"):
            next(iter(reading.source.read(split)))


def test_the_newest_change_of_a_key_has_the_greatest_position(
    three: Topology, unique_name: str, tmp_path: Path
) -> None:
    """The process is killed at a replica behind what a file has got, and goes on where it was at first."""
    work, sink = Work(unique_name, random.Random(7)), Messages(FileTarget(tmp_path))
    work.create(three.primary)
    three.wait_for_replicas()

    def at(server: SQLServer) -> Pipeline:
        others = {"serializer": {"schemas.enable": False}, "offset.flush.interval.ms": 60_000}
        return Pipeline(tmp_path, source_of(server, unique_name), sink.options, others)

    assert at(three.primary).run("--once").code == 0
    work.write(three.primary, 20)
    three.wait_for_replicas()
    die(at(three.replicas[0]), SAVES, 0)
    work.write(three.primary, 20)
    assert at(three.primary).run("--once").code == 0
    assert sink.rows() == at_source(three.primary, unique_name)
