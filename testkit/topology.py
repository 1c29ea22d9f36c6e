"""Three servers, of which one is the primary and two replicate from it; each may die, and each may take over."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from testkit.running import create_reader
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import SQLServer

_SECONDS = 60.0


@dataclass
class Topology:
    """The servers, and which of them takes writes now."""

    servers: Sequence[SQLServer]
    primary: SQLServer

    @property
    def replicas(self) -> list[SQLServer]:
        """Those that follow the primary."""
        return [server for server in self.servers if server is not self.primary and server.pid is not None]

    def wait_for_replicas(self) -> None:
        """Waits until every replica has what the primary has."""
        for replica in self.replicas:
            wait_until(lambda replica=replica: has(replica, executed(self.primary)), "the end of the replicas' lag")

    def promote(self, chosen: SQLServer) -> None:
        """Has a replica apply what it has got, and take over; the others follow it."""
        wait_until(lambda: has(chosen, received(chosen)), "the end of what the promoted replica has received")
        detach(chosen)
        self.primary = chosen
        for replica in self.replicas:
            detach(replica)
            follow(replica, chosen)


@contextmanager
def topology(
    kind: type[SQLServer] = MySQLServer, servers: int = 3, **options: str | int | bool | None
) -> Iterator[Topology]:
    """A primary and replicas, three servers at the most, which write what they replicate into logs with other names."""
    updates = "log_slave_updates" if kind is MariaDBServer else "log_replica_updates"
    with ExitStack() as stack:
        members = [kind() for _ in range(servers)]
        for number, server in enumerate(members):
            own = {"gtid_domain_id": 0} if kind is MariaDBServer else {}
            server.start(
                server_id=101 + number,
                log_bin=("binlog", "other", "third")[number],
                **{updates: True},
                **own,
                **options,
            )
            stack.enter_context(server)
            create_reader(server)
            server.run_sql(
                "SET sql_log_bin = 0; CREATE USER 'replica'@'%' IDENTIFIED BY 'replica'; "
                "GRANT REPLICATION SLAVE ON *.* TO 'replica'@'%'"
            )
        for replica in members[1:]:
            follow(replica, members[0])
        yield Topology(members, members[0])


def follow(replica: SQLServer, primary: SQLServer) -> None:
    """Has a server replicate another one's transactions by GTID."""
    if isinstance(replica, MariaDBServer):
        replica.execute(
            f"CHANGE MASTER TO MASTER_HOST = '{primary.host}', MASTER_PORT = {primary.port}, "
            "MASTER_USER = 'replica', MASTER_PASSWORD = 'replica', MASTER_USE_GTID = slave_pos, "
            "MASTER_CONNECT_RETRY = 1"
        )
        replica.execute("START SLAVE")
        return
    replica.execute(
        f"CHANGE REPLICATION SOURCE TO SOURCE_HOST = '{primary.host}', SOURCE_PORT = {primary.port}, SOURCE_USER = "
        "'replica', SOURCE_PASSWORD = 'replica', SOURCE_AUTO_POSITION = 1, SOURCE_SSL = 1, SOURCE_CONNECT_RETRY = 1"
    )
    replica.execute("START REPLICA")


def detach(replica: SQLServer) -> None:
    """Ends a server's replication."""
    words = ("SLAVE", "SLAVE") if isinstance(replica, MariaDBServer) else ("REPLICA", "REPLICA")
    replica.execute(f"STOP {words[0]}")
    replica.execute(f"RESET {words[1]} ALL")


def alone(server: SQLServer, script: str) -> None:
    """Transactions of a replica's own, which the others never get."""
    domain = "SET gtid_domain_id = 7; " if isinstance(server, MariaDBServer) else ""
    server.run_sql(domain + script)


def executed(server: SQLServer) -> str:
    """The transactions that a server has carried out."""
    name = "gtid_current_pos" if isinstance(server, MariaDBServer) else "gtid_executed"
    return str(server.execute(f"SELECT @@global.{name}")[0][0])


def received(replica: SQLServer) -> str:
    """The transactions that a replica has got, or carried out; of MariaDB only the latter are known."""
    if isinstance(replica, MariaDBServer):
        return executed(replica)
    found = replica.execute("SELECT RECEIVED_TRANSACTION_SET FROM performance_schema.replication_connection_status")
    return str(found[0][0]) if found else ""


def has(server: SQLServer, gtids: str) -> bool:
    """Whether a server has carried out all of some transactions."""
    if isinstance(server, MariaDBServer):
        there = dict(_domains(executed(server)))
        return all(there.get(domain, 0) >= number for domain, number in _domains(gtids))
    return server.execute("SELECT GTID_SUBSET(%s, @@global.gtid_executed)", (gtids,)) == ((1,),)


def _domains(gtids: str) -> Iterator[tuple[str, int]]:
    for one in filter(None, gtids.split(",")):
        domain, _, number = one.split("-")
        yield domain, int(number)


def wait_until(holds: object, what: str) -> None:
    """Waits until something holds."""
    assert callable(holds)
    deadline = time.monotonic() + _SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"never came to {what}"
        time.sleep(0.02)
