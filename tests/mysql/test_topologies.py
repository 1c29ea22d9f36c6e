"""Servers that replicate from others: one source or two, and going from one server to another by GTID."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cdckit.errors import SourceError
from mysql.capture import Capture, changes, config_for
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import SQLServer

LOCAL = "CREATE DATABASE IF NOT EXISTS local; CREATE TABLE IF NOT EXISTS local.t (id INT PRIMARY KEY);"


@dataclass(frozen=True, slots=True)
class Topology:
    """Two primaries, each with a table, and a replica of both which writes them into its own log."""

    left: SQLServer
    right: SQLServer
    replica: SQLServer

    def write(self, left: int, right: int) -> None:
        """A row into each primary; waits until the replica has them."""
        self.left.run_sql(f"INSERT INTO l.t VALUES ({left})")
        self.right.run_sql(f"INSERT INTO r.t VALUES ({right})")
        for table, number in (("l.t", left), ("r.t", right)):
            _wait_for(self.replica, table, number)

    def source(self, server: SQLServer) -> str:
        """What `gtid.source.*` know a primary's transactions by."""
        if isinstance(server, MariaDBServer):
            return str(server.execute("SELECT @@gtid_domain_id")[0][0])
        return str(server.execute("SELECT @@server_uuid")[0][0])


@pytest.fixture(scope="module", params=[MySQLServer, MariaDBServer], ids=["mysql", "mariadb"])
def topology(request: pytest.FixtureRequest) -> Iterator[Topology]:
    """The three servers, which replicate."""
    kind: type[SQLServer] = request.param
    with kind() as left, kind() as right, kind() as replica:
        updates = "log_slave_updates" if kind is MariaDBServer else "log_replica_updates"
        for number, server in enumerate((left, right, replica), 1):
            domain = {"gtid_domain_id": number} if kind is MariaDBServer else {}
            server.restart(server_id=100 + number, **{updates: True}, **domain)
            server.create_user("dbz", "dbz")
        _replicate(replica, {"left": left, "right": right})
        for server, database in ((left, "l"), (right, "r")):
            server.run_sql(f"CREATE DATABASE {database}; CREATE TABLE {database}.t (id INT PRIMARY KEY)")
        made = Topology(left, right, replica)
        made.write(1, 1)
        yield made


def _replicate(replica: SQLServer, primaries: dict[str, SQLServer]) -> None:
    for name, primary in primaries.items():
        if isinstance(primary, MariaDBServer):
            replica.execute(
                f"CHANGE MASTER '{name}' TO MASTER_HOST = '{primary.host}', MASTER_PORT = {primary.port}, "
                "MASTER_USER = 'dbz', MASTER_PASSWORD = 'dbz', MASTER_USE_GTID = slave_pos"
            )
            replica.execute(f"START SLAVE '{name}'")
        else:
            replica.execute(
                f"CHANGE REPLICATION SOURCE TO SOURCE_HOST = '{primary.host}', SOURCE_PORT = {primary.port}, "
                "SOURCE_USER = 'dbz', SOURCE_PASSWORD = 'dbz', SOURCE_AUTO_POSITION = 1, SOURCE_SSL = 1 "
                f"FOR CHANNEL '{name}'"
            )
            replica.execute(f"START REPLICA FOR CHANNEL '{name}'")


def _wait_for(replica: SQLServer, table: str, number: int) -> None:
    database, _, name = table.partition(".")
    there = (
        f"SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{database}' AND TABLE_NAME = '{name}'"
    )
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if replica.execute(there) == ((1,),) and replica.execute(f"SELECT MAX(id) FROM {table}") == ((number,),):
            return
        time.sleep(0.05)
    raise AssertionError(f"the replica never got row {number} of {table}")


def test_a_replica_of_two_sources_tells_of_both(topology: Topology, tmp_path: Path) -> None:
    options = {"database_include_list": "l,r"}
    with Capture(config_for(topology.replica, **options), tmp_path).closing() as reading:
        assert len(reading.once()) == 2
        topology.write(2, 2)
        found = reading.once()
    topology.write(3, 3)
    with Capture(config_for(topology.replica, **options), tmp_path).closing() as reading:
        found += reading.once()
        gtids = reading.offset()["gtids"]
    assert sorted((change[0], change[3]) for change in changes(found)) == [
        ("c", (2,)),
        ("c", (2,)),
        ("c", (3,)),
        ("c", (3,)),
    ]
    sources = [record.value.to_dict()["source"] for record in found]  # type: ignore[union-attr]
    servers = {"l": topology.left, "r": topology.right}
    for source in sources:
        server = servers[source["db"]]
        assert source["server_id"] == server.execute("SELECT @@server_id")[0][0], "where the change was made"
        assert topology.source(server) in source["gtid"]
    assert all(topology.source(server) in gtids for server in servers.values())


