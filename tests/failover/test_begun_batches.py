"""A pipeline is killed between a table's commit and the save of its offset, and goes on elsewhere: nothing comes twice.

What tables have they know by positions, and these are a server's own; what a batch held of which transactions is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable

from delta_sink.dying import SAVES, WRITES, die, die_elsewhere
from delta_sink.shop import Shop
from testkit.running import Ended, Pipeline
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql import MySQLServer
from testkit.servers.proxy import MovingAddress
from testkit.topology import Topology, topology

TABLES = """
CREATE TABLE a (id INT PRIMARY KEY, v VARCHAR(20)); INSERT INTO a VALUES (1, 'first'), (2, 'first'), (3, 'first');
CREATE TABLE b (id INT PRIMARY KEY, v VARCHAR(20)); INSERT INTO b VALUES (1, 'first'), (2, 'first'), (3, 'first');
"""
ROWS = ", ".join(f"({number}, 'long')" for number in range(100, 125))
CHANGES = f"""
UPDATE a SET v = 'second' WHERE id = 1; UPDATE b SET v = 'second' WHERE id = 1; UPDATE a SET v = 'third' WHERE id = 1;
BEGIN; INSERT INTO b VALUES (50, 'long'); INSERT INTO a VALUES {ROWS}; UPDATE b SET v = 'long' WHERE id = 1;
UPDATE a SET v = 'long' WHERE id > 120; DELETE FROM a WHERE id = 110; INSERT INTO b VALUES {ROWS}; COMMIT;
ALTER TABLE a ADD w INT; INSERT INTO a VALUES (200, 'added', 1); UPDATE b SET v = 'last' WHERE id = 2;
DELETE FROM b WHERE id = 3;
"""
DEATHS = {"behind a table": (WRITES, 0), "behind a later one": (WRITES, 2), "behind all tables": (SAVES, 0)}
"""Where the process ends: behind a table's commit, or before the offset is saved; and behind how many such places."""
TOLERANT = {"errors.tolerance": "quarantine", "offset.flush.interval.ms": 60_000}
"""What is committed meanwhile is not saved."""
_PIECES = 7
"""So many records a batch has at the most, so that transactions are told of in parts."""


@pytest.fixture(scope="module", params=[MySQLServer, pytest.param(MariaDBServer, marks=pytest.mark.nightly)])
def three(request: pytest.FixtureRequest) -> Iterator[Topology]:
    """Servers of one topology; the replicas write small events."""
    with topology(request.param, binlog_row_event_max_size=256) as made:
        yield made


def _pipeline(shop: Shop, **others: object) -> Pipeline:
    pipeline = shop.pipeline({"tables.parallel": 1}, max_batch_size=_PIECES)
    return replace(pipeline, others={**pipeline.others, **others})


def _die(shop: Shop, where: str) -> None:
    """Delivers until the process ends at some place."""
    die(_pipeline(shop), *DEATHS[where])


def _deliver(shop: Shop, **others: object) -> Ended:
    ended = _pipeline(shop, **others).run("--once")
    assert ended.code == 0, ended.stderr
    return ended


def _repeated(shop: Shop) -> dict[object, int]:
    """Changes, or versions, that are there more than once."""
    rows = [(table, row) for table in ("a", "b") for row in shop.lake.found(table)]
    named = Counter((table, row.get("__op"), row["id"], row["v"]) for table, row in rows)
    return {one: times for one, times in named.items() if times > 1}


MODES = ["changelog", *(pytest.param(mode, marks=pytest.mark.nightly) for mode in ("history", "mirror"))]
FORMATS = ["delta", pytest.param("iceberg", marks=pytest.mark.nightly)]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "where",
    [pytest.param(where, marks=() if where == "behind a later one" else pytest.mark.nightly) for where in DEATHS],
)
def test_what_tables_have_does_not_come_twice(
    three: Topology, unique_name: str, tmp_path: Path, mode: str, format: str, where: str
) -> None:
    """Killed at the primary, at a replica and at another one; then it goes on where it was at first."""
    first = Shop(three.primary, unique_name, tmp_path, mode=mode, format=format)
    first.make(TABLES)
    _deliver(first)
    first.run(CHANGES)
    three.wait_for_replicas()
    _die(first, where)
    for server in three.replicas:
        _die(replace(first, server=server), where if DEATHS[where][1] == 0 else "behind a table")
    _deliver(first)
    assert not _repeated(first)
    first.assert_equal(["a", "b"])
    first.run("UPDATE a SET v = 'end' WHERE id = 2; UPDATE b SET v = 'end' WHERE id = 2;")
    _deliver(first)
    first.assert_equal(["a", "b"])


def test_what_tables_have_does_not_come_twice_where_another_one_refuses_rows(
    three: Topology, unique_name: str, tmp_path: Path
) -> None:
    """They are named, and not found by halves, of which tables would not know at another server what they have."""
    first = Shop(three.primary, unique_name, tmp_path, mode="changelog")
    first.make(TABLES)
    _deliver(first)
    DeltaTable(str(first.table("b"))).alter.add_constraint({"one": "v <> 'second'"})
    first.run(CHANGES)
    three.wait_for_replicas()
    _die(first, "behind a table")
    ended = _deliver(replace(first, server=three.replicas[0]), **{"errors.tolerance": "quarantine"})
    assert not _repeated(first)
    assert "kept in quarantine" in ended.stderr and "found by halves" not in ended.stderr, ended.stderr
    assert "second" not in [row["v"] for row in first.lake.found("b")]
    first.assert_equal(["a", "b"])


@pytest.mark.timeout(600)
@pytest.mark.parametrize("others", [1, pytest.param(2, marks=pytest.mark.nightly), 4])
def test_what_halves_have_does_not_come_twice(three: Topology, unique_name: str, tmp_path: Path, others: int) -> None:
    """A row is looked for by halves at a replica, where the process is killed; the offset is the primary's."""
    first = _refusing(three, unique_name, tmp_path)
    die(_pipeline(replace(first, server=three.replicas[0]), **TOLERANT), WRITES, others)
    _come_back(first)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("others", [1, 2])
def test_a_search_goes_on_at_another_server(three: Topology, unique_name: str, tmp_path: Path, others: int) -> None:
    """The address moves while halves are committed, the process is killed behind more of them, and it moves back."""
    first = _refusing(three, unique_name, tmp_path)
    with MovingAddress(three.primary.port) as address:
        pipeline = _pipeline(first, **TOLERANT)
        pipeline = replace(pipeline, source={**pipeline.source, "database.port": address.port})
        die_elsewhere(pipeline, lambda: address.move(three.replicas[0].port), 2, others)
    _come_back(first)


def _refusing(three: Topology, name: str, folder: Path) -> Shop:
    """Tables of which one refuses a row of what has changed at all servers."""
    first = Shop(three.primary, name, folder, mode="changelog")
    first.make(TABLES)
    _deliver(first)
    DeltaTable(str(first.table("b"))).alter.add_constraint({"one": "id <> 50"})
    first.run(CHANGES)
    three.wait_for_replicas()
    return first


def _come_back(first: Shop) -> None:
    """Goes on where it was at first, where more has changed."""
    first.run("INSERT INTO a (id, v) VALUES (300, 'behind'); UPDATE b SET v = 'behind' WHERE id = 2;")
    _deliver(first, **TOLERANT)
    first.run("DELETE FROM b WHERE id = 50")  # of the row that is kept in quarantine
    _deliver(first, **TOLERANT)
    first.assert_equal(["a", "b"])
    assert not _repeated(first)
