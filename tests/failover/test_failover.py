"""The primary of three servers is killed in mid-batch and a replica takes over: the sink equals the new primary.

The replica that takes over has got all that the dead primary has told (its applier may lag), has transactions of its
own, and other log files. A primary that dies with transactions that no replica has got is another test.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from crash.targets import FileTarget, KafkaTarget
from failover.journey import Journey, Lake, Messages, Sink, Work, at_source, dumped
from histories.lakes import DeltaChangelog, DeltaMirror, IcebergChangelog, IcebergMirror, Tables
from histories.on_spark import Changelog, Mirror
from testkit.running import Pipeline, source_of
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import SQLServer
from testkit.servers.proxy import MovingAddress
from testkit.topology import Topology, executed, follow, received, topology, wait_until

pytestmark = [pytest.mark.timeout(7200)]

KINDS = ("direct-file", "direct-delta-changelog")
"""Runners and sinks of every run …"""
LONG_KINDS = (
    "direct-kafka",
    "direct-delta",
    "direct-iceberg",
    "direct-iceberg-changelog",
)
"""… and of the long series; `tests/spark/test_failover.py` has Spark's."""
_MIRRORS: Mapping[str, Callable[..., Tables]] = {
    "direct-delta": DeltaMirror,
    "direct-iceberg": IcebergMirror,
    "spark-mirror": Mirror,
}
_CHANGELOGS: Mapping[str, Callable[..., Tables]] = {
    "direct-delta-changelog": DeltaChangelog,
    "direct-iceberg-changelog": IcebergChangelog,
    "spark-changelog": Changelog,
}
_SECONDS = 400.0
_BACKLOG = 300
_WIDTH = 8000
"""About how many bytes of the log a transaction of the backlog takes."""
_BEGUN = 1 << 16
"""After so many bytes a pipeline has got in touch: one whose first question is lost ends, and is no part of this."""


@contextmanager
def three_servers() -> Iterator[Topology]:
    """Servers that go through many failovers, one after the other."""
    with topology(MySQLServer, performance_schema="ON", performance_schema_max_table_instances=50) as made:
        made.wait_for_replicas()
        yield made


@pytest.fixture(scope="module")
def three() -> Iterator[Topology]:
    """Those of the tests here."""
    with three_servers() as made:
        yield made


@pytest.fixture(params=[*KINDS, *(pytest.param(kind, marks=pytest.mark.nightly) for kind in LONG_KINDS)])
def kind(request: pytest.FixtureRequest) -> str:
    """Runner and sink."""
    name: str = request.param
    return name


def _sink(kind: str, folder: Path, database: str, request: pytest.FixtureRequest) -> Sink:
    if kind.endswith("file"):
        return Messages(FileTarget(folder))
    if kind.endswith("kafka"):
        return Messages(KafkaTarget(request.getfixturevalue("kafka_broker"), f"p.{database}"))
    place = (*([request.getfixturevalue("session")] if kind.startswith("spark") else []), folder, "p", database)
    return Lake(_MIRRORS[kind](*place) if kind in _MIRRORS else _CHANGELOGS[kind](*place, dict))


def _seeds(nightly: bool) -> list[int]:
    if given := os.environ.get("CDCKIT_SEED"):
        return [int(given)]
    count = int(os.environ.get("CDCKIT_SEEDS") or (30 if nightly else 1))
    return [random.SystemRandom().getrandbits(32) for _ in range(count)]


def test_the_sink_equals_the_new_primary(
    three: Topology, kind: str, tmp_path: Path, nightly: bool, request: pytest.FixtureRequest
) -> None:
    fail_over_each(three, kind, tmp_path, request, nightly=nightly)


def fail_over_each(
    three: Topology, kind: str, tmp_path: Path, request: pytest.FixtureRequest, *, nightly: bool
) -> None:
    """Once, or as often as the long series do, by a runner into a sink."""
    for number, seed in enumerate(_seeds(nightly)):
        print(f"CDCKIT_SEED={seed} {kind}")
        folder = tmp_path / str(number)
        folder.mkdir()
        _fail_over(three, kind, folder, seed, request)


def _fail_over(three: Topology, kind: str, folder: Path, seed: int, request: pytest.FixtureRequest) -> None:
    chance = random.Random(seed)
    database = f"f{seed}{kind.replace('-', '')}"
    work = Work(database, chance)
    old, chosen = three.primary, chance.choice(three.replicas)
    work.create(old)
    three.wait_for_replicas()
    sink = _sink(kind, folder, database, request)
    with MovingAddress(old.port) as address:
        pipeline = _pipeline(old, address, database, folder, sink, kind)
        journey = Journey(pipeline, kind.partition("-")[0])
        journey.to_the_end()
        assert sink.rows() == at_source(old, database)
        work.alone(chosen)
        work.write(old, chance.randrange(30))
        three.wait_for_replicas()
        work.alone(chosen)
        chosen.execute("STOP REPLICA SQL_THREAD")
        work.write(old, _BACKLOG)
        wait_until(lambda: has_received(chosen, executed(old)), "what the replica is to have")
        address.stall_after(_BEGUN + chance.randrange(_BACKLOG * _WIDTH))
        with journey.running():
            _wait_for_stall(address, sink, at_source(old, database), journey)
            time.sleep(chance.uniform(0, 0.3))
            old.kill()
            chosen.execute("START REPLICA SQL_THREAD")
            three.promote(chosen)
            work.alone(chosen)
            address.move(chosen.port)
            work.write(chosen, 20)
            _wait_for_rows(sink, chosen, database, journey)
        journey.check()
    assert not sink.repeated()
    old.start()
    old.run_sql("DROP DATABASE IF EXISTS nothing")
    follow(old, chosen)
    three.wait_for_replicas()
    chosen.execute(f"DROP DATABASE {database}")


def _pipeline(
    server: SQLServer, address: MovingAddress, database: str, folder: Path, sink: Sink, kind: str
) -> Pipeline:
    source = source_of(
        server, database, retriable_restart_connector_wait_ms=200, connect_timeout_ms=5000, database_ssl_mode="disabled"
    )
    source["database.port"] = address.port
    if "kafka" in kind:
        source["topic.prefix"] = "p"
    others = {"serializer": {"schemas.enable": False}, "runner": kind.partition("-")[0], "offset.flush.interval.ms": 50}
    return Pipeline(folder, source, sink.options, others)


def has_received(replica: SQLServer, gtids: str) -> bool:
    """Whether a replica has got all of some transactions, applied or not."""
    both = f"{received(replica)},{executed(replica)}"
    return replica.execute("SELECT GTID_SUBSET(%s, %s)", (gtids, both)) == ((1,),)


def _wait_for_stall(address: MovingAddress, sink: Sink, complete: object, journey: Journey) -> None:
    """Until the address holds back what comes, or the pipeline has come to the end before."""
    deadline = time.monotonic() + _SECONDS
    looked = time.monotonic()
    while not address.stalled.is_set():
        journey.check()
        assert time.monotonic() < deadline, "neither stalled nor at the end"
        if time.monotonic() - looked > 2:
            looked = time.monotonic()
            if sink.rows() == complete:
                return
        time.sleep(0.02)


def _wait_for_rows(sink: Sink, server: SQLServer, database: str, journey: Journey) -> None:
    deadline = time.monotonic() + _SECONDS
    while (found := sink.rows()) != (expected := at_source(server, database)):
        journey.check()
        assert time.monotonic() < deadline, (
            f"missing {dumped(dict(expected.items() - found.items()))}, "
            f"too much {dumped(dict(found.items() - expected.items()))}"
        )
        time.sleep(0.3)