def test_transactions_that_only_the_former_server_has_are_left_alone(topology: Topology, tmp_path: Path) -> None:
    """From the replica to one of its primaries, which has neither the other's transactions nor the replica's own."""
    options = {"database_include_list": "l,r"}
    with Capture(config_for(topology.replica, **options), tmp_path / "refused").closing() as reading:
        reading.once()
    with Capture(config_for(topology.replica, **options), tmp_path / "chosen").closing() as reading:
        topology.replica.run_sql(LOCAL)
        reading.once()
    number = topology.left.execute("SELECT MAX(id) + 1 FROM l.t")[0][0]
    topology.left.run_sql(f"INSERT INTO l.t VALUES ({number})")
    with Capture(config_for(topology.left, **options), tmp_path / "refused").closing() as reading:
        if isinstance(topology.left, MariaDBServer):
            assert changes(reading.once()) == [("c", "t", None, (number,))], "domains that it lacks do not matter to it"
        else:
            with pytest.raises(SourceError, match="does not have transactions that were read already"):
                reading.once()
    options["gtid_source_includes"] = topology.source(topology.left)
    with Capture(config_for(topology.left, **options), tmp_path / "chosen").closing() as reading:
        assert changes(reading.once()) == [("c", "t", None, (number,))]


def test_another_sources_transactions_that_are_purged_are_no_loss(topology: Topology, tmp_path: Path) -> None:
    """From a primary to the replica, whose log no longer has all of the other's transactions."""
    options = {"database_include_list": "l,r"}
    for name in ("refused", "chosen"):
        with Capture(config_for(topology.left, **options), tmp_path / name).closing() as reading:
            reading.once()
    number = topology.right.execute("SELECT MAX(id) + 1 FROM r.t")[0][0]
    topology.right.run_sql(f"INSERT INTO r.t VALUES ({number})")
    _wait_for(topology.replica, "r.t", number)
    topology.replica.execute("FLUSH BINARY LOGS")
    topology.replica.execute("FLUSH BINARY LOGS")
    topology.replica.purge_logs()
    topology.left.run_sql("INSERT INTO l.t SELECT MAX(id) + 1 FROM l.t")
    added = topology.left.execute("SELECT MAX(id) FROM l.t")[0][0]
    _wait_for(topology.replica, "l.t", added)
    with (
        Capture(config_for(topology.replica, **options), tmp_path / "refused").closing() as reading,
        pytest.raises(SourceError, match=r"purged|1236"),
    ):
        reading.once()
    options["gtid_source_includes"] = topology.source(topology.left)
    with Capture(config_for(topology.replica, **options), tmp_path / "chosen").closing() as reading:
        assert changes(reading.once()) == [("c", "t", None, (added,))]


def test_tagged_transactions_are_chosen_by_server_or_by_tag(topology: Topology, tmp_path: Path) -> None:
    server = topology.right
    if isinstance(server, MariaDBServer):
        pytest.skip("only MySQL has tags")
    uuid = topology.source(server)
    server.run_sql("CREATE DATABASE tagged; CREATE TABLE tagged.t (id INT PRIMARY KEY)")
    chosen = {"all": uuid, "app": f"{uuid}:app", "rest": f"{uuid}:app"}
    lists = {"all": "includes", "app": "includes", "rest": "excludes"}
    captures = {
        name: Capture(
            config_for(server, database_include_list="tagged", **{f"gtid_source_{lists[name]}": chosen[name]}),
            tmp_path / name,
        )
        for name in chosen
    }
    for capture in captures.values():
        capture.once()
    server.run_sql(
        "INSERT INTO tagged.t VALUES (1); SET gtid_next = 'AUTOMATIC:app'; INSERT INTO tagged.t VALUES (2);"
        "SET gtid_next = 'AUTOMATIC:other'; INSERT INTO tagged.t VALUES (3);"
    )
    found = {name: [change[3][0] for change in changes(capture.once())] for name, capture in captures.items()}
    for capture in captures.values():
        capture.close()
    assert found == {"all": [1, 2, 3], "app": [2], "rest": [1, 3]}
