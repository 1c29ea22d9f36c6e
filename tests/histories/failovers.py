"""Servers of which the primary dies now and then, and how another one takes over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from testkit.running import create_reader
from testkit.servers.mysql_family import CAPTURE_PRIVILEGES, SIGNAL_PRIVILEGES, SQLServer
from testkit.topology import Topology, alone, follow, topology


@contextmanager
def failing_servers() -> Iterator[Topology]:
    """A primary and two replicas, each with the user of pipelines that read and write signals."""
    with topology() as found:
        for server in found.servers:
            create_reader(server, *CAPTURE_PRIVILEGES, *SIGNAL_PRIVILEGES)
        yield found


def take_over(servers: Topology, chance: Random) -> SQLServer:
    """The primary dies; a replica that has made transactions of its own is the next, and the dead one follows it."""
    servers.wait_for_replicas()
    chosen, dead = chance.choice(servers.replicas), servers.primary
    own = f"own_{chance.getrandbits(60)}"
    alone(chosen, f"CREATE DATABASE {own}; CREATE TABLE {own}.t (id INT PRIMARY KEY); INSERT INTO {own}.t VALUES (1)")
    dead.kill()
    servers.promote(chosen)
    dead.start()
    follow(dead, chosen)
    return chosen
