"""The address leads to another server, and back or on to a third one, before an offset is saved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cdckit.api.record import Offset, Record
from mysql.capture import Capture, changes, config_for, read_elsewhere
from testkit.running import PASSWORD, USER
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


@pytest.mark.parametrize("read", [_followed, _parallel])
@pytest.mark.parametrize("last", ["back", "on"])
def test_positions_rise_whichever_server_was_read_in_vain(
    three: Topology, unique_name: str, tmp_path: Path, read: Read, last: str
) -> None:
    """A consumer may have got what was read there, and keeps the newest position of each key."""
    three.primary.run_sql(
        f"CREATE DATABASE {unique_name}; USE {unique_name}; CREATE TABLE t (id INT PRIMARY KEY, v INT);"
        "INSERT INTO t VALUES (1, 1)"
    )
    three.wait_for_replicas()

    def at(server: SQLServer) -> Any:
        options = {"database_user": USER, "database_password": PASSWORD, "database_include_list": unique_name}
        return Capture(config_for(server, **options), tmp_path).closing()

    def write(script: str) -> None:
        three.primary.run_sql(script, database=unique_name)
        three.wait_for_replicas()

    with at(three.primary) as reading:
        reading.once()
    write("ALTER TABLE t DROP COLUMN v; ALTER TABLE t ADD w INT; UPDATE t SET w = 2 WHERE id = 1")
    with at(three.replicas[0]) as reading:
        first, _ = read(reading)
    there = three.primary if last == "back" else three.replicas[1]
    for _ in range(2):
        with at(there) as reading:
            again, end = read(reading)
        assert changes(again) == changes(first) == [("u", "t", (1, None), (1, 2))]
        assert again[0].position > first[-1].position
    with at(there) as reading:
        reading.keep(end)
    write("UPDATE t SET w = 3 WHERE id = 1; ALTER TABLE t ADD x INT; UPDATE t SET x = 4 WHERE id = 1")
    with at(there) as reading:
        behind, end = read(reading)
        reading.keep(end)
    assert changes(behind) == [("u", "t", (1, 2), (1, 3)), ("u", "t", (1, 3, None), (1, 3, 4))]
    positions = [record.position for record in (*first, *again, *behind)]
    assert positions == sorted(set(positions))
